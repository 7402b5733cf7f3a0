"""Operations on each number by itself: no wavelet moves, every element applies the code of the functional handler.

What every number depends on alike (the step of an optimiser) lies in every element, as do operands that are broadcast.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pilots.wafer.costs.kernels import ELEMENT_OPS, ONE_PASS, OPTIMISER_OPS, OPTIMISER_PASSES, Setting
from pilots.wafer.cycle.image import EVERYWHERE, Image
from pilots.wafer.cycle.instructions import local
from pilots.wafer.cycle.kernels.base import Wavelets, cuts, joined, tiles, vector_milli
from pilots.wafer.cycle.kernels.words import numbers_of, words_of
from pilots.wafer.handlers import elementwise as handlers
from pilots.wafer.handlers import optimiser
from pilots.wafer.handlers.base import Array, Handler, Inputs
from pilots.wafer.program import Call

OPS: Final = tuple(handlers.HANDLERS)
STEPS: Final = tuple(optimiser.HANDLERS)
PARAMETERS: Final = 3  # operands of an optimiser that have a number per parameter


def elementwise(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Return the program of an operation on numbers, floats or whole."""
    return _each(call, inputs, at, handlers.HANDLERS[call.op], ELEMENT_OPS.get(call.op, ONE_PASS))


def optimise(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Return the program of one step of an optimiser; the number of the step is known to every element."""
    operands = (*inputs[:PARAMETERS], *(np.asarray(item.reshape(-1)[0]) for item in inputs[PARAMETERS:]))
    ops = OPTIMISER_OPS.get(call.op, OPTIMISER_PASSES)
    return _each(call, operands, at, optimiser.HANDLERS[call.op], ops)


def _each(call: Call, inputs: Inputs, at: Setting, handle: Handler, ops: tuple[int, int]) -> Wavelets:
    """Return the program; operands are broadcast to the shape of the result before they are cut."""
    operands = np.broadcast_arrays(*inputs)
    kinds = [item.dtype for item in operands]
    shape = operands[0].shape
    height, width = (operands[0].size // max(1, shape[-1]), shape[-1]) if shape else (1, 1)
    rows, columns = call.tile[0], min(call.tile[1], width)
    down = cuts(call, height, rows, call.rect.height)
    along = cuts(call, width, columns, call.rect.width)
    image, size = Image(at.machine, along, down, colors=1), rows * columns
    places = [
        image.allot(size, tiles(words_of(item).reshape(height, width), rows, columns, down, along))
        for item in operands
    ]

    def result(memory: Array) -> Array:
        parts = zip(places, kinds, strict=True)
        held = (numbers_of(memory[:, place : place + size], kind) for place, kind in parts)
        return handle(call, tuple(held))

    def apply(memory: Array) -> None:
        memory[:, places[0] : places[0] + size] = words_of(result(memory))

    image.program(EVERYWHERE, local(image.function(apply), vector_milli(size, ops, at)))
    with np.errstate(all="ignore"):
        kind = result(np.zeros((1, image.words), dtype=np.float32)).dtype

    def collect(memory: Array) -> Array:
        words = joined(memory[..., places[0] : places[0] + size], rows, columns, height, width)
        return numbers_of(words.reshape(shape), kind)

    return Wavelets(image, collect)
