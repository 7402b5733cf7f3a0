"""Errors of a set of predictions, from logarithms of predicted over published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, expm1


@dataclass(frozen=True, slots=True)
class Figures:
    """n; mean, median, 90th percentile and maximum of e^|error| - 1; bias: e^(mean error) - 1."""

    n: int
    mean: float
    median: float
    p90: float
    maximum: float
    bias: float


def figures(errors: Sequence[float]) -> Figures | None:
    """Return the figures of logarithmic errors, None without any."""
    if not errors:
        return None
    sizes = sorted(abs(error) for error in errors)
    count = len(sizes)
    return Figures(
        count,
        sum(expm1(size) for size in sizes) / count,
        expm1(median(sizes)),
        expm1(percentile(sizes, 0.9)),
        expm1(sizes[-1]),
        expm1(sum(errors) / count),
    )


def median(values: Sequence[float]) -> float:
    """Return the middle of at least one value."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def conformal(values: Sequence[float], share: float) -> float:
    """Return the value below which one more of the same kind lies with at least `share`, or the largest if n is too small."""
    ordered = sorted(values)
    return ordered[min(len(ordered), ceil(share * (len(ordered) + 1))) - 1]
