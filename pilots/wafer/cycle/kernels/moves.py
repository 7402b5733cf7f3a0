"""Operations that only move data: numbers that change their owner travel, the others are copied within their element.

Which number goes where is what the functional handler makes of the numbers' numbers.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle.kernels.base import Wavelets, joined, start_up
from pilots.wafer.cycle.kernels.exchange import Ids
from pilots.wafer.cycle.kernels.owners import copy_milli, owners, spread, tiling
from pilots.wafer.cycle.kernels.words import lanes_for, numbers_of
from pilots.wafer.handlers.base import Array, Inputs
from pilots.wafer.handlers.moves import MOVE, TRANSPOSE
from pilots.wafer.program import Call, Kernel

HANDLERS: Final = MOVE | TRANSPOSE


def move(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Return the program of an operation of MOVE or TRANSPOSE; a transpose starts as a kernel, a move is part of one."""
    numbers, first = [], 1
    for item in inputs:
        numbers.append(np.arange(first, first + item.size, dtype=np.int64).reshape(item.shape))
        first += item.size
    wanted = HANDLERS[call.op](call, tuple(numbers))
    result, lanes = tiling(call, wanted.shape, call.tile), lanes_for(inputs[0], at)

    def need(height: int, width: int) -> Ids:
        return spread(result, wanted, height, width)

    gathered = copy_milli(-(-result.numbers // lanes), at)
    sources = [(tiling(call, item.shape), item, own) for item, own in zip(inputs, numbers, strict=True)]
    made = owners(call, sources, need, at, lanes=lanes, more=(result,), gathered=gathered)
    start = start_up(at) if call.kernel is Kernel.TRANSPOSE else []
    for element, steps in made.steps.items():
        made.image.program(element, start + steps)

    def collect(memory: Array) -> Array:
        parts = memory[: result.down, : result.along, made.result : made.result + result.numbers]
        words = joined(parts, result.rows, result.columns, result.height, result.width)
        return numbers_of(words.reshape(wanted.shape), inputs[0].dtype)

    return Wavelets(made.image, collect)
