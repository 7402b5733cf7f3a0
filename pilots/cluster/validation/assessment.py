"""The whole validation as one value: every entry of a file, held-out errors of the calibration, and the gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pilots.cluster.constants import constants_of, tables_of
from pilots.cluster.formulas import seconds
from pilots.cluster.reference import Reference
from pilots.cluster.validation.gates import Gate, gates
from pilots.cluster.validation.intervals import Covered, covered, covered_in_tables
from pilots.cluster.validation.rows import Row, rows_of, scored, setting_of, system_of
from pilots.cluster.validation.splits import Held, errors, leave_out, leave_out_ranges
from pilots.cluster.validation.statistics import Figures, figures
from pilots.cluster.validity import Trust, trust
from pilots.cluster.workloads import Case, Family

NAIVE_ADVANTAGE: Final = 2.0
IN_SAMPLE: Final = "in der Kalibrierung"
LEFT_OUT: Final = "Einstellung ausgelassen"
NEW: Final = "neu in dieser Datei"
BY_SETTING: Final = (
    "Ein Modell, eine Reihe von Matrixprodukten oder eine Fabric mit ihrer GPU-Zahl fehlt ganz. An dieser und der nächsten "
    "Teilung wird das Ziel je Familie gemessen."
)
BY_SYSTEM: Final = "Eine GPU fehlt ganz, mit allen ihren Modellen und Fabrics."
BY_RANGE: Final = (
    "Nur Kollektive, deren System eine Tabelle hat. Ein Bereich der Größe (Faktor vier) fehlt der Anpassung und der Tabelle; "
    "vorhergesagt wird aus der Formel und dem Rest der Tabelle. Das ist die Frage für ein System, das schon gemessen ist, und "
    "zählt nicht für das Ziel je Familie."
)


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the file with its prediction in the unit of the entry; value, ends and trust are None if refused."""

    row: Row
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    trust: Trust | None = None
    seen: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """Errors of one family and sample (German)."""

    family: Family
    sample: str
    ours: Figures
    naive: Figures | None


@dataclass(frozen=True, slots=True)
class Split:
    """Errors of one way of leaving out, per family; note_de: what it asks, in one sentence or two."""

    name_de: str
    note_de: str
    families: Mapping[Family, tuple[Figures, Figures | None]]

    def earned(self, family: Family) -> bool | None:
        """Say whether our median is at most half of the naive one; None where there is nothing to compare."""
        ours, naive = self.families[family]
        return NAIVE_ADVANTAGE * ours.median <= naive.median if naive else None


@dataclass(frozen=True, slots=True)
class Assessment:
    """lines: the file; results; held: left-out settings with intervals; ranges: left-out ranges of sizes of a table with
    theirs; splits: the comparison with the naive curve.
    """

    lines: tuple[Line, ...]
    results: tuple[Result, ...]
    held: tuple[Covered, ...]
    ranges: tuple[Covered, ...]
    splits: tuple[Split, ...]
    gates: tuple[Gate, ...]


def assess(reference: Reference, calibration: Reference, record: Mapping[str, Any]) -> Assessment:
    """Predict every entry with the stored constants; judge the model on the file that `record` was made from."""
    known = scored(rows_of(calibration))
    lines = lines_of(rows_of(reference), known, record)
    by_setting, by_system = leave_out(known, setting_of), leave_out(known, system_of)
    by_range = leave_out_ranges(known)
    splits = (
        _split("Einstellung (Modell)", BY_SETTING, by_setting),
        _split("System (GPU)", BY_SYSTEM, by_system),
        _split("Größenbereich eines bekannten Systems", BY_RANGE, by_range),
    )
    return Assessment(
        lines,
        _results(lines, by_setting, record),
        covered(by_setting),
        covered_in_tables(by_range),
        splits,
        gates(known, by_setting, record),
    )


def lines_of(rows: Sequence[Row], known: Sequence[Row], record: Mapping[str, Any]) -> tuple[Line, ...]:
    """Return a prediction of every row with the constants of `record`; known: rows the fit has seen."""
    seen, constants, tables = {row.case for row in known}, constants_of(record), tables_of(record)
    asked = [row for row in rows if row.question]
    guesses: dict[str, float] = {}
    for key in sorted({row.case.key for row in asked}):
        own = [row for row in asked if row.case.key == key]
        values = seconds([row.case for row in own], constants, tables)
        guesses |= {row.entry.id: float(value) for row, value in zip(own, values, strict=True)}
    return tuple(_line(row, guesses.get(row.entry.id), seen, record) for row in rows)


def _line(row: Row, guess: float | None, seen: set[Case], record: Mapping[str, Any]) -> Line:
    if row.question is None or guess is None:
        return Line(row)
    found = trust(row.case, record)
    ends = sorted(row.question.value(guess * factor) for factor in (1 / found.factor, found.factor))
    return Line(row, row.question.value(guess), ends[0], ends[1], found, row.case in seen)


def _results(lines: Sequence[Line], held: Sequence[Held], record: Mapping[str, Any]) -> tuple[Result, ...]:
    found: list[Result] = []
    for family in Family:
        left = [item for item in held if item.row.case.family is family]
        samples: tuple[tuple[str, list[float], list[float]], ...] = (
            (IN_SAMPLE, _errors(lines, family, record, seen=True), []),
            (
                LEFT_OUT,
                [item.error for item in left],
                [item.naive_error for item in left if item.naive_error is not None],
            ),
            (NEW, _errors(lines, family, record, seen=False), []),
        )
        for sample, ours, curve in samples:
            own = figures(ours)
            if own:
                found.append(Result(family, sample, own, figures(curve)))
    return tuple(found)


def _errors(lines: Sequence[Line], family: Family, record: Mapping[str, Any], *, seen: bool) -> list[float]:
    rows = [
        line.row for line in lines if line.row.scored and line.seen is seen and line.row.case.family is family
    ]
    # a table would repeat the rows it was made of, so those are judged by the formula alone
    constants, tables = constants_of(record), {} if seen else tables_of(record)
    keys = sorted({row.case.key for row in rows})
    return [
        error
        for key in keys
        for error in errors([row for row in rows if row.case.key == key], constants, tables)
    ]


def _split(name_de: str, note_de: str, held: Sequence[Held]) -> Split:
    found: dict[Family, tuple[Figures, Figures | None]] = {}
    for family in Family:
        fair = [item for item in held if item.row.case.family is family]
        ours = figures(
            [item.error for item in fair if item.naive_error is not None] or [item.error for item in fair]
        )
        if ours:
            found[family] = (
                ours,
                figures([item.naive_error for item in fair if item.naive_error is not None]),
            )
    return Split(name_de, note_de, found)
