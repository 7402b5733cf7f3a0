"""Operations along rows: every element reduces its part, sums meet along the row in a two-level tree, and go back.

What an element does by itself is the code of `numerics`, the same that the functional interpreter runs. If all rows of
the region hold the same numbers, one of them is emulated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from pilots.wafer import numerics
from pilots.wafer.costs.kernels import DIVISION_CYCLES, ELEMENT_OPS, ONE_PASS, Setting
from pilots.wafer.cycle import layout, lines
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.instructions import Instruction, local, milli_of
from pilots.wafer.cycle.kernels.base import Wavelets, cuts, joined, start_up, tiles, vector_milli
from pilots.wafer.handlers.base import Array, Inputs, decimal, wide
from pilots.wafer.program import Call

LOWEST: Final = float("-inf")
Ops = tuple[int, int]


class Rows:
    """Elements that hold tiles of a matrix, a result for each of their rows, and how many of their columns are live."""

    def __init__(self, call: Call, x: Array, at: Setting, fill: float = 0.0) -> None:
        """fill: what lies behind the last column."""
        matrix = wide(x).reshape(-1, x.shape[-1])
        self.call, self.at, self.shape = call, at, x.shape
        self.rows, self.columns = call.tile[0], min(call.tile[1], matrix.shape[1])
        self.height, self.width = matrix.shape
        down = cuts(call, self.height, self.rows, call.rect.height)
        along = cuts(call, self.width, self.columns, call.rect.width)
        self._messages = lines.two_sided(along)
        self._colors = lines.colors_of(self._messages)
        self.image = Image(at.machine, along, down, colors=self._colors + 1)
        self.x = self.image.allot(
            self.rows * self.columns, tiles(matrix, self.rows, self.columns, down, along, fill=fill)
        )
        self.sums = self.image.allot(self.rows)
        live = np.minimum(self.columns, self.width - self.columns * np.arange(along))
        self.live = self.image.allot(1, live.astype(np.float32)[None, :, None])
        self._steps: list[list[list[Instruction]]] = []

    def vector(self, values: Array) -> int:
        """Give every element its part of a vector along the columns; return the address."""
        cut = tiles(values.reshape(1, -1), 1, self.columns, 1, self.image.width)
        return self.image.allot(self.columns, cut)

    def tile(self, memory: Array) -> Array:
        """Return the tiles [elements, rows, columns] as a view."""
        return memory[:, self.x : self.x + self.rows * self.columns].reshape(-1, self.rows, self.columns)

    def result(self, memory: Array) -> Array:
        """Return the results of the rows [elements, rows, 1] as a view."""
        return memory[:, self.sums : self.sums + self.rows].reshape(-1, self.rows, 1)

    def add_up(self, memory: Array, values: Array) -> None:
        """Sum the live columns of each row from zero, first to last, into the results."""
        total = np.zeros((*values.shape[:2], 1), dtype=np.float32)
        live = memory[:, self.live].reshape(-1, 1, 1)
        for place in range(self.columns):
            np.add(total, np.where(place < live, values[..., place : place + 1], np.float32(0)), out=total)
        self.result(memory)[:] = total

    def work(self, function: Callable[[Array], None], ops: Ops, extra_cycles: int = 0) -> None:
        """Let every element apply a function to its memory."""
        milli = vector_milli(self.rows * self.columns, ops, self.at) + milli_of(extra_cycles)
        step = local(self.image.function(function), milli)
        self._steps.append([step] * self.image.width)

    def meet(self, combine: int) -> None:
        """Combine the results along each row and bring them back to all of its elements."""
        line = lines.Line(self.image, "x", self.image.width)
        stores = lines.storing(line.length)
        there = lines.reduce(line, self._messages, self.sums, self.rows, combine=combine, stores=stores)
        back = lines.spread(line, lines.root_of(self._messages), self.sums, self.rows, self._colors)
        self._steps.append([own + other for own, other in zip(there, back, strict=True)])

    def build(self, collect: Callable[[Array], Array]) -> Wavelets:
        """Write the programs: every element does the steps in order."""
        for place in range(self.image.width):
            steps = [row for step in self._steps for row in step[place]]
            self.image.program(np.s_[:, place], start_up(self.at) + steps)
        return Wavelets(self.image, collect)

    def matrix(self, memory: Array) -> Array:
        """Return the tiles as a tensor of the input's shape."""
        parts = memory[..., self.x : self.x + self.rows * self.columns]
        return joined(parts, self.rows, self.columns, self.height, self.width).reshape(self.shape)

    def per_row(self, memory: Array) -> Array:
        """Return the results of the rows as a tensor whose last axis has length one."""
        parts = memory[:, -1:, self.sums : self.sums + self.rows]
        return joined(parts, self.rows, 1, self.height, 1).reshape(*self.shape[:-1], 1)


