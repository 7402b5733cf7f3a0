from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pilots.graph.ir import DType
from pilots.wafer.costs.constants import calibrated
from pilots.wafer.costs.kernels import Setting, cost
from pilots.wafer.listing import listing
from pilots.wafer.machine import WSE_2, Machine, lab_mesh
from pilots.wafer.memory import region_bytes
from pilots.wafer.predict import predict
from pilots.wafer.program import SHAPES, Kernel, Mode, Program
from tests.pilots.wafer.graphs import compiled, decoder, mlp

TIMES = re.compile(r"(\d+) times the next (\d+) calls, regions (\d+) to (\d+):")
CALL = re.compile(r" {0,4}(\d+)  (\w+) +(\w+) +(.+?) +tile (\S+) +colors (\S+) +(\d+) = (.+)")
CHAIN = "64-256-256-256-256-256-256-8"


def read(program: Program, machine: Machine = WSE_2) -> list[tuple[str, ...]]:
    """Return kernel, operation, sizes, tile, colors, cycles and parts of every call, repetitions written out."""
    lines = listing(program, machine).splitlines()
    last = max(index for index, line in enumerate(lines) if line.startswith("region"))
    found: list[tuple[str, ...]] = []
    left, times = 0, 1
    block: list[tuple[str, ...]] = []
    for line in filter(None, lines[last + 1 :]):
        if head := TIMES.fullmatch(line):
            times, left = int(head[1]), int(head[2])
            first, end = len(found), len(found) + times * left - 1
            assert (int(head[3]), int(head[4])) == (program.calls[first].region, program.calls[end].region)
            continue
        item = CALL.fullmatch(line)
        assert item is not None, line
        assert int(item[1]) == len(found) + len(block)
        block.append(item.groups()[1:])
        left = max(0, left - 1)
        if not left:
            found += block * times
            block, times = [], 1
    return found


def expected(program: Program) -> list[tuple[str, ...]]:
    at = Setting(WSE_2, program.dtype, calibrated(), program.mode)
    found = []
    for call in program.calls:
        sizes = " ".join(f"{name} {size}" for name, size in zip(SHAPES[call.kernel], call.shape, strict=True))
        cycles = cost(call, at).whole()
        parts = " + ".join(f"{value} {name}" for name, value in cycles.items() if value)
        colors = ",".join(str(route.color) for route in call.routes) or "-"
        tile = "x".join(map(str, call.tile))
        found.append((call.kernel.value, call.op, sizes, tile, colors, str(sum(cycles.values())), parts))
    return found


def test_head_says_what_the_program_is_and_what_a_pass_takes() -> None:
    made = compiled(mlp("64-256-256-8"), batch=32)
    lines = listing(made, WSE_2, batch=32).splitlines()
    found = predict(made, WSE_2, batch=32)
    assert lines[0] == f"program {made.digest()[:16]}  machine wse-2  dtype float32  mode RESIDENT"
    total = sum(found.pass_cycles.values())
    parts = " + ".join(f"{value} {name}" for name, value in found.pass_cycles.items())
    assert lines[1] == f"micro-batch {made.micro_batch}, one pass {total} cycles = {parts}"
    assert lines[2] == ""


def test_every_region_is_listed_with_its_memory() -> None:
    machine = lab_mesh(8, 4)
    made = compiled(mlp(CHAIN), machine, batch=4, grid=4, kernels=(Kernel.STATIONARY,), systems=2)
    text = listing(made, machine)
    first, second, third = (line for line in text.splitlines() if line.startswith("region"))
    used = region_bytes(made, machine)
    assert first == f"region 0  system 0  x 0, y 0, 4 x 4 = 16 PEs, sram {used[0]} of 49152 B per PE"
    assert second == f"region 1  system 0  x 4, y 0, 4 x 4 = 16 PEs, sram {used[1]} of 49152 B per PE"
    assert third == f"region 2  system 1  x 0, y 0, 4 x 4 = 16 PEs, sram {used[2]} of 49152 B per PE"


@pytest.mark.parametrize("mode", Mode)
def test_every_call_is_listed_with_kernel_tile_and_cycles(mode: Mode) -> None:
    made = compiled(mlp("64-256-256-8"), batch=32, mode=mode, grid=16)
    assert read(made) == expected(made)
    one = compiled(mlp("1-1"), grid=1)
    assert read(one) == expected(one)


@pytest.mark.parametrize("times", [2, 3, 7])
def test_equal_calls_in_a_row_are_written_once(times: int) -> None:
    made = compiled(mlp("64-64"), batch=1)
    relu = replace(made.calls[-1], op="relu")
    calls = tuple(replace(relu, index=index) for index in range(times))
    made = replace(made, calls=calls)
    assert listing(made, WSE_2).count("ELEMENTWISE") == 1
    assert read(made) == expected(made)


@pytest.mark.parametrize("name", ["LLaMA3-8B", "LLaMA3-70B", "Mixtral-8x7B", "GPT-2"])
def test_layers_of_a_model_are_written_once_and_nothing_is_lost(name: str) -> None:
    made = compiled(decoder(name, context=512), systems=16)
    assert read(made) == expected(made)
    lines = listing(made, WSE_2).splitlines()
    assert len(lines) < 100 + len(made.regions)
    assert all(line == line.rstrip() and line.isascii() for line in lines)


def test_the_listing_is_the_same_every_time() -> None:
    made = compiled(mlp(CHAIN, DType.FLOAT16), batch=33)
    assert listing(made, WSE_2) == listing(made, WSE_2)
