"""Predictions of entries that the fit has not seen: one part is left out, constants and naive curve see the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from pilots.wafer import fitting
from pilots.wafer.errors import WaferError
from pilots.wafer.validation import naive
from pilots.wafer.validation.model import Model
from pilots.wafer.validation.rows import Row, fitted
from pilots.wafer.workloads import Family


@dataclass(frozen=True, slots=True)
class Held:
    """One scored row, predicted without its part. cycles: ours; naive_cycles: None without any other entry;
    rest: the rows of the same family that the fit has seen.
    """

    row: Row
    part: str
    cycles: float
    naive_cycles: float | None
    rest: tuple[Row, ...]

    @property
    def log_error(self) -> float:
        """ln(predicted / published) in cycles."""
        assert self.row.published_cycles is not None
        return log(self.cycles / self.row.published_cycles)

    @property
    def naive_log_error(self) -> float | None:
        """The same for the naive curve."""
        assert self.row.published_cycles is not None
        return None if self.naive_cycles is None else log(self.naive_cycles / self.row.published_cycles)


def samples(rows: Sequence[Row]) -> tuple[fitting.Sample, ...]:
    """Return the rows as samples; all entries of one independent setting share the weight one."""
    counts: dict[tuple[Family, str], int] = {}
    for row in rows:
        counts[_setting(row)] = counts.get(_setting(row), 0) + 1
    found = []
    for row in rows:
        assert row.question is not None
        assert row.published_cycles is not None
        found.append(fitting.Sample(row.question.case, row.published_cycles, 1.0 / counts[_setting(row)]))
    return tuple(found)


def by_group(row: Row) -> str:
    """Return the independent setting of a row."""
    return row.group


def by_family(row: Row) -> str:
    """Return the family of a row."""
    assert row.family is not None
    return row.family.value


def by_system(row: Row) -> str:
    """Return the system of a row."""
    return row.system


def leave_out(
    rows: Sequence[Row], part_of: Callable[[Row], str], model: Model, *, naive_in_family: bool
) -> tuple[Held, ...]:
    """Return a prediction of every row by a fit on all fitted rows of the other parts, in the order of `rows`.

    The naive curve may use every other row, also those of families that are never fitted.
    naive_in_family: the naive curve is fitted on the rest of the row's family, else on all of the rest.
    """
    found: dict[int, Held] = {}
    for part in sorted({part_of(row) for row in rows}):
        rest = [row for row in rows if part_of(row) != part]
        constants = model.fit(samples(fitted(rest)))
        for index, row in enumerate(rows):
            if part_of(row) == part:
                held = _held(row, part, rest, constants, model, naive_in_family=naive_in_family)
                if held:
                    found[index] = held
    return tuple(found[index] for index in sorted(found))


def curve_through(rows: Sequence[Row]) -> naive.Vector | None:
    """Return the naive curve through scored rows."""
    return naive.fit(
        [row.question.case for row in rows if row.question],
        [row.published_cycles for row in rows if row.published_cycles],
    )


def _held(
    row: Row, part: str, rest: Sequence[Row], constants: Any, model: Model, *, naive_in_family: bool
) -> Held | None:
    assert row.question is not None
    family = tuple(other for other in rest if other.family is row.family)
    curve = curve_through(family if naive_in_family else rest)
    try:
        cycles = model.cycles(row.question.case, constants)
    except WaferError:
        return None
    return Held(row, part, cycles, naive.predict(row.question.case, curve) if curve else None, family)


def _setting(row: Row) -> tuple[Family, str]:
    assert row.family is not None
    return (row.family, row.group)
