"""Rows that change what lies in memory: updates added to rows of a table, a row per sequence written into a cache.

Every element gets all rows, unless it holds them already, and uses those whose index points to its own part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.instructions import Instruction, local
from pilots.wafer.cycle.kernels.base import (
    Wavelets,
    joined,
    lanes_of,
    room,
    start_up,
    vector_milli,
    wavelets_of,
)
from pilots.wafer.cycle.kernels.owners import Tiling, copy_milli, spread, tiling
from pilots.wafer.cycle.kernels.tables import COLORS, Rows, writing
from pilots.wafer.cycle.lines import Line
from pilots.wafer.handlers.attention import places
from pilots.wafer.handlers.base import Array, Inputs, indices, wide
from pilots.wafer.program import Call

Pairs = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Arrived:
    """Rows that every element holds, one after the other; steps: what each row of elements does to get them."""

    address: int
    stride: int
    steps: list[list[Instruction]]

    def row(self, index: int) -> int:
        """Return the address of a row."""
        return self.address + index * self.stride


def _arrive(image: Image, given: Tiling, values: Array, at: Setting) -> Arrived:
    """Load a matrix and let every element of a column have all rows of it."""
    lanes, columns, height = lanes_of(at), given.columns, image.height
    source = image.allot(room(given.numbers, lanes))
    image.load(source, spread(given, values, height, image.width))
    if given.down == 1:
        return Arrived(source, columns, [[] for _ in range(height)])
    owners, inside = np.divmod(np.arange(given.height), given.rows)
    line = Line(image, "y", height)
    rows = Rows(line, owners.tolist(), (source + inside * columns).tolist(), columns, lanes)
    address = image.allot(given.height * rows.stride)
    return Arrived(address, rows.stride, rows.to_all(address, at))


def scatter_add(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Return the program that adds updates to rows of a table, from first to last, where the rows lie."""
    table, updates = wide(inputs[0]), wide(inputs[2])
    ids = indices(inputs[1], len(table)).tolist()
    result = tiling(call, table.shape, call.tile)
    image = Image(at.machine, result.along, call.rect.height, colors=COLORS, lanes=lanes_of(at))
    start, columns = image.allot(result.numbers), result.columns
    image.load(start, spread(result, table, image.height, image.width))
    came = _arrive(image, tiling(call, updates.shape), updates, at)
    for place in range(image.height):
        first = place * result.rows if result.down > 1 else 0
        own = [(row, entry - first) for row, entry in enumerate(ids) if 0 <= entry - first < result.rows]
        pairs = [(start + entry * columns, came.row(row)) for row, entry in own]
        add = local(image.function(_adding(pairs, columns)), vector_milli(columns, (len(pairs), 0), at))
        image.program((place, slice(None)), start_up(at) + came.steps[place] + (add if pairs else []))

    def collect(memory: Array) -> Array:
        parts = memory[: result.down, :, start : start + result.numbers]
        return joined(parts, result.rows, columns, len(table), result.width)

    return Wavelets(image, collect)


def _adding(pairs: Pairs, numbers: int) -> Callable[[Array], None]:
    def apply(memory: Array) -> None:
        for target, source in pairs:
            held = memory[:, target : target + numbers]
            np.add(held, memory[:, source : source + numbers], out=held)

    return apply


def cache_append(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Return the program that writes a row per sequence into a cache; its positions are cut over the rows of elements."""
    cache, new = wide(inputs[0]), wide(inputs[1])
    batch, capacity, width = cache.shape
    position = places(inputs[2], batch, capacity).tolist()
    given = tiling(call, (batch, width), call.tile)
    columns, tall = given.columns, -(-capacity // call.rect.height)
    image = Image(at.machine, given.along, call.rect.height, colors=COLORS, lanes=lanes_of(at))
    full = np.zeros((batch, image.height * tall, image.width * columns), dtype=np.float32)
    full[:, :capacity, :width] = cache
    cut = full.reshape(batch, image.height, tall, image.width, columns).transpose(1, 3, 0, 2, 4)
    start, size = image.allot(batch * tall * columns), batch * tall * columns
    image.load(start, cut.reshape(image.height, image.width, size))
    came = _arrive(image, given, new.reshape(batch, width), at)
    for place in range(image.height):
        own = [row for row in range(batch) if position[row] // tall == place]
        pairs = [(start + (row * tall + position[row] % tall) * columns, came.row(row)) for row in own]
        milli = copy_milli(wavelets_of(len(own) * columns, lanes_of(at)), at)
        write = local(image.function(writing(pairs, columns)), milli) if own else []
        image.program((place, slice(None)), came.steps[place] + write)

    def collect(memory: Array) -> Array:
        whole = memory[..., start : start + size].reshape(cut.shape).transpose(2, 0, 3, 1, 4)
        return np.ascontiguousarray(whole.reshape(full.shape)[:, :capacity, :width])

    return Wavelets(image, collect)
