"""Our own counter-based numbers: element i of a stream depends on seed, stream name and i, nothing else.

SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): state = key + (i + 1) * GAMMA, then its finaliser. Only 64-bit integer
arithmetic and one exact scaling are used, so every machine and every NumPy release gives the same bits.
"""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt

from qms.core import canonical

GAMMA: Final = 0x9E3779B97F4A7C15
_MULTIPLIER_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2: Final = np.uint64(0x94D049BB133111EB)
MAX_SEED: Final = 2**53 - 1


def words(seed: int, stream: str, count: int) -> npt.NDArray[np.uint64]:
    """Return the first `count` 64-bit words of a named stream; seed is 0 .. 2**53-1, else ValueError."""
    if not 0 <= seed <= MAX_SEED:
        raise ValueError(f"seed {seed} is outside 0..{MAX_SEED}")
    key = np.uint64(int(canonical.digest({"seed": seed, "stream": stream})[:16], 16))
    with np.errstate(over="ignore"):
        state = key + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GAMMA)
        state = (state ^ (state >> np.uint64(30))) * _MULTIPLIER_1
        state = (state ^ (state >> np.uint64(27))) * _MULTIPLIER_2
        return state ^ (state >> np.uint64(31))


def uniform(seed: int, stream: str, shape: tuple[int, ...], scale: float = 1.0) -> npt.NDArray[np.float32]:
    """Return float32 numbers, evenly spread over [-scale, scale): the top 24 bits, centred, times `scale`."""
    top = (words(seed, stream, prod(shape)) >> np.uint64(40)).astype(np.int64) - 2**23
    unit = top.astype(np.float32) * np.float32(2.0**-23)
    return (unit * np.float32(scale)).reshape(shape)
