"""The wafer emulator at the sizes of wafer.md, section "Speed to reach", each beside plain NumPy where there is a twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pilots.baseline import numpy_run
from pilots.baseline.environment import peak_memory_bytes
from pilots.graph import rng
from pilots.graph.builder import GraphBuilder
from pilots.graph.decoder import decoder_graph
from pilots.graph.decoder_weights import seeded_weights
from pilots.graph.evaluate import evaluate
from pilots.graph.ir import DType
from pilots.graph.known_models import find
from pilots.graph.mlp import input_samples, mlp_from_text
from pilots.graph.model_config import ModelConfig
from pilots.wafer import functional, serving
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.estimate import Question, step_seconds
from pilots.wafer.machine import MACHINES
from pilots.wafer.program import Kernel
from tests.bench.table import Table, cpu_seconds

MLP = "64-256-256-8"
SAMPLES = 32
TILE = 16
WSE_2 = MACHINES["wse-2"]
LAB = MACHINES["lab-64x64"]


def measure(_world: object, table: Table) -> None:
    """All measures of the emulator, one after the other."""
    table.section(f"Emulator ({MLP}, {SAMPLES} Proben)", "Emulator", "NumPy", "Verhältnis")
    _perceptron(table)
    table.section("Emulator: große Aufgaben", "Emulator", "NumPy", "Verhältnis")
    _full_wafer(table)
    _block(table)
    _generation(table)
    _sweep(table)
    table.single("größter Speicher des Vorgangs", 0.0, f"{_peak_gib():.2f} GiB")


def _perceptron(table: Table) -> None:
    graph, weights = mlp_from_text(MLP)
    request = Request(batch=SAMPLES)
    program = compile_graph(graph, WSE_2, request)
    inputs = input_samples(graph, inputs_seed=1, batch=SAMPLES)
    prepared, named = numpy_run.prepare(graph, weights), {graph.inputs[0][0]: inputs}
    ours = cpu_seconds(lambda: functional.run(program, weights, inputs), rounds=3)
    bare = cpu_seconds(lambda: numpy_run.forward(prepared, named), loops=50)
    compiled = cpu_seconds(lambda: compile_graph(graph, WSE_2, request), rounds=3)
    distance = _distance(
        functional.run(program, weights, inputs).outputs, numpy_run.forward(prepared, named)[graph.outputs[0]]
    )
    table.compare("funktionaler Interpreter : NumPy", ours, bare)
    table.single("Übersetzen des Programms", compiled, f"größte Abweichung {distance:.1e}")


def _full_wafer(table: Table) -> None:
    """A matrix-vector product on all 745 500 usable elements of a WSE-2."""
    k, n = 994 * TILE, 750 * TILE
    builder = GraphBuilder()
    value = builder.input("x", (None, k), DType.FLOAT32)
    graph, weights = builder.build(
        builder.op("matmul", value, builder.constant("w", rng.uniform(1, "w", (k, n))))
    )
    program = compile_graph(graph, WSE_2, Request(rect=(750, 994), kernels=(Kernel.GEMV,)))
    inputs = rng.uniform(2, "x", (1, k))
    ours = cpu_seconds(lambda: functional.run(program, weights, inputs), rounds=2)
    bare = cpu_seconds(lambda: inputs @ weights["w"], rounds=2)
    distance = _distance(functional.run(program, weights, inputs).outputs, inputs @ weights["w"])
    table.compare(f"GEMV {k} x {n} auf {program.regions[0].rect.pes} Elementen : NumPy", ours, bare)
    table.single("  größte Abweichung", 0.0, f"{distance:.1e}")


def _block(table: Table) -> None:
    """One transformer block of width 512, 64 tokens, on 64 x 64 elements."""
    config = _small(hidden=512, layers=1, heads=8, ffn=1408, vocab=512)
    graph = decoder_graph(config, phase="prefill", batch=1, context=64)
    weights = seeded_weights(config, 1)
    loaded = functional.load(compile_graph(graph, LAB, Request(rect=(64, 64))), weights)
    inputs = {"ids": np.arange(64, dtype=np.int32), "positions": np.arange(64, dtype=np.int32)}
    ours = cpu_seconds(lambda: functional.execute(loaded, inputs), rounds=2)
    bare = cpu_seconds(lambda: evaluate(graph, {**weights, **inputs}, dtype=np.float32), rounds=2)
    table.compare("Block der Breite 512 auf 64 x 64 Elementen : NumPy", ours, bare)


def _generation(table: Table) -> None:
    config = _small(hidden=320, layers=6, heads=5, ffn=864, vocab=4096)
    seconds = cpu_seconds(lambda: serving.generate(config, LAB, serving.Plan()), rounds=1)
    table.single(f"64 Token, {config.params / 1e6:.0f} Mio. Parameter, mit echten Zahlen", seconds)


def _sweep(table: Table) -> None:
    """A hundred answer steps of a model of 70 billion parameters on sixteen systems, each compiled anew."""
    config = find("Llama3.1-70B")
    assert config is not None
    questions = [Question(64 * (index + 1), 1, 16) for index in range(100)]
    seconds = cpu_seconds(lambda: [step_seconds(config, WSE_2, item, 16) for item in questions], rounds=1)
    table.single("100 Vorhersagen für ein Modell mit 70 Mrd. Parametern", seconds)


def _small(*, hidden: int, layers: int, heads: int, ffn: int, vocab: int) -> ModelConfig:
    base = find("Llama3.1-8B")
    assert base is not None
    sizes = {
        "hidden": hidden,
        "layers": layers,
        "heads": heads,
        "kv_heads": heads,
        "head_dim": hidden // heads,
    }
    rest = {
        "rotary_dim": hidden // heads,
        "ffn": ffn,
        "vocab": vocab,
        "max_context": 512,
        "dtype": DType.FLOAT32,
    }
    return replace(base, **(sizes | rest))  # type: ignore[arg-type]


def _distance(ours: np.ndarray, twin: np.ndarray) -> float:
    return float(np.max(np.abs(ours - twin)) / np.max(np.abs(twin)))


def _peak_gib() -> float:
    return peak_memory_bytes() / 2**30
