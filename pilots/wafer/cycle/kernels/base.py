"""What all wavelet programs of calls share: their type, tiles in and out, start-up times of the timing model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from pilots.wafer.costs.kernels import DIVISION_CYCLES, NEWTON_OPS, Setting
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.instructions import Instruction, delay, milli_of
from pilots.wafer.errors import ProgramError
from pilots.wafer.handlers.base import Array, Inputs
from pilots.wafer.program import WORD_BYTES, Call

RULE: Final = "TILES_COVER"


@dataclass(frozen=True, slots=True)
class Wavelets:
    """A call as a wavelet program: the image to run, and how the result is read from the memory it leaves."""

    image: Image
    collect: Callable[[Array], Array]


Build: TypeAlias = Callable[[Call, Inputs, Setting], Wavelets]


def lanes_of(at: Setting) -> int:
    """Return how many numbers of the element type one wavelet carries."""
    return WORD_BYTES // at.dtype.item_bytes


def wavelets_of(numbers: int, lanes: int) -> int:
    """Return the wavelets that some numbers take."""
    return -(-numbers // lanes)


def room(numbers: int, lanes: int) -> int:
    """Return numbers rounded up to whole wavelets."""
    return wavelets_of(numbers, lanes) * lanes


def start_up(at: Setting, realigned: int = 0) -> list[Instruction]:
    """Return the start of a kernel: the fitted `launch`, and `realign` for each number of an activation that has to move.

    A fabric does not produce these times by itself: they stand for the code that starts a kernel and moves activations.
    """
    moved = 0.0 if at.alone else realigned * at.constants.realign
    return delay(milli_of(at.launch + moved))


def vector_milli(numbers: int, ops: tuple[int, int], at: Setting) -> int:
    """Return the time of vector operations and divisions over local numbers, each operation with its setup."""
    vectors, divisions = ops
    setup, rate = at.machine.dsd_setup_cycles.value, at.fma_cycles
    if at.dtype.item_bytes == WORD_BYTES:
        return milli_of(vectors * (setup + numbers * rate) + divisions * DIVISION_CYCLES * numbers)
    return milli_of((vectors + divisions * NEWTON_OPS) * (setup + numbers * rate))


def tiles(matrix: Array, high: int, wide: int, rows: int, columns: int, *, fill: float = 0.0) -> Array:
    """Return [rows, columns, high * wide]: a matrix cut into tiles, filled up at its ends."""
    full = np.full((rows * high, columns * wide), fill, dtype=matrix.dtype)
    full[: matrix.shape[0], : matrix.shape[1]] = matrix
    return full.reshape(rows, high, columns, wide).transpose(0, 2, 1, 3).reshape(rows, columns, high * wide)


def joined(parts: Array, high: int, wide: int, rows: int, columns: int) -> Array:
    """Return the matrix [rows, columns] of tiles [down, along, high * wide]; the reverse of `tiles`."""
    down, along = parts.shape[:2]
    full = parts.reshape(down, along, high, wide).transpose(0, 2, 1, 3).reshape(down * high, along * wide)
    return np.ascontiguousarray(full[:rows, :columns])


def cuts(call: Call, size: int, tile: int, limit: int) -> int:
    """Return into how many tiles a size is cut; raises ProgramError if there are fewer elements."""
    count = max(1, -(-size // tile))
    if count > limit:
        raise ProgramError(
            RULE, call=call.index, expected=f"tiles for {size} numbers", got=f"{limit} of {tile}"
        )
    return count
