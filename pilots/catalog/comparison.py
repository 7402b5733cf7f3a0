"""Baseline and target side by side in one schema: what is better, by how much, at which end of an interval (3.17).

Pure: metrics in, rows out. The target of an emulation is judged at the pessimistic end of its interval (EM-04); a factor
is given only where both sides carry one (EM-12, POL-56). Gains are those of G6-8 (`qms.gates.benefit`): page and gate
cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from itertools import zip_longest
from typing import Final

from qms.core.values import Better, Metric
from qms.gates.benefit import relative_gain


class WhyNot(StrEnum):
    """Why a row gives no factor."""

    DEVELOPMENT_MACHINE = "DEVELOPMENT_MACHINE"
    ANOTHER_WORKLOAD = "ANOTHER_WORKLOAD"
    ONLY_BASELINE = "ONLY_BASELINE"
    ONLY_TARGET = "ONLY_TARGET"
    UNRELIABLE = "UNRELIABLE"
    OTHER_UNIT = "OTHER_UNIT"
    OTHER_MEMORY = "OTHER_MEMORY"
    ZERO_BASELINE = "ZERO_BASELINE"
    NO_DIRECTION = "NO_DIRECTION"


class Judgement(StrEnum):
    """What POL-23 says about a primary metric."""

    MET = "ERFUELLT"
    NOT_MET = "NICHT_ERFUELLT"
    OPEN = "OFFEN"


@dataclass(frozen=True, slots=True)
class Bounds:
    """POL-23 as shares: least gain of the first primary metric, largest loss of every other one."""

    min_gain: Decimal
    max_loss: Decimal


@dataclass(frozen=True, slots=True)
class Benefit:
    """(target - baseline) / baseline at both ends of the interval; equal ends without one. gain: the first of them turned
    so that more is better.
    """

    pessimistic: Decimal
    optimistic: Decimal
    gain: Decimal


@dataclass(frozen=True, slots=True)
class Row:
    """One metric and percentile on both sides. judgement: of primary metrics alone; first: the one that must gain."""

    key: str
    percentile: str | None
    better: Better | None
    baseline: Metric | None
    target: Metric | None
    benefit: Benefit | None
    why_not: WhyNot | None
    first: bool = False
    judgement: Judgement | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What the comparison needs beside the metrics. primary: keys of the primary metrics, the first one must gain;
    better: direction of every key of the catalogue; another_workload: nothing shows that both sides computed the same
    (G4-1); outside: the target lies outside the calibration (EM-04); other_memory: keys that mean another kind of memory
    on each side.
    """

    primary: Sequence[str]
    better: Mapping[str, Better | None]
    bounds: Bounds
    development_machine: bool = False
    another_workload: bool = False
    outside: bool = False
    other_memory: frozenset[str] = frozenset()


def compare(baseline: Sequence[Metric], target: Sequence[Metric], asked: Asked) -> tuple[Row, ...]:
    """Return a row for every metric and percentile of either side, the primary ones first, then in order of appearance."""
    left, right = _grouped(baseline), _grouped(target)
    rows = [
        _row(place, before, after, asked)
        for place in dict.fromkeys([*left, *right])
        for before, after in zip_longest(left.get(place, []), right.get(place, []))
    ]
    order = {key: index for index, key in enumerate(asked.primary)}
    return tuple(sorted(rows, key=lambda row: order.get(row.key, len(order))))


_Place = tuple[str, str | None]
# Reasons that leave a primary metric open; a baseline of zero has no factor, but a direction.
_OPEN: Final = frozenset(set(WhyNot) - {WhyNot.ZERO_BASELINE})


def _grouped(metrics: Sequence[Metric]) -> dict[_Place, list[Metric]]:
    found: dict[_Place, list[Metric]] = {}
    for metric in metrics:
        found.setdefault((metric.key, metric.percentile), []).append(metric)
    return found


def _row(place: _Place, before: Metric | None, after: Metric | None, asked: Asked) -> Row:
    key, percentile = place
    better = asked.better.get(key)
    why_not = _why_not(before, after, better, asked)
    first = bool(asked.primary) and key == asked.primary[0]
    row = Row(key, percentile, better, before, after, None, why_not, first)
    if before is not None and after is not None and better is not None and why_not is None:
        row = replace(row, benefit=_benefit(before.value, after, better))
    return replace(row, judgement=_judgement(row, asked)) if key in asked.primary else row


def _why_not(
    before: Metric | None, after: Metric | None, better: Better | None, asked: Asked
) -> WhyNot | None:
    if before is None or after is None:
        return WhyNot.ONLY_TARGET if before is None else WhyNot.ONLY_BASELINE
    reasons = (
        (WhyNot.DEVELOPMENT_MACHINE, asked.development_machine),
        (WhyNot.ANOTHER_WORKLOAD, asked.another_workload),
        (WhyNot.NO_DIRECTION, better is None),
        (WhyNot.OTHER_MEMORY, before.key in asked.other_memory),
        (WhyNot.OTHER_UNIT, before.unit != after.unit),
        (WhyNot.UNRELIABLE, not (before.reliable and after.reliable)),
        (WhyNot.ZERO_BASELINE, before.value == 0 and any(_ends(after))),
    )
    return next((reason for reason, holds in reasons if holds), None)


def _ends(metric: Metric) -> tuple[Decimal, Decimal]:
    interval = metric.interval
    return (metric.value, metric.value) if interval is None else (interval.lower, interval.upper)


def _benefit(before: Decimal, after: Metric, better: Better) -> Benefit:
    lower, upper = (_change(before, end) for end in _ends(after))
    worse, best = (lower, upper) if better is Better.HIGHER else (upper, lower)
    return Benefit(worse, best, relative_gain(before, after.pessimistic(better), better))


def _change(before: Decimal, after: Decimal) -> Decimal:
    """Return the change as a share of the baseline; nothing became nothing where both are zero."""
    return (after - before) / before if before else Decimal(0)


def _judgement(row: Row, asked: Asked) -> Judgement:
    before, after, better = row.baseline, row.target, row.better
    if before is None or after is None or better is None or row.why_not in _OPEN:
        return Judgement.OPEN
    if asked.outside or after.interval is None:
        return Judgement.OPEN
    gain = relative_gain(before.value, after.pessimistic(better), better)
    met = gain >= asked.bounds.min_gain if row.first else gain >= -asked.bounds.max_loss
    return Judgement.MET if met else Judgement.NOT_MET
