"""The compiler of the inner loop, with types. Rounding stays as IEEE 754 has it: no fast mathematics, no contraction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])
# _nrt: compiled functions make no arrays, so none is counted; counting would take most of the time.
_OPTIONS: Final[dict[str, Any]] = {
    "cache": False,
    "fastmath": False,
    "error_model": "numpy",
    "_nrt": False,
}


def compiled(function: Function) -> Function:
    """Return the function, compiled at its first call and kept in memory only; it may make no arrays."""
    return cast("Function", numba.njit(**_OPTIONS)(function))


def inlined(function: Function) -> Function:
    """Return the function as a part of whatever compiled function calls it."""
    return cast("Function", numba.njit(forceinline=True, **_OPTIONS)(function))
