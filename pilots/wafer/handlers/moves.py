"""Operations that only move data, and those that read or write rows of a table by index."""

from __future__ import annotations

from typing import Final

import numpy as np

from pilots.wafer.handlers.base import Array, Handler, Inputs, indices, number, numbers, wide
from pilots.wafer.program import Call


def _reshape(call: Call, inputs: Inputs) -> Array:
    return inputs[0].reshape(numbers(call, "shape"))


def _transpose(call: Call, inputs: Inputs) -> Array:
    return np.ascontiguousarray(
        inputs[0].transpose(numbers(call, "order", tuple(range(inputs[0].ndim))[::-1]))
    )


def _slice(call: Call, inputs: Inputs) -> Array:
    axis, start, stop = (number(call, name) for name in ("axis", "start", "stop"))
    return inputs[0][(*[slice(None)] * axis, slice(start, stop))].copy()


def _concat(call: Call, inputs: Inputs) -> Array:
    return np.concatenate(inputs, axis=number(call, "axis"))


def _pad(call: Call, inputs: Inputs) -> Array:
    """Return the array with zeros around it."""
    return np.pad(inputs[0], tuple(zip(numbers(call, "before"), numbers(call, "after"), strict=True)))


def _broadcast_to(call: Call, inputs: Inputs) -> Array:
    return np.broadcast_to(inputs[0], numbers(call, "shape")).copy()


def _gather(_call: Call, inputs: Inputs) -> Array:
    """Return entries of the first axis of a table."""
    table, ids = inputs
    return table[indices(ids, len(table))]


def _scatter_add(_call: Call, inputs: Inputs) -> Array:
    """Return the table with each update added to the row of its index, updates from first to last."""
    table, ids, updates = inputs
    result = wide(table).copy()
    for row, update in zip(indices(ids, len(table)), wide(updates), strict=True):
        np.add(result[row], update, out=result[row])
    return result


MOVE: Final[dict[str, Handler]] = {
    "reshape": _reshape,
    "slice": _slice,
    "concat": _concat,
    "pad": _pad,
    "broadcast_to": _broadcast_to,
}
TRANSPOSE: Final[dict[str, Handler]] = {"transpose": _transpose}
GATHER: Final[dict[str, Handler]] = {"gather": _gather, "embedding": _gather, "scatter_add": _scatter_add}
