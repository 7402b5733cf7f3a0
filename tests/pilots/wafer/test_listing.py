from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pilots.wafer.costs.constants import calibrated
from pilots.wafer.costs.kernels import Setting, cost
from pilots.wafer.listing import listing
from pilots.wafer.machine import WSE_2, lab_mesh
from pilots.wafer.memory import region_bytes
from pilots.wafer.predict import predict
from pilots.wafer.program import Kernel, Mode
from tests.pilots.wafer.graphs import compiled, decoder, mlp

CALL = re.compile(
    r" {0,4}(\d+)  (\w+) +(\w+) +region (\d+)  .* tile (\S+) +colors (\S+) +(\d+) = (.+?)(?:  x(\d+))?"
)
CHAIN = "64-256-256-256-256-256-256-8"


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
def test_every_call_is_listed_once_with_kernel_tile_and_cycles(mode: Mode) -> None:
    made = compiled(mlp("64-256-256-8"), batch=32, mode=mode, grid=16)
    lines = listing(made, WSE_2).split("\n\n")[-1].splitlines()
    found = [CALL.fullmatch(line) for line in lines]
    assert all(found)
    at = Setting(WSE_2, made.dtype, calibrated(), mode)
    for item, call in zip(found, made.calls, strict=True):
        assert item is not None
        index, kernel, op, region, tile, colors, cycles, parts, times = item.groups()
        assert (int(index), kernel, op, int(region)) == (call.index, call.kernel, call.op, call.region)
        assert tile == "x".join(map(str, call.tile))
        assert colors == (",".join(str(route.color) for route in call.routes) or "-")
        assert int(cycles) == sum(cost(call, at).whole().values())
        assert sum(int(part.split()[0]) for part in parts.split(" + ")) == int(cycles)
        assert times is None


def test_runs_of_equal_calls_are_written_once_with_their_number() -> None:
    made = compiled(mlp("64-64"), batch=1)
    relu = replace(made.calls[-1], op="relu")
    calls = tuple(replace(relu, index=index) for index in range(3))
    text = listing(replace(made, calls=calls), WSE_2)
    assert text.count("ELEMENTWISE") == 1
    assert text.endswith("  x3\n")


def test_a_large_model_stays_readable_and_the_listing_is_the_same_every_time() -> None:
    made = compiled(decoder("LLaMA3-70B"), systems=16)
    text = listing(made, WSE_2)
    assert text == listing(made, WSE_2)
    lines = text.splitlines()
    assert len(lines) <= len(made.calls) + len(made.regions) + 4
    counted = sum(int(found[9] or 1) for line in lines if (found := CALL.fullmatch(line)))
    assert counted == len(made.calls)
    assert all(line == line.rstrip() and line.isascii() for line in lines)
