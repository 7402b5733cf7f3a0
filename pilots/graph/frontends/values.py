"""Values while a model is translated: in the graph, or numbers known now, or a condition not yet asked.

Shapes here are those of the framework: () is one number. In the graph it has the shape (1,).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pilots.graph.frontends.errors import Refused
from pilots.graph.ir import Array, DType, Shape, rounded

DTYPES: Final[dict[str, DType]] = {item.value: item for item in DType} | {"int64": DType.INT32}
INT32_RANGE: Final = (-(2**31), 2**31 - 1)


@dataclass(frozen=True, slots=True)
class Value:
    """One value. name: in the graph, "" if not there; array: its numbers, if known; label: a name for them.

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
    if array.dtype == np.int64:
        if array.size and not INT32_RANGE[0] <= array.min() <= array.max() <= INT32_RANGE[1]:
            raise Refused("eine ganze Zahl liegt außerhalb von int32")
        array = array.astype(np.int32)
    return Value(tuple(array.shape), dtype, array=array, label=label)


def known_as(array: Array, dtype: DType, label: str = "") -> Value:
    """Return numbers of a type, rounded to it."""
    with np.errstate(all="ignore"):
        return Value(tuple(array.shape), dtype, array=rounded(array, dtype), label=label)


def number_of(value: Value) -> float | None:
    """Return the one number all elements are equal to, or None."""
    array = value.array
    if array is None or not array.size or not value.dtype.is_float and value.dtype is not DType.INT32:
        return None
    first = array.reshape(-1)[0]
    return float(first) if bool((array == first).all()) else None


def dtype_of(name: str) -> DType:
    """Return the type of that name; int64 counts as int32 (indices). Raises Refused."""
    found = DTYPES.get(name)
    if found is None:
        raise Refused(f"den Zahlentyp {name} gibt es im Graphen nicht")
    return found
