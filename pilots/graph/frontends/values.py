"""Values while a model is translated: in the graph, or numbers known now, or a condition not yet asked.

Shapes here are those of the framework: () is one number. In the graph it has the shape (1,).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from pilots.graph.frontends.errors import Refused
from pilots.graph.ir import Array, DType, Shape, rounded

DTYPES: Final[dict[str, DType]] = {item.value: item for item in DType} | {"int64": DType.INT32}
_DECIMAL: Final = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,40})?", re.ASCII)
INT32_RANGE: Final = (-(2**31), 2**31 - 1)


@dataclass(frozen=True, slots=True)
class Value:
    """One value. name: in the graph, "" if not there; array: its numbers, if known; label: their name if they are weights.

    rule and parts: a condition that is "not", "or" or "and" of others.
    """

    shape: Shape
    dtype: DType
    name: str = ""
    array: Array | None = None
    label: str = ""
    rule: str = ""
    parts: tuple[Value, ...] = ()

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def sizes(self) -> tuple[int, ...]:
        """Return the shape without a batch; raises Refused."""
        known = tuple(size for size in self.shape if size is not None)
        if len(known) != len(self.shape):
            raise Refused("die Operation braucht bekannte Größen, die Stapelgröße ist aber offen")
        return known


def known(array: Array, label: str = "") -> Value:
    """Return numbers that are known now; whole numbers become int32. Raises Refused."""
    array = np.asarray(array)
    dtype = dtype_of(array.dtype.name)
    return known_as(array, dtype, label)


def known_as(array: Array, dtype: DType, label: str = "") -> Value:
    """Return numbers of a type, rounded to it; `label` marks weights. Raises Refused for integers beyond int32."""
    whole = dtype is DType.INT32 and array.size and array.dtype != np.int32
    if whole and not INT32_RANGE[0] <= array.min() <= array.max() <= INT32_RANGE[1]:
        raise Refused("eine ganze Zahl liegt außerhalb von int32")
    with np.errstate(all="ignore"):
        return Value(tuple(array.shape), dtype, array=rounded(array, dtype), label=label)


def bounds(array: Array) -> Value:
    """Return integers that may only say where something begins or ends; so 2^63 - 1 may stand for the end."""
    return Value(tuple(array.shape), DType.INT32, array=array.astype(np.int64))


def number_of(value: Value) -> float | None:
    """Return the one number all elements are equal to; None for weights, whose numbers never shape a graph."""
    array = value.array
    if array is None or not array.size or value.label or value.dtype is DType.BOOL:
        return None
    first = array.reshape(-1)[0]
    return float(first) if bool((array == first).all()) else None


def dtype_of(name: str) -> DType:
    """Return the type of that name; int64 counts as int32 (indices). Raises Refused."""
    found = DTYPES.get(name)
    if found is None:
        raise Refused(f"den Zahlentyp {name} gibt es im Graphen nicht")
    return found


def negated(condition: Value) -> Value:
    """Return the opposite of a condition."""
    if condition.rule == "not":
        return condition.parts[0]
    if condition.array is not None:
        return known_as(~condition.array, DType.BOOL)
    return combined("not", (condition,), condition.shape)


def combined(rule: str, parts: tuple[Value, ...], shape: Shape) -> Value:
    """Return a condition of conditions, worked out now if all of them are known."""
    arrays = [part.array for part in parts if part.array is not None]
    if len(arrays) == len(parts) == 2:
        joined = arrays[0] | arrays[1] if rule == "or" else arrays[0] & arrays[1]
        return known_as(joined, DType.BOOL)
    return Value(shape, DType.BOOL, rule=rule, parts=parts)


def broadcast_shape(left: Shape, right: Shape) -> Shape:
    """Return the common shape by the rules of NumPy; an open batch goes with an open batch or 1. Raises Refused."""
    rank = max(len(left), len(right))
    pairs = zip((1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right, strict=True)
    result: list[int | None] = []
    for a, b in pairs:
        if a != b and 1 not in {a, b}:
            raise Refused(f"die Formen {left} und {right} passen nicht zusammen")
        result.append(b if a == 1 else a)
    return tuple(result)


def decimal(number: float, dtype: DType) -> str | None:
    """Return the shortest decimal that means this number in a type, None if it is too long for an attribute."""
    short = np.float16(number) if dtype is DType.FLOAT16 else np.float32(number)
    if not np.isfinite(short):
        return None
    text = np.format_float_positional(short, unique=True, trim="-")
    text = text.removesuffix(".")
    exact = type(short)(text) == short
    return text if exact and _DECIMAL.fullmatch(text) else None
