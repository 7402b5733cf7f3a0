"""Operations on the features of a row: rotary positions, the gate of experts, one-hot.

Angles and indices are laid down where they are needed, as all operands that are broadcast. Features that lie in another
element travel first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pilots.wafer.costs.kernels import ELEMENT_OPS, ONE_PASS, Setting, gate_ops
from pilots.wafer.cycle.image import EVERYWHERE, Image
from pilots.wafer.cycle.instructions import local
from pilots.wafer.cycle.kernels.base import Wavelets, joined, lanes_of, vector_milli
from pilots.wafer.cycle.kernels.exchange import Ids
from pilots.wafer.cycle.kernels.owners import Owners, Tiling, owners, spread, tiling
from pilots.wafer.handlers.base import Array, Inputs, indices, number, wide
from pilots.wafer.handlers.rows import HANDLERS, pairs, turns
from pilots.wafer.program import Call


def rope(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Return the program that turns pairs of features; the other one of a pair may lie in another element."""
    x = wide(inputs[0])
    own = tiling(call, x.shape, call.tile)
    numbers = 1 + np.arange(x.size).reshape(x.shape)
    partner, sine, cosine = _turned(call, inputs[1], numbers)

    def need(height: int, width: int) -> Ids:
        return np.concatenate([spread(own, item, height, width) for item in (numbers, partner)], axis=2)

    made = owners(call, [(own, x, numbers)], need, at, lanes=lanes_of(at))
    size, (height, width) = own.numbers, made.need.shape[:2]
    tables = (cosine, sine, (partner > 0).astype(np.float32))
    start = made.image.allot(size * len(tables))
    for index, table in enumerate(tables):
        made.image.load(start + index * size, spread(own, table, height, width))

    def turn(memory: Array) -> None:
        left, right = (memory[:, made.result + first : made.result + first + size] for first in (0, size))
        along, across, turns_too = (memory[:, start + i * size : start + (i + 1) * size] for i in range(3))
        turned = np.add(np.multiply(left, along), np.multiply(right, across))
        left[:] = np.where(turns_too != 0, turned, left)

    return _finished(made, own, turn, x.shape, vector_milli(own.numbers, ELEMENT_OPS[call.op], at))


def _turned(call: Call, positions: Array, numbers: Ids) -> tuple[Ids, Array, Array]:
    """Return, for each feature, the number of the other one of its pair (0 for none), sine with its sign, and cosine."""
    heads = numbers.reshape(len(numbers), number(call, "heads"), number(call, "head_dim"))
    partner, sine, cosine = np.zeros_like(heads), *(np.zeros(heads.shape, np.float32) for _ in range(2))
    first, second = pairs(call)
    sines, cosines = (table[:, None, :] for table in turns(call, positions))
    partner[..., first], partner[..., second] = heads[..., second], heads[..., first]
    sine[..., first], sine[..., second] = np.negative(sines), sines
    cosine[..., first] = cosine[..., second] = cosines
    return partner.reshape(numbers.shape), sine.reshape(numbers.shape), cosine.reshape(numbers.shape)


def top_k_gate(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Return the program of a gate: every element gets the whole rows it has a part of, and keeps its part."""
    x = wide(inputs[0])
    own = tiling(call, x.shape, call.tile)
    numbers = 1 + np.arange(x.size).reshape(x.shape)
    whole = Tiling(own.height, own.width, own.rows, own.width, own.down, 1)

    def need(height: int, width: int) -> Ids:
        return np.repeat(spread(whole, numbers, height, 1), width, axis=1)

    made = owners(call, [(own, x, numbers)], need, at, lanes=lanes_of(at))
    width, columns = own.width, own.columns

    def choose(memory: Array) -> None:
        rows = memory[:, made.result : made.result + whole.numbers].reshape(-1, width)
        gates = HANDLERS[call.op](call, (rows,))
        full = np.zeros((len(rows), made.image.width * columns), dtype=np.float32)
        full[:, :width] = gates
        element = memory[:, made.number].astype(np.int64) % made.image.width
        parts = full.reshape(len(memory), own.rows, made.image.width, columns)
        kept = parts[np.arange(len(memory)), :, element]
        memory[:, made.result : made.result + own.numbers] = kept.reshape(len(memory), -1)

    return _finished(made, own, choose, x.shape, vector_milli(whole.numbers, gate_ops(number(call, "k")), at))


def _finished(
    made: Owners, own: Tiling, function: Callable[[Array], None], shape: tuple[int, ...], milli: int
) -> Wavelets:
    """Let every element apply a function to what it got, in `milli`; the result lies where that lay."""
    step = local(made.image.function(function), milli)
    for element, steps in made.steps.items():
        made.image.program(element, steps + step)

    def collect(memory: Array) -> Array:
        parts = memory[: own.down, : own.along, made.result : made.result + own.numbers]
        return joined(parts, own.rows, own.columns, own.height, own.width).reshape(shape)

    return Wavelets(made.image, collect)


def one_hot(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Return the program of one-hot: every element compares the indices of its rows with its columns."""
    depth, ids = number(call, "depth"), inputs[0]
    own = tiling(call, (len(ids), depth), call.tile)
    image = Image(at.machine, own.along, own.down, colors=1)
    column = np.broadcast_to(np.arange(1, depth + 1, dtype=np.float32), (own.height, depth))
    aim = np.broadcast_to(indices(ids, depth).astype(np.float32)[:, None] + 1, column.shape)
    start, wanted = (image.allot(own.numbers, own.tiles(item)) for item in (column, aim))

    def compare(memory: Array) -> None:
        here = memory[:, start : start + own.numbers]
        here[:] = here == memory[:, wanted : wanted + own.numbers]

    milli = vector_milli(own.numbers, ONE_PASS, at)
    image.program(EVERYWHERE, local(image.function(compare), milli))

    def collect(memory: Array) -> Array:
        return joined(memory[..., start : start + own.numbers], own.rows, own.columns, own.height, depth)

    return Wavelets(image, collect)
