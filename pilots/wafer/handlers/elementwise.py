"""Operations on each number by itself; shapes are broadcast as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from pilots.graph.ir import DType
from pilots.wafer import numerics
from pilots.wafer.handlers.base import Array, Handler, Inputs, decimal, is_whole, text, wide
from pilots.wafer.program import Call

WHOLE_LIMIT: Final = 2.0**31
UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "exp": numerics.exp,
    "log": numerics.log,
    "sqrt": np.sqrt,
    "rsqrt": numerics.rsqrt,
    "reciprocal": numerics.reciprocal,
    "relu": numerics.relu,
    "gelu": numerics.gelu,
    "silu": numerics.silu,
    "sigmoid": numerics.sigmoid,
    "tanh": numerics.tanh,
    "sin": numerics.sin,
    "cos": numerics.cos,
}
WHOLE_TOO: Final[dict[str, Callable[[Any], Any]]] = {
    "neg": np.negative,
    "abs": np.abs,
    "square": numerics.square,
}
# op -> (function of fp32 numbers, function of whole numbers)
BINARY: Final[dict[str, tuple[Callable[..., Any], Callable[..., Any]]]] = {
    "add": (np.add, np.add),
    "sub": (np.subtract, np.subtract),
    "mul": (np.multiply, np.multiply),
    "maximum": (numerics.maximum, np.maximum),
    "minimum": (numerics.minimum, np.minimum),
    "greater": (np.greater, np.greater),
    "less": (np.less, np.less),
    "equal": (np.equal, np.equal),
}


def _unary(function: Callable[[Any], Any]) -> Handler:
    return lambda _call, inputs: np.asarray(function(wide(inputs[0])))


def _unary_of_any(function: Callable[[Any], Any]) -> Handler:
    return lambda _call, inputs: np.asarray(function(inputs[0]))


def _binary(of_floats: Callable[..., Any], of_whole: Callable[..., Any]) -> Handler:
    def handle(_call: Call, inputs: Inputs) -> Array:
        left, right = inputs
        if is_whole(left) and is_whole(right):
            return np.asarray(of_whole(left, right))
        return np.asarray(of_floats(wide(left), wide(right)))

    return handle


def _divide(_call: Call, inputs: Inputs) -> Array:
    return np.asarray(np.divide(wide(inputs[0]), wide(inputs[1])))


def _scale(call: Call, inputs: Inputs) -> Array:
    return np.multiply(wide(inputs[0]), decimal(call, "factor"))


def _where(_call: Call, inputs: Inputs) -> Array:
    condition, chosen, other = inputs
    return np.where(condition != 0, chosen, other)


def _cast(call: Call, inputs: Inputs) -> Array:
    """Return the numbers in another type; to whole numbers: towards zero, NaN is 0, too large is the limit."""
    dtype, values = DType(text(call, "dtype")), inputs[0]
    if dtype is DType.BOOL:
        return np.asarray(values != 0)
    if dtype is DType.INT32 and not is_whole(values):
        whole = np.trunc(np.where(np.isnan(values), 0, values).astype(np.float64))
        return np.minimum(np.maximum(whole, -WHOLE_LIMIT), WHOLE_LIMIT - 1).astype(np.int32)
    if dtype is DType.INT32:
        return values.astype(np.int32)
    return numerics.narrowed(wide(values), dtype)


HANDLERS: Final[dict[str, Handler]] = (
    {op: _unary(function) for op, function in UNARY.items()}
    | {op: _unary_of_any(function) for op, function in WHOLE_TOO.items()}
    | {op: _binary(*functions) for op, functions in BINARY.items()}
    | {"div": _divide, "scale": _scale, "where": _where, "cast": _cast}
)
