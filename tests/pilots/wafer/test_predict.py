from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import ceil, prod
from typing import Any

import pytest

from pilots.graph.flop_rules import SOFTMAX_FLOPS
from pilots.graph.ir import DType, Graph
from pilots.graph.known_models import find
from pilots.graph.spec import node_flops
from pilots.wafer.costs.constants import calibrated
from pilots.wafer.costs.kernels import Setting, cost
from pilots.wafer.costs.terms import CAUSES, Terms
from pilots.wafer.costs.uncertainty import host_factor
from pilots.wafer.machine import WSE_2, WSE_3, Machine, lab_mesh
from pilots.wafer.memory import region_bytes
from pilots.wafer.predict import Prediction, multiply_adds, predict, program_terms
from pilots.wafer.program import Kernel, Mode, Program, Rect, Region
from tests.pilots.graph.samples import SAMPLES, single
from tests.pilots.wafer.graphs import compiled, decoder, mlp
from tests.pilots.wafer.hand_built import call, program

CHAIN = "64-256-256-256-256-256-256-8"
F32, F16 = DType.FLOAT32, DType.FLOAT16


def demo(batch: int = 32, **request: Any) -> Program:
    return compiled(mlp("64-256-256-8"), batch=batch, **request)


def setting(machine: Machine, made: Program) -> Setting:
    return Setting(machine, made.dtype, calibrated(), made.mode)


@pytest.mark.parametrize(
    ("graph", "request_"),
    [
        (mlp("64-256-256-8"), {"batch": 33}),
        (mlp(CHAIN, F16), {"batch": 1}),
        (decoder(), {}),
        (decoder(phase="prefill", context=1024), {}),
        (decoder("Mixtral-8x7B"), {"systems": 16}),
    ],
)
def test_calls_counted_once_give_the_same_as_a_plain_loop(graph: Graph, request_: dict[str, Any]) -> None:
    made = compiled(graph, **request_)
    at = setting(WSE_2, made)
    plain = Terms()
    for item in made.calls:
        plain += cost(item, at)
    between = program_terms(made, at).fabric - plain.fabric
    assert program_terms(made, at).compute == pytest.approx(plain.compute)
    assert program_terms(made, at).memory == pytest.approx(plain.memory)
    assert program_terms(made, at).launch == pytest.approx(plain.launch)
    assert between == pytest.approx(0, abs=1e-6) if len(made.regions) == 1 else between > 0


def test_attributes_of_a_call_count() -> None:
    """The same product as a batch of four, and as one: a program of both costs both."""
    shape, tile = (16, 32, 32), (16, 8, 8)
    one = call(Kernel.STATIONARY, "batch_matmul", tile=tile, shape=shape, attrs={"batch": 1})
    four = call(Kernel.STATIONARY, "batch_matmul", tile=tile, shape=shape, attrs={"batch": 4})
    made = program(one, four)
    at = setting(WSE_2, made)
    assert cost(one, at) != cost(four, at)
    assert program_terms(made, at).cycles == pytest.approx((cost(one, at) + cost(four, at)).cycles)


@pytest.mark.parametrize("batch", [1, 32, 33, 512])
@pytest.mark.parametrize("machine", [WSE_2, WSE_3], ids=lambda item: item.id)
def test_parts_of_a_prediction_sum_to_it(machine: Machine, batch: int) -> None:
    made = compiled(mlp("64-256-256-8"), machine, batch=batch)
    found = predict(made, machine, batch=batch)
    assert tuple(found.pass_cycles) == CAUSES
    assert found.passes == made.micro_batches(batch)
    assert found.device_cycles == found.passes * sum(found.pass_cycles.values())
    assert found.pass_cycles == program_terms(made, setting(machine, made)).whole()
    assert found.device_seconds.value == pytest.approx(found.device_cycles / machine.clock_hz.value)
    assert found.step_seconds == found.device_seconds + found.off_wafer_seconds
    assert found.request_seconds == found.step_seconds + found.host_seconds
    assert found.off_wafer_seconds.value == 0
    assert found.to_json()["device_cycles"] == found.device_cycles


def in_order(found: Prediction) -> bool:
    spans = (
        found.device_seconds,
        found.off_wafer_seconds,
        found.host_seconds,
        found.step_seconds,
        found.request_seconds,
        found.request_joules,
    )
    return all(0 <= item.lower <= item.value <= item.upper for item in spans)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("text", ["1-1", "64-256-256-8", "8192-4096-2048", "1024-2048-2048-1024-64"])
