"""What both attention kernels share: heads on columns of elements, areas of a memory, softmax of masked scores."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from pilots.wafer.costs.kernels import ELEMENT_OPS
from pilots.wafer.cycle import layout, lines
from pilots.wafer.cycle.image import Image, Where
from pilots.wafer.cycle.instructions import Instruction, receive, send
from pilots.wafer.cycle.lines import Line, Programs
from pilots.wafer.handlers.base import Array, number, wide
from pilots.wafer.numerics import Float, exp
from pilots.wafer.numerics_sums import chained_sum, largest
from pilots.wafer.program import Call
from pilots.wafer.tiling import heads_on, summed_features

VECTORS, DIVISIONS = ELEMENT_OPS["softmax"]
# Scale and largest; powers and their sum; shares.
FIND_OPS, POWER_OPS, SHARE_OPS = (2, 0), (VECTORS - 1, 0), (0, DIVISIONS)


@dataclass(frozen=True, slots=True)
class Area:
    """Numbers of a shape at an address of every element."""

    address: int
    shape: tuple[int, ...]

    @property
    def numbers(self) -> int:
        """How many numbers it holds."""
        return prod(self.shape)

    def of(self, memory: Array) -> Array:
        """Return it as a view [elements, *shape] of memories [elements, words]."""
        part = memory[:, self.address : self.address + self.numbers]
        return part.reshape(len(memory), *self.shape)


def area(image: Image, *shape: int, values: Array | None = None, numbers: int = 0) -> Area:
    """Allot an area, filled with values [height, width, *shape]; numbers: room it takes at least."""
    address = image.allot(max(prod(shape), numbers))
    if values is not None:
        image.load(address, values.reshape(*values.shape[:2], -1))
    return Area(address, shape)


@dataclass(frozen=True, slots=True)
class Heads:
    """Heads over columns of elements: a column holds `held` whole heads, or `span` columns share one head.

    size: features of a head; tile: those that are summed at a time; features: of one head in one column.
    """

    heads: int
    kv_heads: int
    size: int
    tile: int
    held: int
    span: int

    @classmethod
    def of(cls, call: Call, columns: int) -> Heads:
        """Return the heads of a call on at most so many columns."""
        heads, kv_heads, size = (number(call, name) for name in ("heads", "kv_heads", "head_dim"))
        held, span, _ = heads_on(heads, size, columns)
        return cls(heads, kv_heads, size, summed_features(heads, size, columns, call.tile[2]), held, span)

    @property
    def groups(self) -> int:
        """Columns, or spans of them, with heads of their own."""
        return -(-self.heads // self.held)

    @property
    def columns(self) -> int:
        """Columns with features."""
        return self.groups * self.span

    @property
    def features(self) -> int:
        """Features of one head in one column."""
        return self.tile if self.span > 1 else self.size

    def cut(self, x: Array) -> Array:
        """Return [columns, ..., held, features] of [..., features of all heads]; key heads are repeated for their group."""
        apart = wide(x).reshape(*x.shape[:-1], -1, self.size)
        apart = np.repeat(apart, self.heads // apart.shape[-2], axis=-2)
        full = np.zeros((*x.shape[:-1], self.groups * self.held, self.span * self.features), dtype=np.float32)
        full[..., : self.heads, : self.size] = apart
        cut = full.reshape(*x.shape[:-1], self.groups, self.held, self.span, self.features)
        front = np.moveaxis(cut, (-4, -2), (0, 1))
        return front.reshape(self.columns, *x.shape[:-1], self.held, self.features)

    def join(self, parts: Array) -> Array:
        """Return [..., features of all heads] of [columns, ..., held, features]; the reverse of `cut` for queries."""
        rows = parts.shape[1:-2]
        apart = parts.reshape(self.groups, self.span, *rows, self.held, self.features)
        full = np.moveaxis(apart, (0, 1), (-4, -2)).reshape(
            *rows, self.groups * self.held, self.span * self.features
        )
        return np.ascontiguousarray(full[..., : self.heads, : self.size]).reshape(*rows, -1)


def scaled(scores: Float, seen: Array, size: int) -> Float:
    """Return scores divided by the root of the head size, minus infinity where nothing may be seen."""
    scale = np.float32(np.divide(np.float32(1), np.sqrt(np.float32(size))))
    return np.where(seen, np.multiply(scores, scale), np.float32(-np.inf))


def top_of(scores: Float) -> Float:
    """Return the largest of the last axis."""
    return largest(scores)[..., 0]


def powers_of(scores: Float, top: Float, seen: Array) -> Float:
    """Return e**(score - largest), zero where nothing may be seen."""
    moved = np.subtract(scores, np.add(top, np.float32(0))[..., None])
    return np.where(seen, exp(moved), np.float32(0))


def sums_of(powers: Float, tile: int) -> Float:
    """Return the sum of each tile of the last axis, [..., tiles]; the axis is whole tiles long."""
    apart = powers.reshape(*powers.shape[:-1], -1, tile)
    return chained_sum(apart, tile)


def hand_on(line: Line, address: int, words: int, fold: list[Instruction], first: int) -> Programs:
    """Set the routes of a chain on two colors whose places add what comes in, do `fold`, and send on."""
    programs: Programs = []
    for place in range(line.length):
        own = receive(first + (place + 1) % 2, address, words, combine=layout.ADD) if place else []
        own = own + fold
        if place + 1 < line.length:
            lines.path(line, place, place + 1, first + place % 2)
            own += send(first + place % 2, address, words)
        programs.append(own)
    return programs


@dataclass(frozen=True, slots=True)
class Section(Line):
    """Some neighbours of a line; places count from `start`."""

    start: int = 0

    def at(self, place: Where) -> Where:
        """Return the index of one place, or of a slice of places."""
        if isinstance(place, slice):
            moved: Where = slice(self.start + (place.start or 0), self.start + place.stop)
        else:
            moved = self.start + place
        return Line.at(self, moved)
