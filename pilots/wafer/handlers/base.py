"""What all handlers share: their type and how they read a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pilots.graph.ir import Attr
from pilots.wafer.errors import RequestError
from pilots.wafer.numerics import Float
from pilots.wafer.program import Call

Array: TypeAlias = npt.NDArray[Any]
Inputs: TypeAlias = tuple[Array, ...]
Handler: TypeAlias = Callable[[Call, Inputs], Array]


def number(call: Call, name: str, default: int | None = None) -> int:
    """Return a whole number among the attributes; raises KeyError without a default, TypeError for another type."""
    value = _attr(call, name, default)
    if not isinstance(value, int):
        raise TypeError(f"attribute {name} of {call.op} is not a whole number: {value!r}")
    return value


def text(call: Call, name: str, default: str | None = None) -> str:
    """Return a text among the attributes; raises KeyError without a default, TypeError for another type."""
    value = _attr(call, name, default)
    if not isinstance(value, str):
        raise TypeError(f"attribute {name} of {call.op} is not a text: {value!r}")
    return value


def numbers(call: Call, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Return whole numbers among the attributes, a single one as a tuple of one; raises KeyError, TypeError."""
    value = _attr(call, name, default)
    if isinstance(value, str):
        raise TypeError(f"attribute {name} of {call.op} is not a list of whole numbers: {value!r}")
    return value if isinstance(value, tuple) else (value,)


def decimal(call: Call, name: str, default: str | None = None) -> np.float32:
    """Return a decimal among the attributes (written as a text or a whole number) as fp32."""
    value = _attr(call, name, default)
    if isinstance(value, tuple):
        raise TypeError(f"attribute {name} of {call.op} is not a decimal: {value!r}")
    return np.float32(value)


def wide(array: Array) -> Float:
    """Return the numbers as fp32; whole numbers and truth values are converted."""
    return np.asarray(array, dtype=np.float32)


def indices(ids: Array, size: int) -> Array:
    """Return indices as whole numbers; raises RequestError for one outside 0..size - 1."""
    whole = ids.astype(np.int64)
    outside = whole[(whole < 0) | (whole >= size)]
    if outside.size:
        sentence = f"Der Index {outside[0]} liegt außerhalb der Tabelle; erlaubt sind 0 bis {size - 1}."
        raise RequestError(f"index {outside[0]} is outside 0..{size - 1}", message_de=sentence)
    return whole


def is_whole(array: Array) -> bool:
    """Say whether the elements are whole numbers or truth values."""
    return array.dtype.kind in "iub"


def _attr(call: Call, name: str, default: Attr | None) -> Attr:
    if default is None:
        return call.attr(name)
    return dict(call.attrs).get(name, default)
