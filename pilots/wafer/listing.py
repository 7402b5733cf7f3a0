"""A program as text a person can read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from pilots.wafer.costs.constants import calibrated
from pilots.wafer.costs.kernels import Setting, cost
from pilots.wafer.machine import Machine
from pilots.wafer.memory import region_bytes
from pilots.wafer.predict import predict
from pilots.wafer.program import SHAPES, Call, Program


def listing(program: Program, machine: Machine, *, batch: int = 1) -> str:
    """Return the kernel listing: regions with their memory, then every call with tile, colors and cycles.

    Runs of equal calls in a row of layers are written once, with the number of times they occur.
    """
    prediction = predict(program, machine, batch=batch)
    sums = " + ".join(f"{value} {name}" for name, value in prediction.pass_cycles.items())
    lines = [
        f"program {program.digest()[:16]}  machine {machine.id}  dtype {program.dtype.value}  mode {program.mode.value}",
        f"micro-batch {program.micro_batch}, one pass {sum(prediction.pass_cycles.values())} cycles = {sums}",
        "",
    ]
    limit = machine.sram_bytes_per_pe.value
    for index, (region, used) in enumerate(zip(program.regions, region_bytes(program, machine), strict=True)):
        rect = region.rect
        place = f"x {rect.x}, y {rect.y}, {rect.width} x {rect.height} = {rect.pes} PEs"
        lines.append(f"region {index}  system {region.system}  {place}, sram {used} of {limit} B per PE")
    lines.append("")
    return "\n".join([*lines, *_calls(program, machine)]) + "\n"


def _calls(program: Program, machine: Machine) -> Iterator[str]:
    setting = Setting(machine, program.dtype, calibrated(), program.mode)
    for text, group in groupby(program.calls, key=lambda call: _line(call, setting)):
        calls = list(group)
        times = f"  x{len(calls)}" if len(calls) > 1 else ""
        yield f"{calls[0].index:5d}  {text}{times}"


def _line(call: Call, setting: Setting) -> str:
    names = " ".join(f"{name} {size}" for name, size in zip(SHAPES[call.kernel], call.shape, strict=True))
    tile = "x".join(str(size) for size in call.tile)
    cycles = cost(call, setting).whole()
    parts = " + ".join(f"{value} {name}" for name, value in cycles.items() if value)
    colors = ",".join(str(route.color) for route in call.routes) or "-"
    head = f"{call.kernel.value:<16} {call.op:<16} region {call.region}  {names:<44}"
    return f"{head} tile {tile:<12} colors {colors:<8} {sum(cycles.values())} = {parts or '0'}"
