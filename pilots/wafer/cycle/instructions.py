"""Instructions of an element as rows of whole numbers, built by name."""

from __future__ import annotations

from typing import Final, TypeAlias

from pilots.wafer.cycle import layout

Instruction: TypeAlias = tuple[int, ...]
MILLI: Final = 1000


def _row(**columns: int) -> Instruction:
    row = [0] * layout.INSTRUCTION_COLUMNS
    row[layout.COLOR_IN] = row[layout.COLOR_OUT] = -1
    for name, value in columns.items():
        row[getattr(layout, name)] = value
    return tuple(row)


def send(color: int, address: int, wavelets: int, lanes: int = 1, *, copy_to: int = 0) -> list[Instruction]:
    """Send a local vector, one wavelet per cycle; copy_to: where a copy of it is kept, 0 for nowhere."""
    return fabric(wavelets, color_out=color, address=address, lanes=lanes, copy_to=copy_to)


def receive(
    color: int, address: int, wavelets: int, lanes: int = 1, *, combine: int = layout.COPY
) -> list[Instruction]:
    """Receive into local memory; combine: what is done with the number that lies there."""
    return fabric(wavelets, color_in=color, address=address, lanes=lanes, combine=combine)


def fabric(
    wavelets: int,
    *,
    color_in: int = -1,
    color_out: int = -1,
    address: int = 0,
    lanes: int = 1,
    combine: int = layout.COPY,
    milli: int = MILLI,
    factor: int = 0,
    copy_to: int = 0,
) -> list[Instruction]:
    """Run wavelets between ramp and memory; with both colors what was combined is stored and sent on in one go."""
    if not wavelets:
        return []
    row = _row(
        OPCODE=layout.FABRIC,
        MILLI=milli,
        COUNT=wavelets,
        COLOR_IN=color_in,
        COLOR_OUT=color_out,
        ADDRESS=address,
        LANES=lanes,
        COMBINE=combine,
        FACTOR=factor,
        ADDRESS_C=copy_to,
    )
    return [row]


def block(left: int, right: int, result: int, size: tuple[int, int, int], milli: int) -> list[Instruction]:
    """Add the product of two local blocks [m, k] and [k, n] to a third; milli: thousandths of a cycle it takes."""
    row = _row(
        OPCODE=layout.BLOCK,
        MILLI=milli,
        ADDRESS=left,
        ADDRESS_B=right,
        ADDRESS_C=result,
        SIZE_M=size[0],
        SIZE_K=size[1],
        SIZE_N=size[2],
    )
    return [row]


def local(function: int, milli: int) -> list[Instruction]:
    """Apply a registered function to the local memory."""
    return [_row(OPCODE=layout.LOCAL, TARGET=function, MILLI=milli)]


def delay(milli: int) -> list[Instruction]:
    """Wait; used for start-up times of the timing model that a fabric does not produce by itself."""
    return [_row(OPCODE=layout.DELAY, MILLI=milli)] if milli else []


def signal(semaphore: int) -> list[Instruction]:
    """Let one waiting thread of this element go on."""
    return [_row(OPCODE=layout.SIGNAL, TARGET=semaphore)]


def wait(semaphore: int) -> list[Instruction]:
    """Wait for one signal of another thread of this element."""
    return [_row(OPCODE=layout.WAIT, TARGET=semaphore)]


def repeat(times: int, body: list[Instruction]) -> list[Instruction]:
    """Run a body several times; loops do not nest. The target is the length of the body, made absolute when built."""
    if times <= 1 or not body:
        return body * times
    return [*body, _row(OPCODE=layout.LOOP, COUNT=times, TARGET=len(body))]


END: Final = _row(OPCODE=layout.END)


def milli_of(cycles: float) -> int:
    """Return cycles as whole thousandths."""
    return round(cycles * MILLI)
