"""Whole reference models on a small mesh: what wavelets compute equals the functional interpreter bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.capture import Captured
from pilots.graph.decoder import decoder_graph, seeded_weights, with_weights
from pilots.graph.ir import DType, Graph
from pilots.wafer import cycle, functional
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.cycle.kernels.table import PROGRAMS
from pilots.wafer.errors import RequestError
from pilots.wafer.handlers.table import HANDLERS
from pilots.wafer.machine import lab_mesh
from pilots.wafer.program import Kernel, Mode, Program
from tests.pilots.graph.captures import CAPTURES
from tests.pilots.graph.samples import SAMPLES, single
from tests.pilots.graph.samples import numbers as sample_numbers
from tests.pilots.wafer.hand_built import numbers
from tests.pilots.wafer.test_functional_generate import MODELS

MESH = lab_mesh(8, 8)
FLOATS = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)
SMALL = {name: replace(config, layers=1, vocab=17, ffn=12) for name, config in MODELS.items()}
BATCH, LENGTH, CAPACITY = 2, 3, 5


def agree(program: Program, weights: Any, inputs: Any) -> cycle.CycleResult:
    """Run a program in both interpreters and compare every output."""
    done = cycle.run(program, weights, inputs, MESH)
    want = functional.run(program, weights, inputs)
    assert list(done.outputs) == list(program.outputs)
    for name in program.outputs:
        assert done.outputs[name].tobytes() == np.ascontiguousarray(want.values[name]).tobytes(), name
    assert len(done.calls) == len(program.calls)
    return done


def kernels(program: Program) -> set[Kernel]:
    return {call.kernel for call in program.calls}


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("rect", [(4, 4), (5, 3)])
def test_every_captured_model_runs_on_wavelets(name: str, rect: tuple[int, int]) -> None:
    made: Captured = CAPTURES[name]()
    assert made.example is not None
    batch = len(next(iter(made.example.inputs.values())))
    program = compile_graph(made.graph, MESH, Request(rect=rect, batch=batch))
    agree(program, made.weights, made.example.inputs)


def encoder(dtype: DType) -> tuple[Graph, dict[str, Any]]:
    """One encoder block: two sequences of three tokens see each other, layer norm behind each part, gelu."""
    on = GraphBuilder()

    def weight(name: str, *shape: int) -> str:
        return on.constant(name, numbers(name, *shape, scale=0.5), dtype)

    def linear(name: str, value: str, rows: int, width: int) -> str:
        return on.op("add", on.op("matmul", value, weight(name, rows, width)), weight(f"{name}.bias", width))

    def normed(name: str, value: str) -> str:
        return on.op("layer_norm", value, weight(name, 16), weight(f"{name}.bias", 16), epsilon="0.00001")

    x = on.input("x", (6, 16), dtype)
    q, k, v = (linear(name, x, 16, 16) for name in "qkv")
    seen = on.op("attention", q, k, v, heads=2, kv_heads=2, head_dim=8, batch=2, causal=0)
    x = normed("norm1", on.op("add", x, linear("o", seen, 16, 16)))
    inner = linear("down", on.op("gelu", linear("up", x, 16, 24)), 24, 16)
    return on.build(normed("norm2", on.op("add", x, inner)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_encoder_block_runs_on_wavelets(dtype: DType) -> None:
    graph, weights = encoder(dtype)
    program = compile_graph(graph, MESH, Request(rect=(4, 4)))
    done = agree(program, weights, {"x": numbers("x", 6, 16)})
    assert Kernel.ATTENTION in kernels(program)
    assert done.cycles == sum(item.counted for item in done.calls)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16])
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_a_decoder_block_runs_on_wavelets(name: str, dtype: DType, phase: str) -> None:
    program, weights, inputs = decoder(name, dtype, phase)
    agree(program, weights, inputs)
    expected = Kernel.ATTENTION if phase == "prefill" else Kernel.ATTENTION_CACHED
    assert expected in kernels(program)
    assert (Kernel.EXPERTS in kernels(program)) == (name == "experts")


def decoder(name: str, dtype: DType, phase: str, **request: Any) -> tuple[Program, Any, Any]:
    """Return a block of a decoder, its weights, and inputs: token ids, positions, caches as they would be half full."""
    config = replace(SMALL[name], dtype=dtype)
    weights = seeded_weights(config, 3)
    context = LENGTH if phase == "prefill" else CAPACITY
    graph = with_weights(decoder_graph(config, phase=phase, batch=BATCH, context=context), weights)
    program = compile_graph(graph, MESH, Request(batch=BATCH, grid=3, **request))
    tokens = BATCH * LENGTH if phase == "prefill" else BATCH
    places = np.tile(np.arange(LENGTH), BATCH) if phase == "prefill" else np.array([2, 4])
    whole = {"ids": np.arange(tokens) * 5 % 17, "positions": places}
    inputs: dict[str, Any] = {key: value.astype(np.int32) for key, value in whole.items()}
    for key, tensor in graph.inputs:
        if key not in inputs:
            inputs[key] = numbers(key, *(size or BATCH for size in tensor.shape))
    return program, weights, inputs


def test_every_operation_of_every_kernel_has_a_wavelet_program() -> None:
    assert set(PROGRAMS) == set(HANDLERS)


@pytest.mark.parametrize("op", SAMPLES)
def test_every_operation_runs_on_wavelets(op: str) -> None:
    sizes, attrs = SAMPLES[op]
    graph = single(op, list(sizes), attrs)
    program = compile_graph(graph, MESH, Request(rect=(4, 4), batch=3))
    agree(program, {}, sample_numbers(graph))


def test_streamed_weights_come_in_from_the_edge() -> None:
    mode, only = Mode.WEIGHT_STREAMING, (Kernel.STREAMED,)
    program, weights, inputs = decoder("llama", DType.FLOAT32, "prefill", mode=mode, kernels=only)
    assert Kernel.STREAMED in kernels(program)
    agree(program, weights, inputs)


def test_a_missing_cache_is_named() -> None:
    program, weights, inputs = decoder("llama", DType.FLOAT32, "decode")
    name = next(call.inputs[0] for call in program.calls if call.kernel is Kernel.CACHE_APPEND)
    inputs.pop(name)
    with pytest.raises(RequestError) as caught:
        cycle.run(program, weights, inputs, MESH)
    assert name in caught.value.message_de
