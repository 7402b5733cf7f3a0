"""Operations on the features of a row that need no neighbour element: rotary positions, the gate of experts, one-hot."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from functools import lru_cache
from typing import Final

import numpy as np

from pilots.wafer.handlers.base import Array, Handler, Inputs, indices, number, wide
from pilots.wafer.numerics import Double, Float, cos, exp, sin
from pilots.wafer.numerics_sums import largest, meeting_sum
from pilots.wafer.program import Call

DIGITS: Final = 30  # more than any fp64 number needs


def _rope(call: Call, inputs: Inputs) -> Array:
    """Turn pairs of features by position times theta**(-2j / width): the halves, or neighbours if interleaved.

    The angles form a table that is made in double precision outside the elements; sine and cosine are fp32.
    """
    x = wide(inputs[0])
    sine, cosine = (table[:, None, :] for table in turns(call, inputs[1]))
    first, second = pairs(call)
    result = x.reshape(len(x), number(call, "heads"), number(call, "head_dim")).copy()
    left, right = result[..., first].copy(), result[..., second].copy()
    result[..., first] = np.subtract(np.multiply(left, cosine), np.multiply(right, sine))
    result[..., second] = np.add(np.multiply(right, cosine), np.multiply(left, sine))
    return result.reshape(x.shape)


def pairs(call: Call) -> tuple[slice, slice]:
    """Return which features of a head are the first and which the second of a pair."""
    turning = number(call, "rotary_dim", number(call, "head_dim"))
    if number(call, "interleaved", 0):
        return slice(0, turning, 2), slice(1, turning, 2)
    return slice(0, turning // 2), slice(turning // 2, turning)


def turns(call: Call, positions: Array) -> tuple[Float, Float]:
    """Return sine and cosine [rows, pairs] of the angles of a call."""
    turning = number(call, "rotary_dim", number(call, "head_dim"))
    angle = np.multiply(positions.astype(np.float64)[:, None], frequencies(number(call, "theta"), turning))
    return sin(angle), cos(angle)


@lru_cache(maxsize=64)
def frequencies(theta: int, width: int) -> Double:
    """Return theta**(-2j / width) for j below width / 2, each rounded once from exact decimal arithmetic."""
    with localcontext(Context(prec=DIGITS)):
        return np.array([float(Decimal(theta) ** (Decimal(-2 * j) / width)) for j in range(width // 2)])


def _top_k_gate(call: Call, inputs: Inputs) -> Array:
    """Return softmax over the k largest of a row, zero elsewhere; of equal ones the first are chosen."""
    logits = wide(inputs[0])
    order = np.argsort(np.negative(logits), axis=1, kind="stable")
    chosen = np.zeros(logits.shape, dtype=np.bool_)
    np.put_along_axis(chosen, order[:, : number(call, "k")], True, axis=1)
    kept = np.where(chosen, logits, np.float32(-np.inf))
    powers = np.where(chosen, exp(np.subtract(kept, largest(kept))), np.float32(0))
    shares = np.divide(powers, meeting_sum(powers, call.tile[1])[:, None])
    return np.where(chosen, shares, np.float32(0))


def _one_hot(call: Call, inputs: Inputs) -> Array:
    """Return rows of `depth` numbers: one at the index, else zero."""
    depth = number(call, "depth")
    result = np.zeros((len(inputs[0]), depth), dtype=np.float32)
    np.put_along_axis(result, indices(inputs[0], depth)[:, None], np.float32(1), axis=1)
    return result


HANDLERS: Final[dict[str, Handler]] = {"rope": _rope, "top_k_gate": _top_k_gate, "one_hot": _one_hot}
