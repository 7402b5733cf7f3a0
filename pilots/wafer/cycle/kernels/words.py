"""Whole numbers and truth values in the memory of an element: as the bits of a word, as they travel over links."""

from __future__ import annotations

from typing import Any

import numpy as np

from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle.kernels.base import lanes_of
from pilots.wafer.errors import RequestError
from pilots.wafer.handlers.base import Array
from pilots.wafer.numerics import Float

_LIMITS = np.iinfo(np.int32)


def words_of(array: Array) -> Float:
    """Return numbers as fp32; whole numbers and truth values keep their bits. Raises RequestError beyond 32 bits."""
    if array.dtype.kind == "f":
        return np.asarray(array, dtype=np.float32)
    if array.dtype.itemsize > _LIMITS.bits // 8 and array.size:
        low, high = int(array.min()), int(array.max())
        if low < _LIMITS.min or high > _LIMITS.max:
            sentence = f"Ganze Zahlen dürfen höchstens 32 Bit haben; gefunden: {low} bis {high}."
            raise RequestError(f"{low}..{high} exceeds 32 bits", message_de=sentence)
    return np.ascontiguousarray(array, dtype=np.int32).reshape(array.shape).view(np.float32)


def numbers_of(words: Float, dtype: np.dtype[Any]) -> Array:
    """Return the numbers that words stand for: the reverse of `words_of`."""
    return words if dtype.kind == "f" else words.view(np.int32).astype(dtype)


def lanes_for(array: Array, at: Setting) -> int:
    """Return how many numbers of an array one wavelet carries: of whole numbers one, of floats as the element type says."""
    return lanes_of(at) if array.dtype.kind == "f" else 1
