"""Weights from outside, several systems, runs that need not fit, weights shared by calls, fixed and open batches."""

from __future__ import annotations

from collections import Counter

import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.ir import DType
from pilots.graph.known_models import find
from pilots.wafer.compiler import MICRO_BATCHES, Request, compile_graph
from pilots.wafer.errors import DoesNotFit
from pilots.wafer.machine import WSE_2, lab_mesh
from pilots.wafer.memory import region_bytes
from pilots.wafer.predict import predict
from pilots.wafer.program import Mode
from tests.pilots.graph.samples import SAMPLES, single
from tests.pilots.wafer.graphs import compiled, decoder, mlp

STREAMING = Mode.WEIGHT_STREAMING


@pytest.mark.parametrize("batch", [1, 2, 33, 512])
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16])
def test_weights_from_outside_take_no_memory_and_come_in_every_pass(batch: int, dtype: DType) -> None:
    graph = mlp("64-256-8", dtype)
    program = compiled(graph, batch=batch, mode=STREAMING)
    assert {item.kind for item in program.residents} == {"streamed"}
    assert {item.bytes_per_pe for item in program.residents} == {0}
    assert [item.name for item in program.residents] == ["w0", "b0", "w1", "b1"]
    params = 64 * 256 + 256 + 256 * 8 + 8
    found = predict(program, WSE_2, batch=batch)
    assert found.passes == -(-batch // program.micro_batch)
    assert found.streamed_bytes == found.passes * params * dtype.item_bytes
    assert predict(compiled(graph, batch=batch), WSE_2, batch=batch).streamed_bytes == 0


@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_a_model_of_any_size_streams_through_one_system(phase: str) -> None:
    config = find("Llama-3.1-405B")
    graph = decoder("Llama-3.1-405B", phase=phase, context=512)
    with pytest.raises(DoesNotFit):
        compile_graph(graph, WSE_2, Request())
    program = compiled(graph, mode=STREAMING, systems=16)
    assert program.systems == 1
    rows = 1 if phase == "decode" else 512
    table = (config.vocab - rows) * config.hidden  # of the embedding only the rows asked for
    assert predict(program, WSE_2, batch=1).streamed_bytes == 2 * (config.params - table)


def test_experts_stream_in_full() -> None:
    config = find("Mixtral-8x7B")
    program = compiled(decoder("Mixtral-8x7B"), mode=STREAMING)
    table = (config.vocab - 1) * config.hidden
    assert predict(program, WSE_2, batch=1).streamed_bytes == 2 * (config.params - table)


def test_kernels_of_a_convolution_stream_too() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (None, 3, 8, 8), DType.FLOAT32)
    w = builder.shape_only("w", (16, 3, 3, 3), DType.FLOAT32)
    graph, _ = builder.build(builder.op("conv2d", x, w, stride=1, padding=1))
    assert predict(compiled(graph, mode=STREAMING), WSE_2, batch=1).streamed_bytes == 16 * 27 * 4


