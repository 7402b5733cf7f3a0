"""90 % intervals from published model error, and whether they keep their promise on entries the fit has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Final

from pilots.wafer.machine import MACHINES
from pilots.wafer.validation.splits import Held
from pilots.wafer.validation.statistics import median, upper_bound
from pilots.wafer.validity import inside, range_of
from pilots.wafer.workloads import Family

MIN_ENTRIES: Final = 3  # below, or from a single setting, a family has no error of its own
MIN_GROUPS: Final = 2
FACTORS: Final[dict[str, str]] = {
    "generation": "2",  # rt.hop3 against rt.hop2
    "host": "2",  # io.tcp and io.rpc are two single figures a factor 2.4 apart
    "unknown": "4",  # no measurement at all
    "widening": "1.5",  # outside the calibrated range the logarithmic error grows by half (EM-04)
}


@dataclass(frozen=True, slots=True)
class Width:
    """log_width: half-width of the 90 % interval in logarithms inside the calibrated range; judged: the family has
    enough held-out entries of its own, else the width is that of all families together.
    """

    log_width: float
    judged: bool

    @property
    def calibrated(self) -> float:
        """Half-width as a ratio inside the calibrated range."""
        return exp(self.log_width)

    @property
    def extrapolated(self) -> float:
        """Half-width as a ratio beyond it."""
        return exp(float(FACTORS["widening"]) * self.log_width)


@dataclass(frozen=True, slots=True)
class Covered:
    """One held-out row with the interval it would have had. factor: half-width as a ratio; hit: it holds the value."""

    held: Held
    factor: float
    calibrated: bool

    @property
    def hit(self) -> bool:
        """Say whether the interval holds the published value."""
        return abs(self.held.log_error) <= log(self.factor)


@dataclass(frozen=True, slots=True)
class Coverage:
    """n held-out entries, hits of them, median half-width as a ratio, and how many were inside the calibrated range."""

    n: int
    hits: int
    median_factor: float
    calibrated: int

    @property
    def share(self) -> float:
        """Hits of n."""
        return self.hits / self.n


def width_of(family: Family, held: Sequence[Held]) -> Width:
    """Return the width of a family's interval from held-out errors.

    A family with too few of its own takes the width of all, but never less than its own largest error; a family that
    was never measured is unknown.
    """
    own = [abs(item.log_error) for item in held if item.row.family is family]
    parts = {item.part for item in held if item.row.family is family}
    if not own:
        return Width(log(float(FACTORS["unknown"])), judged=False)
    if len(own) >= MIN_ENTRIES and len(parts) >= MIN_GROUPS:
        return Width(upper_bound(own), judged=True)
    return Width(max(*own, upper_bound([abs(item.log_error) for item in held])), judged=False)


def covered(held: Sequence[Held]) -> tuple[Covered, ...]:
    """Return every held-out row with an interval made without it: widths and ranges come from the other parts."""
    return tuple(_covered(item, [other for other in held if other.part != item.part]) for item in held)


def coverage(rows: Sequence[Covered]) -> Coverage | None:
    """Return how often intervals hold the published value, None without any."""
    if not rows:
        return None
    factors = [item.factor for item in rows]
    return Coverage(
        len(rows), sum(item.hit for item in rows), median(factors), sum(item.calibrated for item in rows)
    )


def by_family(rows: Sequence[Covered]) -> Mapping[Family, Coverage]:
    """Return the coverage of each family that has rows, in the declared order."""
    found = {family: coverage([row for row in rows if row.held.row.family is family]) for family in Family}
    return {family: value for family, value in found.items() if value}


def _covered(item: Held, others: Sequence[Held]) -> Covered:
    assert item.row.family is not None
    assert item.row.question is not None
    case = item.row.question.case
    width = width_of(item.row.family, others)
    span = range_of([row.question.case for row in item.rest if row.question])
    if width.judged and inside(case, span):
        return Covered(item, width.calibrated, calibrated=True)
    older = 1.0 if MACHINES[case.machine_id].calibrated else float(FACTORS["generation"])
    return Covered(item, width.extrapolated * older, calibrated=False)
