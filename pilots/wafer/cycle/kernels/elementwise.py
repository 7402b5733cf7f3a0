"""Operations on each number by itself: no wavelet moves, every element applies the code of the functional handler."""

from __future__ import annotations

from typing import Final

import numpy as np

from pilots.wafer.costs.kernels import ELEMENT_OPS, ONE_PASS, Setting
from pilots.wafer.cycle.image import EVERYWHERE, Image
from pilots.wafer.cycle.instructions import local
from pilots.wafer.cycle.kernels.base import Wavelets, cuts, joined, tiles, vector_milli
from pilots.wafer.handlers import elementwise as handlers
from pilots.wafer.handlers.base import Array, Inputs, wide
from pilots.wafer.program import Call

BINARY: Final = ("add", "sub", "mul", "div", "maximum", "minimum")
OPS: Final = (*handlers.UNARY, *handlers.WHOLE_TOO, *BINARY, "scale")


def elementwise(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Return the program; operands are broadcast to the shape of the result before they are cut."""
    operands = np.broadcast_arrays(*(wide(item) for item in inputs))
    shape = operands[0].shape
    height, width = (operands[0].size // shape[-1], shape[-1]) if shape else (1, 1)
    rows, columns = call.tile[0], min(call.tile[1], width)
    down = cuts(call, height, rows, call.rect.height)
    along = cuts(call, width, columns, call.rect.width)
    image, size = Image(at.machine, along, down, colors=1), rows * columns
    places = [
        image.allot(size, tiles(item.reshape(height, width), rows, columns, down, along)) for item in operands
    ]

    def apply(memory: Array) -> None:
        parts = tuple(memory[:, place : place + size] for place in places)
        memory[:, places[0] : places[0] + size] = handlers.HANDLERS[call.op](call, parts)

    milli = vector_milli(size, ELEMENT_OPS.get(call.op, ONE_PASS), at)
    image.program(EVERYWHERE, local(image.function(apply), milli))

    def collect(memory: Array) -> Array:
        return joined(memory[..., places[0] : places[0] + size], rows, columns, height, width).reshape(shape)

    return Wavelets(image, collect)
