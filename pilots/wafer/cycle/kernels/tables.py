"""Rows of a table by index: what an index says decides who sends.

Routes do not depend on an index. Along each column (of a table of single numbers: along the row) rows go from their
owner to the first element, one after the other, and from there to all; every element takes what is its own. Elements
know all indices, so they know which rows come from behind and which they send themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle import lines
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.instructions import Instruction, fabric, local, receive, send
from pilots.wafer.cycle.kernels.base import Wavelets, joined, room, start_up, tiles, wavelets_of
from pilots.wafer.cycle.kernels.owners import Tiling, as_matrix, copied, copy_milli, numbered, tiling
from pilots.wafer.cycle.kernels.words import lanes_for, numbers_of, words_of
from pilots.wafer.cycle.lines import Line
from pilots.wafer.handlers.base import Array, Inputs
from pilots.wafer.handlers.moves import GATHER
from pilots.wafer.program import Call

BACK: Final = 2  # color of the broadcast; the way to the first element takes 0 and 1
COLORS: Final = 3


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that travel along a line: owner (place on the line) and address of each, how many numbers, lanes."""

    line: Line
    owners: Sequence[int]
    addresses: Sequence[int]
    numbers: int
    lanes: int

    @property
    def stride(self) -> int:
        """Numbers between two rows where they are collected."""
        return room(self.numbers, self.lanes)

    def to_all(self, address: int, at: Setting) -> list[list[Instruction]]:
        """Set the routes and return what each place does, so that all elements hold all rows, one after the other."""
        wavelets, line = wavelets_of(self.numbers, self.lanes), self.line
        for place in range(1, line.length):
            lines.path(line, place, place - 1, place % 2)
        back = lines.spread(line, 0, address, len(self.owners) * wavelets, BACK, lanes=self.lanes)
        there: list[list[Instruction]] = [self._kept(address, at)] + [[] for _ in range(line.length - 1)]
        for row, owner in enumerate(self.owners):
            target = address + row * self.stride
            if owner > 0:
                there[owner] += send(owner % 2, self.addresses[row], wavelets, self.lanes)
                there[0] += receive(1, target, wavelets, self.lanes)
            for place in range(1, owner):
                there[place] += fabric(
                    wavelets, color_in=(place + 1) % 2, color_out=place % 2, address=target, lanes=self.lanes
                )
        return [own + other for own, other in zip(there, back, strict=True)]

    def _kept(self, address: int, at: Setting) -> list[Instruction]:
        """Return how the first element puts its own rows between those that come."""
        own = [row for row, owner in enumerate(self.owners) if owner == 0]
        if not own:
            return []

        pairs = [(address + row * self.stride, self.addresses[row]) for row in own]
        milli = copy_milli(len(own) * wavelets_of(self.numbers, self.lanes), at)
        return local(self.line.image.function(writing(pairs, self.numbers)), milli)


def gather(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Return the program for entries of the first axis of a table; the table is cut over all rows of elements.

    A table of single numbers is cut along the rows instead, and every row of elements does the same.
    """
    table, ids = inputs
    single = table.ndim == 1
    high, width = (len(table), 1) if single else as_matrix(table.shape)
    numbers = np.arange(high).reshape(table.shape if single else table.shape[:-1])
    entries = GATHER["gather"](call, (numbers, ids))
    result = tiling(call, entries.shape if single else (*entries.shape, width), call.tile)
    length = call.rect.width if single else call.rect.height
    tall, columns, across = (
        (-(-high // length), 1, 1) if single else (-(-high // length), result.columns, result.along)
    )
    lanes = lanes_for(table, at)
    size = (length, result.down) if single else (across, length)
    image = Image(at.machine, *size, colors=COLORS, lanes=lanes)
    held = tiles(words_of(table).reshape(high, width), tall, columns, length, across)
    start = image.allot(room(tall * columns, lanes), held.swapaxes(0, 1) if single else held)
    line, chosen = Line(image, "x" if single else "y", length), entries.reshape(-1)
    addresses = start + chosen % tall * columns
    rows = Rows(line, (chosen // tall).tolist(), addresses.tolist(), columns, lanes)
    address = image.allot(len(chosen) * rows.stride)
    target, taking = _taken(rows, result, address, at)
    for place, steps in enumerate(rows.to_all(address, at)):
        image.program(line.at(place), start_up(at) + steps + taking)

    def collect(memory: Array) -> Array:
        parts = memory[: result.down, : result.along, target : target + result.numbers]
        words = joined(parts, result.rows, result.columns, result.height, result.width)
        return numbers_of(words.reshape(ids.shape + table.shape[1:]), table.dtype)

    return Wavelets(image, collect)


def _taken(rows: Rows, result: Tiling, address: int, at: Setting) -> tuple[int, list[Instruction]]:
    """Return where an element puts its own part of all rows, and how; where it keeps them all, they already lie there."""
    image, along_rows = rows.line.image, rows.line.axis == "x"
    numbers = result.tiles(np.arange(1, result.height * result.width + 1))
    entry, column = np.divmod(numbers - 1, 1 if along_rows else result.width)
    places = np.where(numbers > 0, address + entry * rows.stride + column % result.columns, 0)
    full = np.zeros((image.height, image.width, result.numbers), dtype=np.int64)
    split = along_rows or result.down > 1
    full[: result.down if split else image.height, : result.along] = places
    target = image.allot(result.numbers)
    copy = copied(image, numbered(image), full.reshape(-1, result.numbers), target)
    return target, local(copy, copy_milli(wavelets_of(result.numbers, rows.lanes), at) if split else 0)


def writing(pairs: list[tuple[int, int]], numbers: int) -> Callable[[Array], None]:
    """Return a local function that copies numbers, pair by pair of target and source."""

    def apply(memory: Array) -> None:
        for target, source in pairs:
            memory[:, target : target + numbers] = memory[:, source : source + numbers]

    return apply