def test_ends_of_every_interval_are_in_order(text: str, mode: Mode) -> None:
    for machine in (WSE_2, WSE_3, lab_mesh(64, 64)):
        for batch in (1, 2, 33, 512):
            made = compiled(mlp(text), machine, batch=batch, mode=mode, capacity=machine.pes > 4096)
            found = predict(made, machine, batch=batch)
            assert in_order(found)
            assert 0 < found.resident_bytes <= found.resident_upper_bytes


def test_host_takes_two_transactions_and_what_goes_in_and_out() -> None:
    found = predict(demo(), WSE_2, batch=32)
    assert found.off_wafer_bytes == 32 * (64 + 8) * 4
    seconds = 2 * 200e-6 + 8 * found.off_wafer_bytes / 112e9
    assert found.host_seconds.value == pytest.approx(seconds)
    assert found.host_seconds.upper == pytest.approx(seconds * host_factor())
    assert found.host_seconds.lower == pytest.approx(seconds / host_factor())


def test_wafer_waits_for_weights_that_come_slower_than_it_computes() -> None:
    graph = mlp("8192-4096-2048", F16)
    made = compiled(graph, mode=Mode.WEIGHT_STREAMING)
    found = predict(made, WSE_2, batch=1)
    assert found.streamed_bytes == 2 * sum(prod(item.tensor.shape) for item in graph.constants)  # type: ignore[arg-type]
    link = 8 * found.streamed_bytes / WSE_2.io_link_bits_per_second.value
    assert link > found.device_seconds.value
    assert found.step_seconds.value == pytest.approx(link)
    assert found.off_wafer_bytes == found.streamed_bytes + (8192 + 2048) * 2
    fast = replace(WSE_2, io_link_bits_per_second=replace(WSE_2.io_link_bits_per_second, value=10**18))
    assert predict(made, fast, batch=1).off_wafer_seconds.value == 0


def test_energy_is_power_of_the_systems_used_times_the_whole_time() -> None:
    for systems, graph in ((1, mlp("64-256-8")), (16, decoder("LLaMA3-70B"))):
        made = compiled(graph, systems=systems)
        found = predict(made, WSE_2, batch=1)
        joules, seconds = found.request_joules, found.request_seconds
        assert joules.value == pytest.approx(seconds.value * 20_000 * made.systems)
        assert joules.upper == pytest.approx(seconds.upper * 20_000 * made.systems)
        assert joules.lower == pytest.approx(seconds.lower * 15_000 * made.systems)


@pytest.mark.parametrize("batch", [1, 33, 512])
def test_multiply_adds_of_a_perceptron_are_rows_times_weights(batch: int) -> None:
    made = demo(batch)
    rows = made.micro_batches(batch) * made.micro_batch
    assert predict(made, WSE_2, batch=batch).multiply_adds == rows * (64 * 256 + 256 * 256 + 256 * 8)


@pytest.mark.parametrize("name", ["LLaMA3-8B", "GPT-2", "Mistral-7B"])
@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_multiply_adds_of_a_decoder_follow_from_its_operations(name: str, phase: str) -> None:
    """A multiply-add is two operations; attention counts those of a softmax too, which are taken off."""
    graph = decoder(name, phase=phase, context=512)
    types = graph.tensors()
    operations = 0
    for node in graph.nodes:
        if node.op in {"matmul", "attention", "attention_cached"}:
            operations += node_flops(node, types)
        if node.op.startswith("attention"):
            pairs = 512 if phase == "decode" else 512 * 513 // 2
            operations -= SOFTMAX_FLOPS * pairs * find(name).heads
    assert predict(compiled(graph, systems=16), WSE_2, batch=1).multiply_adds == operations // 2


@pytest.mark.parametrize(
    ("op", "count"),
    [
        ("conv2d", 24 * 18 * 4),
        ("batch_matmul", 2 * 3 * 5 * 7),
        ("stencil", 60 * 7),
        ("attention", 2 * 2 * 6 * 4 * 6),  # two sequences of three tokens: six pairs each look backwards
        ("attention_cached", 2 * 2 * 3 * 4 * 6),
        ("expert_ffn", 3 * 3 * 4 * 5),
        ("max_pool2d", 0),
        ("relu", 0),
    ],
)
def test_multiply_adds_of_single_operations(op: str, count: int) -> None:
    (made,) = compiled(single(op, *SAMPLES[op])).calls
    assert multiply_adds(made) == count


@pytest.mark.parametrize(("window", "pairs"), [(1, 8), (3, 3 + 5 * 3 + 3), (8, 36), (99, 36)])
def test_a_window_limits_what_attention_counts(window: int, pairs: int) -> None:
    attrs = {"batch": 1, "causal": 1, "heads": 1, "kv_heads": 1, "head_dim": 1, "window": window}
    graph = single("attention", [((8, 1), F32)] * 3, attrs)
    assert multiply_adds(compiled(graph).calls[0]) == 2 * pairs
    cached = call(
        Kernel.ATTENTION_CACHED, "attention_cached", shape=(2, 1, 8, 1, 1, 1), attrs={"window": window}
    )
    assert multiply_adds(cached) == 2 * 2 * min(window, 8)


