"""The compiler of the inner loop, with types. Rounding stays as IEEE 754 has it: no fast mathematics, no contraction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Return the function, compiled at its first call and kept in memory only."""
    return cast("Function", numba.njit(cache=False, fastmath=False, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """Return the function as a part of whatever compiled function calls it."""
    made = numba.njit(cache=False, fastmath=False, error_model="numpy", forceinline=True)(function)
    return cast("Function", made)
