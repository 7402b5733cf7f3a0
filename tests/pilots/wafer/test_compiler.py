from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pilots.graph.errors import GraphError
from pilots.graph.ir import DType, Node
from pilots.graph.known_models import find
from pilots.wafer import compiler
from pilots.wafer.compiler import ALL_KERNELS, MICRO_BATCHES, Request, compile_graph
from pilots.wafer.costs.constants import calibrated
from pilots.wafer.costs.kernels import Setting, cost
from pilots.wafer.errors import DoesNotFit, RequestError, UnsupportedOps
from pilots.wafer.legality import verify
from pilots.wafer.machine import WSE_1, WSE_2, WSE_3, Machine, lab_mesh
from pilots.wafer.placement import DOUBT, SIDE_DOUBT, side_doubt
from pilots.wafer.program import PRODUCTS, SQUARE, Kernel, Mode, Program, Rect
from tests.pilots.graph.samples import SAMPLES, single
from tests.pilots.wafer.graphs import compiled, decoder, mlp

SRAM = 49_152
FIXED = 4176 + 4096
CHAIN = "64-256-256-256-256-256-256-8"
TEXTS = ["1-1", "7-13-31", "64-256-256-8", "8192-4096-2048", "8192-1", "1-8192", "-".join(["100"] * 32)]


@pytest.mark.parametrize("machine", [WSE_2, lab_mesh(1, 1), lab_mesh(7, 3)], ids=lambda item: item.id)
@pytest.mark.parametrize("op", sorted(SAMPLES))
def test_every_operation_compiles_to_a_legal_program(op: str, machine: Machine) -> None:
    graph = single(op, *SAMPLES[op])
    for mode in Mode:
        program = compile_graph(graph, machine, Request(mode=mode))
        verify(program, machine)
        assert [(call.op, call.inputs) for call in program.calls] == [(op, graph.nodes[0].inputs)]
        assert program.outputs == graph.outputs


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("batch", [1, 2, 33, 512])
def test_perceptrons_of_odd_sizes_compile_for_every_batch(text: str, batch: int) -> None:
    small = lab_mesh(61, 7)
    for machine in (WSE_1, WSE_2, WSE_3, small):
        program = compiled(mlp(text), machine, batch=batch, capacity=machine is not small)
        assert [call.index for call in program.calls] == list(range(len(program.calls)))
        assert {call.kernel for call in program.calls if call.op == "matmul"} <= set(ALL_KERNELS)
        assert program.micro_batch == 1 if batch == 1 else program.micro_batch in MICRO_BATCHES


@pytest.mark.parametrize("rect", [(1, 1), (1, 994), (750, 1), (13, 5), (5, 13), (750, 994)])
@pytest.mark.parametrize("mode", Mode)
def test_regions_need_not_be_square(rect: tuple[int, int], mode: Mode) -> None:
    program = compiled(mlp("7-13-31"), batch=33, rect=rect, mode=mode)
    assert program.regions[0].rect == Rect(0, 0, *rect)
    assert rect[0] == rect[1] or not {call.kernel for call in program.calls} & set(SQUARE)


