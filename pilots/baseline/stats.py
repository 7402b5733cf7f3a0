"""Percentiles and spread of a measurement, and whether the sample is large enough to say so (POL-56)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, sqrt
from typing import Final

PERCENTILES: Final = {"p50": Fraction(1, 2), "p95": Fraction(19, 20), "p99": Fraction(99, 100)}


def percentile(values: Sequence[float], quantile: Fraction) -> float:
    """Return the nearest-rank percentile: the smallest value that at least that share of the sample does not exceed."""
    if not values:
        raise ValueError("a percentile needs at least one value")
    ordered = sorted(values)
    return ordered[max(1, ceil(quantile * len(ordered))) - 1]


def is_reliable(count: int, quantile: Fraction) -> bool:
    """Say whether n is large enough for the percentile: n >= 10 / (1 - q) (POL-56)."""
    return count >= 10 / (1 - quantile)


def variation(values: Sequence[float]) -> float:
    """Return the coefficient of variation (sample standard deviation over mean); 0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    mean = sum(values) / len(values)
    return sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1)) / mean if mean else 0.0
