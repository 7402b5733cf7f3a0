"""Predictions of rows the fit has not seen: a setting or a system is left out, the rest of its key is fitted again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log, log2

from pilots.cluster import fitting, formulas
from pilots.cluster.costs.terms import Constants
from pilots.cluster.fitting import Sample
from pilots.cluster.measured import Tables, table_of, tables_of
from pilots.cluster.validation import naive
from pilots.cluster.validation.rows import Row
from pilots.cluster.workloads import Case, Collective


@dataclass(frozen=True, slots=True)
class Held:
    """One left-out row. error, naive_error: logarithm of predicted over published; part: what was left out."""

    row: Row
    part: str
    error: float
    naive_error: float | None


def leave_out_ranges(rows: Sequence[Row]) -> tuple[Held, ...]:
    """Return every row of a table predicted without its range of sizes, from the rest of its table and of its key."""
    known = tables_of([row.case for row in rows], [0.0] * len(rows))
    held = leave_out([row for row in rows if table_of(row.case)], size_range_of)
    return tuple(item for item in held if table_of(item.row.case) in known)


def size_range_of(case: Case) -> str:
    """Return the range of sizes of a case, a factor of four of one table; empty where tables do not apply."""
    name = table_of(case)
    if not name:
        return ""
    assert isinstance(case.workload, Collective)
    return f"{name}, ab {4 ** (floor(log2(case.workload.size_bytes)) // 2)} Byte"


def leave_out(rows: Sequence[Row], part_of: Callable[[Case], str]) -> tuple[Held, ...]:
    """Return every row predicted by a fit of its key without its part, and by a naive curve of its family without it."""
    found: list[Held] = []
    for key in sorted({row.case.key for row in rows}):
        own = [row for row in rows if row.case.key == key]
        for part in sorted({part_of(row.case) for row in own}):
            found += _part(rows, own, part, part_of)
    return tuple(found)


def samples(rows: Sequence[Row]) -> list[Sample]:
    """Return rows as samples of a fit."""
    return [Sample(row.case, row.seconds) for row in rows]


def errors(
    rows: Sequence[Row],
    constants: Mapping[str, Constants],
    tables: Mapping[str, Tables] | None = None,
) -> list[float]:
    """Return the logarithmic errors of rows of one key."""
    predicted = formulas.seconds([row.case for row in rows], constants, tables)
    return [log(float(value) / row.seconds) for value, row in zip(predicted, rows, strict=True)]


def _part(rows: Sequence[Row], own: Sequence[Row], part: str, part_of: Callable[[Case], str]) -> list[Held]:
    key = own[0].case.key
    left = [row for row in own if part_of(row.case) == part]
    rest = [row for row in own if part_of(row.case) != part]
    constants = {key: fitting.fit(samples(rest))} if rest else {}
    tables = {key: tables_of([row.case for row in rest], errors(rest, constants))} if rest else {}
    family = left[0].case.family
    others = [row for row in rows if row.case.family is family and part_of(row.case) != part]
    curve: list[float | None] = [None] * len(left)
    if others:
        guess = naive.predict(
            [row.case for row in left], [row.case for row in others], [row.seconds for row in others]
        )
        curve = [float(value) - log(row.seconds) for value, row in zip(guess, left, strict=True)]
    return [
        Held(row, part, error, naive_error)
        for row, error, naive_error in zip(left, errors(left, constants, tables), curve, strict=True)
    ]
