"""Cycles by cause. A cost is never one number: it says how much is arithmetic, memory, fabric, start-up."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isclose


@dataclass(frozen=True, slots=True)
class Terms:
    """Cycles by cause. compute: issued arithmetic; memory: moves inside an element; fabric: waiting for wavelets;
    launch: starting kernels and steps.
    """

    compute: float = 0.0
    memory: float = 0.0
    fabric: float = 0.0
    launch: float = 0.0

    @property
    def cycles(self) -> float:
        """Sum of the causes."""
        return self.compute + self.memory + self.fabric + self.launch

    def __add__(self, other: Terms) -> Terms:
        """Return the sum, cause by cause."""
        return Terms(
            self.compute + other.compute,
            self.memory + other.memory,
            self.fabric + other.fabric,
            self.launch + other.launch,
        )

    def times(self, count: float) -> Terms:
        """Return `count` of it, one after the other."""
        return Terms(self.compute * count, self.memory * count, self.fabric * count, self.launch * count)

    def whole(self) -> dict[str, int]:
        """Return whole cycles by cause, each rounded up; what rounding of floats left behind is no cycle."""
        return {name: _whole(getattr(self, name)) for name in CAUSES}


def _whole(cycles: float) -> int:
    nearest = round(cycles)
    return nearest if isclose(cycles, nearest, rel_tol=ROUNDING, abs_tol=ROUNDING) else ceil(cycles)


ROUNDING = 1e-12
CAUSES = ("compute", "memory", "fabric", "launch")


@dataclass(frozen=True, slots=True)
class Span:
    """A predicted quantity with both ends of its interval, in the unit of its name."""

    value: float
    lower: float
    upper: float

    def __add__(self, other: Span) -> Span:
        """Return the sum; ends add up, which is the pessimistic way."""
        return Span(self.value + other.value, self.lower + other.lower, self.upper + other.upper)

    def times(self, factor: float) -> Span:
        """Return the span in another unit."""
        return Span(self.value * factor, self.lower * factor, self.upper * factor)

    def inverse(self, count: float) -> Span:
        """Return `count` per this: the slow end becomes the lower one."""
        return Span(count / self.value, count / self.upper, count / self.lower)
