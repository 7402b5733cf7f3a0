"""A program as text a person can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pilots.wafer.costs.constants import calibrated
from pilots.wafer.costs.kernels import Setting, cost
from pilots.wafer.machine import Machine
from pilots.wafer.memory import region_bytes
from pilots.wafer.predict import predict
from pilots.wafer.program import SHAPES, Call, Program

LONGEST_LAYER: Final = 64  # calls; longer repetitions are written out


def listing(program: Program, machine: Machine, *, batch: int = 1) -> str:
    """Return the kernel listing: regions with their memory, then every call with tile, colors and cycles.

    Equal layers are written once, with the number of times they follow one another and the regions they lie on.
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
    return "\n".join([*lines, "", *_calls(program, machine)]) + "\n"


def _calls(program: Program, machine: Machine) -> Iterator[str]:
    setting = Setting(machine, program.dtype, calibrated(), program.mode)
    texts = [_line(call, setting) for call in program.calls]
    start = 0
    while start < len(texts):
        length, times = _repetition(texts, start)
        here = program.calls[start : start + length * times]
        if times > 1:
            regions = f"regions {here[0].region} to {here[-1].region}"
            yield f"{times} times the next {length} calls, {regions}:"
        yield from (
            f"{call.index:5d}  {text}"
            for call, text in zip(here, texts[start : start + length], strict=False)
        )
        if times > 1 and length > 1:
            yield ""
        start += length * times


def _repetition(texts: Sequence[str], start: int) -> tuple[int, int]:
    """Return the length of what repeats from here on and how often, (1, 1) if nothing does; the most lines saved win."""
    best = (1, 1)
    for length in range(1, min(LONGEST_LAYER, (len(texts) - start) // 2) + 1):
        times = 1
        first = texts[start : start + length]
        while texts[start + times * length : start + (times + 1) * length] == first:
            times += 1
        if (times - 1) * length > (best[1] - 1) * best[0]:
            best = (length, times)
    return best


def _line(call: Call, setting: Setting) -> str:
    names = " ".join(f"{name} {size}" for name, size in zip(SHAPES[call.kernel], call.shape, strict=True))
    tile = "x".join(str(size) for size in call.tile)
    cycles = cost(call, setting).whole()
    parts = " + ".join(f"{value} {name}" for name, value in cycles.items() if value)
    colors = ",".join(str(route.color) for route in call.routes) or "-"
    head = f"{call.kernel.value:<16} {call.op:<16} {names:<44}"
    return f"{head} tile {tile:<12} colors {colors:<8} {sum(cycles.values())} = {parts or '0'}"