@pytest.mark.parametrize(
    ("machine", "parts"),
    [(WSE_2, {(750 // x, 994 // y) for x in range(1, 5) for y in range(1, 5)}), (lab_mesh(2, 3), None)],
    ids=["wse-2", "lab"],
)
def test_regions_are_squares_and_parts_of_the_mesh(
    machine: Machine, parts: set[tuple[int, int]] | None
) -> None:
    found = {(rect.width, rect.height) for rect in compiler._rects(machine, Request())}
    parts = parts or {(2, 3), (2, 1), (1, 3), (1, 1)}
    assert parts <= found
    assert all(width == height for width, height in found - parts)
    assert all(machine.width_pes.value >= width >= 1 <= height for width, height in found)


@pytest.mark.parametrize(
    ("side", "rect", "doubt"),
    [(420, (420, 420), 1.0), (420, (420, 421), SIDE_DOUBT), (1, (1, 1), SIDE_DOUBT)],
)
def test_only_squares_of_a_measured_size_are_beyond_doubt(
    side: int, rect: tuple[int, int], doubt: float
) -> None:
    made = compiled(mlp("7-13-31"), rect=(side, side), kernels=(Kernel.GEMV,))
    calls = [replace(call, rect=Rect(0, 0, *rect)) for call in made.calls]
    assert side_doubt(calls) == doubt


@pytest.mark.parametrize("kernel", PRODUCTS)
def test_only_allowed_kernels_are_used(kernel: Kernel) -> None:
    mode = Mode.WEIGHT_STREAMING if kernel is Kernel.STREAMED else Mode.RESIDENT
    program = compiled(mlp("40-50-6"), batch=8, kernels=(kernel,), mode=mode)
    assert {call.kernel for call in program.calls if call.op == "matmul"} == {kernel}


def test_kernels_that_are_no_products_are_never_taken_for_one() -> None:
    assert compiled(mlp("40-50-6"), batch=8, kernels=tuple(Kernel)) == compiled(mlp("40-50-6"), batch=8)


def test_matrix_vector_products_end_at_16_rows() -> None:
    request = Request(kernels=(Kernel.GEMV,))
    last, more = (
        single("matmul", [((rows, 8), DType.FLOAT32), ((8, 8), DType.FLOAT32)], {}) for rows in (16, 17)
    )
    assert compile_graph(last, WSE_2, request).calls[0].shape == (16, 8, 8)
    with pytest.raises(RequestError):
        compile_graph(more, WSE_2, request)


def test_compiler_takes_a_cheap_region_and_kernel_of_its_own_cost_model() -> None:
    def cycles(program: Program) -> float:
        setting = Setting(WSE_2, program.dtype, calibrated(), program.mode)
        return sum(cost(call, setting).cycles for call in program.calls) * program.micro_batches(33)

    best = cycles(compiled(mlp("64-256-256-8"), batch=33))
    others = [
        cycles(compiled(mlp("64-256-256-8"), batch=33, grid=grid, kernels=(kernel,)))
        for grid in (4, 12, 16, 32, 64, 128, 750)
        for kernel in PRODUCTS
        if kernel is not Kernel.STREAMED
    ]
    assert best <= min(others) * DOUBT * SIDE_DOUBT


def test_less_for_a_call_leaves_more_for_weights() -> None:
    """Products by hundreds of tokens need scratch beside the weights: calls that need less of it are taken then."""
    for context in (128, 512):
        program = compiled(decoder(phase="prefill", context=context))
        assert program.systems == 1


SCRIPT = """
from tests.pilots.wafer.test_compiler import digests
print(*digests())
"""


def digests() -> list[str]:
    programs = (compiled(mlp(CHAIN), lab_mesh(8, 8), batch=33, systems=2), compiled(mlp("7-13-31"), batch=2))
    large = compile_graph(decoder("LLaMA3-8B"), WSE_3, Request())
    return [item.digest() for item in (*programs, large)]


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_same_program_in_every_process(hash_seed: str) -> None:
    root = Path(compiler.__file__).parents[2]
    env = dict(os.environ) | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == digests() == digests()


def test_every_operation_without_a_kernel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = mlp("3-5-2")
    monkeypatch.setattr("pilots.wafer.lowering.PRODUCT_OPS", ())
    with pytest.raises(UnsupportedOps) as caught:
        compile_graph(graph, WSE_2, Request())
    assert caught.value.ops == (("matmul", "node 0"), ("matmul", "node 3"))
    assert "matmul (node 0), matmul (node 3)" in caught.value.message_de


def test_a_graph_that_is_illegal_or_empty_is_refused() -> None:
    graph = mlp("3-5-2")
    with pytest.raises(GraphError):
        compile_graph(replace(graph, nodes=graph.nodes[::-1]), WSE_2, Request())
    with pytest.raises(GraphError):
        compile_graph(replace(graph, nodes=(Node("fft", ("x",), "y", graph.inputs[0][1]),)), WSE_2, Request())
    with pytest.raises(UnsupportedOps):
        compile_graph(replace(graph, nodes=(), outputs=("x",)), WSE_2, Request())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"batch": 0}, "Stapelgröße"),
        ({"batch": -1}, "Stapelgröße"),
        ({"batch": 4097}, "Stapelgröße"),
        ({"systems": 0}, "Systeme"),
        ({"systems": 17}, "Systeme"),
        ({"grid": -1}, "Kantenlänge"),
        ({"grid": 751}, "Kantenlänge"),
        ({"rect": (0, 5)}, "Region"),
        ({"rect": (5, 0)}, "Region"),
        ({"rect": (-1, -1)}, "Region"),
        ({"rect": (751, 1)}, "Region"),
        ({"rect": (1, 995)}, "Region"),
        ({"kernels": ()}, "Kernel"),
        ({"kernels": (Kernel.NORM,)}, "Kernel"),
        ({"kernels": (Kernel.SUMMA,)}, "Kernel"),  # nothing square for a single sample
        ({"kernels": (Kernel.STREAMED,)}, "Kernel"),  # weights are resident
    ],
)
def test_requests_outside_their_range_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError) as caught:
        compiled(mlp("4-4"), **change)
    assert words in caught.value.message_de
    assert caught.value.message_de.endswith(".")