def reduce(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Sum, mean, largest or smallest of each row."""
    return EXTREMES[call.op](call, inputs, at) if call.op in EXTREMES else _sum(call, inputs, at)


def _sum(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    rows = Rows(call, inputs[0], at)
    rows.work(lambda memory: rows.add_up(memory, rows.tile(memory)), ONE_PASS)
    rows.meet(layout.ADD)
    if call.op == "reduce_mean":
        rows.work(lambda memory: _divide(rows.result(memory), rows.width), (0, 0))
    return rows.build(rows.per_row)


def _divide(values: Array, width: int) -> None:
    np.divide(values, np.float32(width), out=values)


def _extreme(
    pick: Callable[..., Array], fill: float, combine: int
) -> Callable[[Call, Inputs, Setting], Wavelets]:
    def build(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
        rows = Rows(call, inputs[0], at, fill)
        _find(rows, pick, combine, ONE_PASS)
        rows.work(lambda memory: _plus_zero(rows.result(memory)), (0, 0))
        return rows.build(rows.per_row)

    return build


def _find(rows: Rows, pick: Callable[..., Array], combine: int, ops: Ops) -> None:
    def own(memory: Array) -> None:
        rows.result(memory)[:] = pick(rows.tile(memory), axis=2, keepdims=True)

    rows.work(own, ops)
    rows.meet(combine)


def _plus_zero(values: Array) -> None:
    np.add(values, np.float32(0), out=values)


EXTREMES: Final = {
    "reduce_max": _extreme(np.maximum.reduce, LOWEST, layout.MAX),
    "reduce_min": _extreme(np.minimum.reduce, -LOWEST, layout.MIN),
}


def softmax(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Largest of each row, powers, their sum, shares (or their logarithm): two reductions."""
    rows = Rows(call, inputs[0], at, LOWEST)
    logarithm = call.op == "log_softmax"
    _find(rows, np.maximum.reduce, layout.MAX, ONE_PASS)

    def powers(memory: Array) -> None:
        x, largest = rows.tile(memory), np.add(rows.result(memory), np.float32(0))
        moved = np.subtract(x, largest)
        raised = numerics.exp(moved)
        x[:] = moved if logarithm else raised
        rows.add_up(memory, raised)

    def shares(memory: Array) -> None:
        x, total = rows.tile(memory), rows.result(memory)
        x[:] = np.subtract(x, numerics.log(total)) if logarithm else np.divide(x, total)

    vectors, divisions = ELEMENT_OPS[call.op]
    rows.work(powers, (vectors - 1, 0))
    rows.meet(layout.ADD)
    rows.work(shares, (0, divisions))
    return rows.build(rows.matrix)


def norm(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Layer norm with two reductions, or root mean square norm with one; two divisions per row and element."""
    rows = Rows(call, inputs[0], at)
    scale = rows.vector(wide(inputs[1]))
    shift = rows.vector(wide(inputs[2])) if call.op == "layer_norm" else 0
    epsilon = decimal(call, "epsilon")
    vectors, _ = ELEMENT_OPS[call.op]
    if shift:
        rows.work(lambda memory: rows.add_up(memory, rows.tile(memory)), ONE_PASS)
        rows.meet(layout.ADD)

    def squares(memory: Array) -> None:
        x = rows.tile(memory)
        if shift:
            mean = np.divide(rows.result(memory), np.float32(rows.width))
            x[:] = np.subtract(x, mean)
        rows.add_up(memory, numerics.square(x))

    def scaled(memory: Array) -> None:
        x, mean = rows.tile(memory), np.divide(rows.result(memory), np.float32(rows.width))
        root = numerics.rsqrt(np.add(mean, epsilon))
        weight = memory[:, None, scale : scale + rows.columns]
        value = np.multiply(np.multiply(x, root), weight)
        x[:] = np.add(value, memory[:, None, shift : shift + rows.columns]) if shift else value

    rows.work(squares, (2 if shift else 1, 0))
    rows.meet(layout.ADD)
    rows.work(scaled, (vectors - (3 if shift else 1), 0), call.tile[0] * 2 * DIVISION_CYCLES)
    return rows.build(rows.matrix)
