"""90 % intervals from held-out errors, and whether they keep their promise on settings they were made without.

The half-width is the conformal quantile of the errors of settings left out: the 90th percentile with the rank of one more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Final

from pilots.cluster.measured import table_of
from pilots.cluster.validation.splits import Held
from pilots.cluster.validation.statistics import conformal, median
from pilots.cluster.validity import LEAST_OUTSIDE, UNKNOWN, inside, range_of

ENOUGH: Final = 10  # rows of a key, from at least three settings, else the family lends its width
SETTINGS: Final = 3
SHARE: Final = 0.9
LEAST: Final = 0.05  # no interval is narrower than what one run differs from the next


@dataclass(frozen=True, slots=True)
class Width:
    """log_width: half-width of the 90 % interval in logarithms; judged: from errors of the key itself."""

    log_width: float
    judged: bool


@dataclass(frozen=True, slots=True)
class Covered:
    """A held-out row with the interval it would have had."""

    held: Held
    log_width: float
    calibrated: bool

    @property
    def hit(self) -> bool:
        """Say whether the interval holds the published value."""
        return abs(self.held.error) <= self.log_width


@dataclass(frozen=True, slots=True)
class Coverage:
    """n rows, hits of them, median half-width as a ratio."""

    n: int
    hits: int
    factor: float

    @property
    def share(self) -> float:
        """Hits of n."""
        return self.hits / self.n


def width_of(key: str, held: Sequence[Held]) -> Width:
    """Return the width of a key's interval from held-out errors."""
    own = [item for item in held if item.row.case.key == key]
    if len(own) >= ENOUGH and len({item.part for item in own}) >= SETTINGS:
        return Width(max(LEAST, conformal([abs(item.error) for item in own], SHARE)), judged=True)
    family = [item for item in held if item.row.case.key.partition("/")[0] == key.partition("/")[0]]
    if not family:
        return Width(UNKNOWN, judged=False)
    lent = conformal([abs(item.error) for item in family], SHARE)
    return Width(max(LEAST, lent, *(abs(item.error) for item in own)), judged=False)


def covered(held: Sequence[Held]) -> tuple[Covered, ...]:
    """Return every held-out row with an interval made without its setting."""
    found: list[Covered] = []
    parts = sorted({(item.row.case.key, item.part) for item in held})
    for key, part in parts:
        others = [item for item in held if (item.row.case.key, item.part) != (key, part)]
        rest = [item.row.case for item in others if item.row.case.key == key]
        width, span = width_of(key, others), range_of(rest) if rest else None
        for item in held:
            if (item.row.case.key, item.part) == (key, part):
                calibrated = bool(width.judged and span and inside(item.row.case, span))
                wide = width.log_width if calibrated else max(width.log_width, LEAST_OUTSIDE)
                found.append(Covered(item, wide, calibrated))
    return tuple(found)


def table_width(held: Sequence[Held]) -> float:
    """Return the width of the interval of systems with a table, from errors of ranges of sizes left out."""
    return max(LEAST, conformal([abs(item.error) for item in held], SHARE)) if held else UNKNOWN


def covered_in_tables(held: Sequence[Held]) -> tuple[Covered, ...]:
    """Return every row of a table with an interval made without its table; held: ranges of sizes left out."""
    found: list[Covered] = []
    for name in sorted({table_of(item.row.case) for item in held}):
        width = table_width([item for item in held if table_of(item.row.case) != name])
        found += [Covered(item, width, calibrated=True) for item in held if table_of(item.row.case) == name]
    return tuple(found)


def coverage(rows: Sequence[Covered]) -> Coverage | None:
    """Return how often intervals hold the published value, None without any row."""
    if not rows:
        return None
    factor = exp(median([item.log_width for item in rows]))
    return Coverage(len(rows), sum(item.hit for item in rows), factor)
