"""Rows of which one entry counts: where the largest stands, and the loss at a target."""

from __future__ import annotations

from typing import Final

import numpy as np

from pilots.wafer import numerics
from pilots.wafer.costs.kernels import ELEMENT_OPS, ONE_PASS, Setting
from pilots.wafer.cycle import layout
from pilots.wafer.cycle.kernels.base import Wavelets, tiles
from pilots.wafer.cycle.kernels.rows import LOWEST, Rows
from pilots.wafer.handlers.base import Array, Inputs, indices
from pilots.wafer.program import Call

NOWHERE: Final = np.float32(np.inf)


def argmax(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Largest of each row, then the lowest place where it stands: two reductions. Places are whole fp32 numbers."""
    rows = Rows(call, inputs[0], at, LOWEST)
    first = _first_columns(rows)

    def largest(memory: Array) -> None:
        rows.result(memory)[:] = np.maximum.reduce(rows.tile(memory), axis=2, keepdims=True)

    def lowest(memory: Array) -> None:
        x, found = rows.tile(memory), rows.result(memory)
        place = memory[:, first].reshape(-1, 1, 1) + np.arange(rows.columns, dtype=np.float32)
        there = (x == found) | (np.isnan(x) & np.isnan(found))
        found[:] = np.where(there, place, NOWHERE).min(axis=2, keepdims=True)

    rows.work(largest, ONE_PASS)
    rows.meet(layout.MAX)
    rows.work(lowest, ONE_PASS)
    rows.meet(layout.MIN)
    return rows.build(lambda memory: rows.per_row(memory).astype(np.int32))


def cross_entropy(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Largest of each row, sum of powers, then the share of the target, which its owner sends along: three reductions."""
    rows = Rows(call, inputs[0], at, LOWEST)
    first = _first_columns(rows)
    targets = indices(inputs[1], rows.width).astype(np.float32)
    aims = rows.image.allot(rows.rows, tiles(targets[:, None], rows.rows, 1, rows.image.height, 1))

    def largest(memory: Array) -> None:
        rows.result(memory)[:] = np.maximum.reduce(rows.tile(memory), axis=2, keepdims=True)

    def powers(memory: Array) -> None:
        x = rows.tile(memory)
        x[:] = np.subtract(x, np.add(rows.result(memory), np.float32(0)))
        rows.add_up(memory, numerics.exp(x))

    def share(memory: Array) -> None:
        place = memory[:, first].reshape(-1, 1, 1) + np.arange(rows.columns, dtype=np.float32)
        aimed = place == memory[:, aims : aims + rows.rows, None]
        shares = np.subtract(rows.tile(memory), numerics.log(rows.result(memory)))
        own = np.where(aimed, shares, np.float32(LOWEST))
        # Not the largest of a row: where the target is elsewhere, nothing but the lowest number is there.
        rows.result(memory)[:] = np.take_along_axis(own, np.argmax(aimed, axis=2, keepdims=True), axis=2)

    def negated(memory: Array) -> None:
        found = rows.result(memory)
        np.negative(found, out=found)

    vectors, divisions = ELEMENT_OPS["log_softmax"]
    rows.work(largest, ONE_PASS)
    rows.meet(layout.MAX)
    rows.work(powers, (vectors - 1, 0))
    rows.meet(layout.ADD)
    rows.work(share, (0, divisions))
    rows.meet(layout.MAX)
    rows.work(negated, (0, 0))
    return rows.build(rows.per_row)


def _first_columns(rows: Rows) -> int:
    """Give every element the number of its first column; return the address."""
    first = rows.columns * np.arange(rows.image.width, dtype=np.float32)
    return rows.image.allot(1, first[None, :, None])