def test_convolution_of_a_usual_size_is_cut_over_the_region() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (1, 256, 14, 14), DType.FLOAT32)
    w = builder.shape_only("w", (512, 256, 3, 3), DType.FLOAT32)
    graph, _ = builder.build(builder.op("conv2d", x, w, stride=1, padding=1))
    (item,) = compiled(graph, grid=128).residents
    assert item.bytes_per_pe == (256 * 9 // 128) * (512 // 128) * 4


def test_a_product_of_two_activations_streams_nothing() -> None:
    graph = single("matmul", *SAMPLES["matmul"])
    assert predict(compiled(graph, mode=STREAMING), WSE_2, batch=1).streamed_bytes == 0


def test_caches_stay_even_if_weights_do_not_and_may_need_several_systems() -> None:
    program = compiled(decoder(batch=64, context=8192), mode=STREAMING, systems=16)
    assert {item.kind for item in program.residents} == {"streamed", "cache"}
    assert {region.system for region in program.regions} == set(range(program.systems))
    assert program.systems > 1


def test_cache_of_a_decoder_is_cut_over_context_and_features() -> None:
    config = find("LLaMA3-8B")
    program = compiled(decoder(batch=2, context=1000), grid=480, batch=2, systems=2)
    caches = [item for item in program.residents if item.kind == "cache"]
    assert len(caches) == 2 * config.layers
    rows, columns = -(-1000 // 480), -(-config.kv_width // 480)
    assert {item.bytes_per_pe for item in caches} == {2 * rows * columns * 2}
    assert not {item.name for item in caches} & set(program.inputs)


def test_activations_of_one_call_have_to_fit_even_if_layers_need_not() -> None:
    with pytest.raises(DoesNotFit) as caught:
        compile_graph(decoder(batch=64), WSE_2, Request(batch=64, grid=64, capacity=False))
    assert caught.value.of_one_call


@pytest.mark.parametrize("grid", [64, 360])
def test_published_runs_of_a_few_layers_need_not_fit(grid: int) -> None:
    program = compile_graph(decoder("LLaMA3-70B"), WSE_2, Request(grid=grid, capacity=False))
    assert program.systems == 1
    assert len(program.regions) > (750 // grid) * (994 // grid)
    assert len(program.calls) == len(decoder("LLaMA3-70B").nodes)
    with pytest.raises(DoesNotFit):
        compile_graph(decoder("LLaMA3-70B"), WSE_2, Request(grid=grid))


def test_a_weight_used_in_two_regions_lies_in_both() -> None:
    builder = GraphBuilder()
    value = builder.input("x", (4, 256), DType.FLOAT32)
    shared = builder.shape_only("shared", (256,), DType.FLOAT32)
    for index in range(6):
        w = builder.shape_only(f"w{index}", (256, 256), DType.FLOAT32)
        value = builder.op("add", builder.op("matmul", value, w), shared)
    graph, _ = builder.build(value)
    program = compiled(graph, lab_mesh(4, 4), grid=4, systems=4)
    places = Counter(item.name for item in program.residents)
    assert places["shared"] == len(program.regions) > 1
    assert {count for name, count in places.items() if name != "shared"} == {1}


def test_weights_used_together_move_together() -> None:
    """The second call needs one weight that is there and one that no longer fits: both lie in the next region."""
    builder = GraphBuilder()
    value = builder.input("x", (4, 64), DType.FLOAT32)
    first = builder.shape_only("first", (64, 64), DType.FLOAT32)
    for index in range(12):
        w = builder.shape_only(f"w{index}", (64, 64), DType.FLOAT32)
        value = builder.op("matmul", value, builder.op("add", first, w))
    graph, _ = builder.build(value)
    program = compiled(graph, lab_mesh(2, 2), grid=2, systems=4)
    held = {(item.region, item.name) for item in program.residents}
    assert len(program.regions) > 1
    for call in program.calls:
        assert all((call.region, name) in held for name in call.inputs if name[0] in "fw")


@pytest.mark.parametrize(
    ("batch", "allowed"),
    [(1, {1}), (2, {4}), (4, {4}), (5, {4, 8}), (33, {4, 8, 16, 32, 64}), (32, {4, 8, 16, 32})],
)
def test_open_batches_run_in_micro_batches(batch: int, allowed: set[int]) -> None:
    program = compiled(mlp("64-256-8"), batch=batch)
    assert program.micro_batch in allowed <= {1, *MICRO_BATCHES}


@pytest.mark.parametrize("batch", [1, 7])
def test_a_batch_that_is_written_in_the_graph_is_one_pass(batch: int) -> None:
    program = compiled(decoder(batch=batch), batch=batch, systems=2)
    assert (program.micro_batch, program.micro_batches(batch)) == (batch, 1)


def test_regions_fill_the_memory_of_an_element_but_never_more() -> None:
    program = compiled(decoder())
    used = region_bytes(program, WSE_2)
    limit = WSE_2.sram_bytes_per_pe.value
    assert max(used) <= limit
    assert min(used[:-1]) > limit // 2
