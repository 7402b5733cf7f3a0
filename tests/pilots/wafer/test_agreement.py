"""What the first interpreter predicts of a program is what the second one does: multiply-adds, call by call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pilots.graph.decoder import decoder_graph
from pilots.graph.decoder_weights import seeded_inputs, seeded_weights, with_weights
from pilots.graph.ir import DType, Graph, Weights
from pilots.graph.known_models import find
from pilots.graph.mlp import input_samples, mlp_from_text
from pilots.wafer import functional
from pilots.wafer.functional import MultiplyAdds
from pilots.wafer.machine import WSE_2, lab_mesh
from pilots.wafer.predict import multiply_adds, predict
from pilots.wafer.program import PRODUCTS, Kernel, Mode, Program
from pilots.wafer.tiling import MAX_GEMV_ROWS
from tests.pilots.wafer.graphs import compiled

SIZES: dict[str, Any] = {
    "layers": 2,
    "hidden": 32,
    "heads": 4,
    "head_dim": 8,
    "ffn": 48,
    "vocab": 50,
    "max_context": 24,
    "dtype": DType.FLOAT32,
}
MODELS = {
    "llama": replace(find("LLaMA3-8B"), kv_heads=2, rotary_dim=8, **SIZES),
    "window": replace(find("Mistral-7B"), kv_heads=2, rotary_dim=8, sliding_window=5, **SIZES),
    "experts": replace(
        find("Mixtral-8x7B"), kv_heads=2, rotary_dim=8, experts=4, experts_per_token=2, **SIZES
    ),
    "gpt": replace(find("GPT-2"), kv_heads=4, **SIZES),
}
CONTEXT = MAX_GEMV_ROWS // 2  # both prompts together are the most rows a matrix-vector product takes
CHOICES = [*((kernel,) for kernel in PRODUCTS), tuple(PRODUCTS)]


def mode_of(kernels: tuple[Kernel, ...]) -> Mode:
    return Mode.WEIGHT_STREAMING if kernels == (Kernel.STREAMED,) else Mode.RESIDENT


def counted(program: Program, weights: Weights, inputs: dict[str, Any]) -> MultiplyAdds:
    counter = MultiplyAdds()
    functional.execute(functional.load(program, weights), inputs, listener=counter)
    return counter


@pytest.mark.parametrize("kernels", CHOICES, ids="-".join)
@pytest.mark.parametrize("batch", [4, 12])
def test_a_perceptron_does_what_is_predicted(kernels: tuple[Kernel, ...], batch: int) -> None:
    graph, weights = mlp_from_text("24-33-17-5")
    program = compiled(graph, lab_mesh(8, 8), batch=batch, kernels=kernels, mode=mode_of(kernels))
    inputs = input_samples(graph, inputs_seed=1, batch=batch)
    done = functional.run(program, weights, inputs)
    prediction = predict(program, lab_mesh(8, 8), batch=batch)
    rows = prediction.passes * program.micro_batch
    assert done.multiply_adds == batch * (24 * 33 + 33 * 17 + 17 * 5)
    assert prediction.multiply_adds * batch == done.multiply_adds * rows
    assert rows - batch < program.micro_batch


def prepared(name: str, phase: str) -> tuple[Graph, Weights, dict[str, Any]]:
    config = MODELS[name]
    weights = seeded_weights(config, 1)
    graph = with_weights(decoder_graph(config, phase=phase, batch=2, context=CONTEXT), weights, seed=1)
    return (
        graph,
        weights,
        seeded_inputs(graph, inputs_seed=1),
    )  # a decode step fills the last place of its cache


@pytest.mark.parametrize("kernels", CHOICES, ids="-".join)
@pytest.mark.parametrize("phase", ["prefill", "decode"])
@pytest.mark.parametrize("name", MODELS)
def test_a_decoder_does_what_is_predicted(name: str, phase: str, kernels: tuple[Kernel, ...]) -> None:
    graph, weights, inputs = prepared(name, phase)
    program = compiled(graph, batch=2, kernels=kernels, mode=mode_of(kernels), grid=8)
    counter = counted(program, weights, inputs)
    found = {call.index: multiply_adds(call) for call in program.calls}
    assert {index: count for index, count in counter.by_call.items() if count} == {
        index: count for index, count in found.items() if count
    }
    assert predict(program, WSE_2, batch=2).multiply_adds == counter.total > 0


def test_a_cache_that_is_not_full_does_less_than_predicted() -> None:
    graph, weights, inputs = prepared("llama", "decode")
    program = compiled(graph, batch=2)
    inputs["positions"] = np.zeros(2, dtype=np.int32)
    attended = 2 * 2 * 32 * SIZES["layers"]  # keys and values of one place, for both sequences
    less = predict(program, WSE_2, batch=2).multiply_adds - counted(program, weights, inputs).total
    assert less == (CONTEXT - 1) * attended