@pytest.mark.parametrize("change", [{"batch": 4096}, {"systems": 16}, {"grid": 750}, {"grid": 1}])
def test_requests_at_their_limits_compile(change: dict[str, Any]) -> None:
    assert compiled(mlp("4-4"), **change).systems == 1


def test_shortfall_of_one_operation_is_exact() -> None:
    request = Request(grid=8, kernels=(Kernel.GEMV,))
    with pytest.raises(DoesNotFit) as caught:
        compile_graph(mlp("4096-4096-8"), lab_mesh(8, 8), request)
    error = caught.value
    weights, sums = 512 * 512 * 4, (512 + 2 * 128) * 4  # result of the product, sums of 128 columns twice
    assert error.of_one_call
    assert error.needed_bytes == 64 * (weights + sums + FIXED)
    assert (error.available_bytes, error.available_pes) == (64 * SRAM, 64)
    assert error.needed_pes == -(-error.needed_bytes // SRAM)
    assert error.shortfall_bytes == error.needed_bytes - error.available_bytes
    assert f"{error.shortfall_bytes:,} Byte".replace(",", ".") in error.message_de


@pytest.mark.parametrize("batch", [1, 2, 512])
@pytest.mark.parametrize("text", ["8192-6000", "2048-2048", "1024-1024-1024"])
def test_whatever_is_too_large_for_one_element_lacks_some_bytes(text: str, batch: int) -> None:
    with pytest.raises(DoesNotFit) as caught:
        compiled(mlp(text), lab_mesh(1, 1), batch=batch)
    params = sum(k * n for k, n in pairwise(map(int, text.split("-")[:2])))
    assert caught.value.shortfall_bytes >= params * 4 - SRAM
    assert caught.value.shortfall_bytes == caught.value.needed_bytes - SRAM


@pytest.mark.parametrize("systems", [1, 2])
def test_shortfall_of_regions_is_exact(systems: int) -> None:
    machine = lab_mesh(4, 4)
    request = {"batch": 4, "grid": 4, "kernels": (Kernel.STATIONARY,)}
    assert compiled(mlp(CHAIN), machine, systems=3, **request).systems == 3
    with pytest.raises(DoesNotFit) as caught:
        compiled(mlp(CHAIN), machine, systems=systems, **request)
    error = caught.value
    assert (error.needed_pes, error.available_pes) == (3 * 16, systems * 16)
    assert (error.needed_bytes, error.available_bytes) == (3 * 16 * SRAM, systems * 16 * SRAM)
    assert not error.of_one_call


@pytest.mark.parametrize(("name", "systems"), [("LLaMA3-70B", 1), ("Llama-3.1-405B", 16)])
def test_large_models_name_what_is_missing(name: str, systems: int) -> None:
    with pytest.raises(DoesNotFit) as caught:
        compile_graph(decoder(name), WSE_2, Request(systems=systems))
    error = caught.value
    assert error.needed_bytes > find(name).params * 2
    assert error.needed_bytes == error.needed_pes * SRAM
    assert error.available_bytes == error.available_pes * SRAM <= systems * WSE_2.sram_bytes
    assert error.shortfall_bytes == error.needed_bytes - error.available_bytes > 0


def test_a_large_model_compiles_over_several_systems_and_uses_only_what_it_needs() -> None:
    program = compile_graph(decoder("LLaMA3-70B"), WSE_2, Request(systems=16))
    verify(program, WSE_2)
    used = {region.system for region in program.regions}
    assert used == set(range(program.systems))
    assert 4 < program.systems < 16
    again = compile_graph(decoder("LLaMA3-70B"), WSE_2, Request(systems=program.systems))
    assert again.regions == program.regions
    order = [call.region for call in program.calls]
    assert order == sorted(order)
