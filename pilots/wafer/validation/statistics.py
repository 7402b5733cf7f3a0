"""Errors as ratios of cycles, and what a set of them says.

log error: ln(predicted / published) in cycles, above 0 if the emulator is too slow. Relative error: e^|log error| - 1,
the same for twice too fast and twice too slow, and never below |predicted / published - 1|.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, expm1
from typing import Final

TOO_FEW: Final = 10  # below, the 90th percentile is the maximum


@dataclass(frozen=True, slots=True)
class Figures:
    """n entries; bias, median and 90th percentile of the relative error; p90_is_maximum below ten entries."""

    n: int
    bias: float
    median: float
    p90: float

    @property
    def p90_is_maximum(self) -> bool:
        """Say whether the 90th percentile is the largest error, for want of entries."""
        return self.n < TOO_FEW


def figures(log_errors: Sequence[float]) -> Figures | None:
    """Return what a set of log errors says, None if it is empty."""
    if not log_errors:
        return None
    sizes = sorted(abs(error) for error in log_errors)
    bias = sum(sorted(log_errors)) / len(log_errors)
    return Figures(len(sizes), expm1(bias), expm1(median(sizes)), expm1(upper_bound(sizes)))


def median(values: Sequence[float]) -> float:
    """Return the median of at least one value."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def upper_bound(sizes: Sequence[float]) -> float:
    """Return the 90th percentile: the ceil(0.9 n)-th smallest, the maximum below ten.

    Not the conformal rank ceil(0.9 (n + 1)): with it every held-out entry was covered, where 85 to 95 % are demanded.
    """
    ordered = sorted(sizes)
    count = len(ordered)
    rank = count if count < TOO_FEW else ceil(0.9 * count)
    return ordered[rank - 1]