def two_calls(first: Rect, second: Region, *, systems: int = 1) -> Program:
    product = call(Kernel.GEMV, "matmul", ("x", "w"), "p", tile=(3, 2, 5), shape=(3, 8, 20))
    relu = call(Kernel.ELEMENTWISE, "relu", ("p",), "y", tile=(3, 5), shape=(3, 20))
    made = program(product, replace(relu, region=1, rect=second.rect), dtype=F16, inputs=("x", "w"))
    return replace(made, regions=(Region(0, first), second), systems=systems)


def fabric(made: Program, machine: Machine) -> float:
    return program_terms(made, setting(machine, made)).fabric


def test_handing_values_to_the_next_region_costs_words_and_hops() -> None:
    machine = lab_mesh(8, 8)
    near = two_calls(Rect(0, 0, 4, 4), Region(0, Rect(4, 0, 4, 4)))
    alone = cost(near.calls[0], setting(machine, near)).fabric
    words = 3 * 20 // 2  # fp16, two numbers in a wavelet
    assert fabric(near, machine) - alone == pytest.approx(ceil(words / 4 + 4))
    far = two_calls(Rect(0, 0, 4, 4), Region(0, Rect(4, 4, 4, 4)))
    assert fabric(far, machine) - alone == pytest.approx(ceil(words / 4 + 8))


def test_handing_values_to_the_next_system_costs_the_way_out() -> None:
    machine = lab_mesh(8, 8)
    made = two_calls(Rect(0, 0, 4, 4), Region(1, Rect(0, 0, 4, 4)), systems=2)
    alone = cost(made.calls[0], setting(machine, made)).fabric
    seconds = 2e-6 + 30 * 32 / 1.2e12
    assert fabric(made, machine) - alone == pytest.approx(ceil(seconds * 850e6))


@pytest.mark.parametrize(
    ("kernel", "op", "shape", "elements"),
    [
        (Kernel.ATTENTION, "attention", (2, 5, 5, 4, 2, 8), 2 * 5 * 32),
        (Kernel.ATTENTION_CACHED, "attention_cached", (2, 1, 50, 4, 2, 8), 2 * 32),
        (Kernel.CONVOLUTION, "conv2d", (24, 18, 4), 24 * 4),
        (Kernel.STENCIL, "stencil", (4, 5, 6, 7), 120),
        (Kernel.NORM, "rms_norm", (3, 20), 60),
    ],
)
def test_every_kernel_hands_on_its_whole_result(
    kernel: Kernel, op: str, shape: tuple[int, ...], elements: int
) -> None:
    machine, base = lab_mesh(8, 8), two_calls(Rect(0, 0, 4, 4), Region(0, Rect(4, 0, 4, 4)))
    tile = (1, 1, 1) if kernel.value.startswith(("A", "C")) else (1, 1)
    first = call(kernel, op, tile=tile, shape=shape)
    made = replace(base, calls=(first, base.calls[1]))
    alone = cost(first, setting(machine, made)).fabric
    assert fabric(made, machine) - alone == pytest.approx(ceil(elements / 2 / 4 + 4))


def test_more_regions_and_systems_take_more_fabric_cycles() -> None:
    graph = mlp(CHAIN)
    request = {"batch": 4, "kernels": (Kernel.STATIONARY,), "grid": 4, "systems": 3}
    one = compiled(graph, lab_mesh(12, 4), **request)
    many = compiled(graph, lab_mesh(4, 4), **request)
    assert ((one.systems, len(one.regions)), (many.systems, len(many.regions))) == ((1, 3), (3, 3))
    assert fabric(many, lab_mesh(4, 4)) > fabric(one, lab_mesh(12, 4))


def test_request_time_grows_with_the_number_of_micro_batches() -> None:
    made = demo(32)
    times = [predict(made, WSE_2, batch=size).request_seconds.value for size in (32, 33, 64, 65)]
    assert all(earlier < later for earlier, later in pairwise(times))


def test_memory_is_the_high_water_mark_of_all_elements_used() -> None:
    made = compiled(mlp(CHAIN), lab_mesh(8, 8), batch=4, grid=4, kernels=(Kernel.STATIONARY,))
    found = predict(made, lab_mesh(8, 8), batch=4)
    assert found.resident_bytes == sum(16 * used for used in region_bytes(made, lab_mesh(8, 8)))
    assert found.resident_upper_bytes == found.resident_bytes + 3 * 16 * 1024
