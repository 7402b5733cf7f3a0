"""The whole validation as one value: every entry of a file, and what they say together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import log
from typing import Any, Final

from pilots.wafer.costs.uncertainty import Trust
from pilots.wafer.reading.inputs import Question
from pilots.wafer.reading.quantities import is_rate, to_unit
from pilots.wafer.reference import Reference
from pilots.wafer.validation import naive, verdicts
from pilots.wafer.validation.families import NAIVE_ADVANTAGE, Kind
from pilots.wafer.validation.intervals import Covered, covered
from pilots.wafer.validation.model import EMULATOR, Model
from pilots.wafer.validation.rows import Row, fitted, rows_of, silicon
from pilots.wafer.validation.splits import Held, by_family, by_group, by_system, curve_through, leave_out
from pilots.wafer.validation.statistics import Figures, figures
from pilots.wafer.validity import trust
from pilots.wafer.workloads import Case, Family


@dataclass(frozen=True, slots=True)
class Prediction:
    """One entry of the file with the stored constants, in cycles and in the unit of the entry.

    seen: the fit has seen this very case; naive_cycles: the family's naive curve, None without entries for one.
    """

    cycles: float
    value: float
    lower: float
    upper: float
    trust: Trust
    seen: bool
    naive_cycles: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the file and its prediction, None if it was refused."""

    row: Row
    prediction: Prediction | None


@dataclass(frozen=True, slots=True)
class Result:
    """Errors of one family, kind and sample (German); ours and the naive curve's, over the same entries."""

    family: Family
    kind: Kind
    sample: str
    ours: Figures
    naive: Figures | None


@dataclass(frozen=True, slots=True)
class Split:
    """One way of leaving parts out where neither model has seen the part. parts: name -> ours, naive."""

    parts: Mapping[str, tuple[Figures, Figures]]
    ours: Figures | None
    naive: Figures | None

    @property
    def earned(self) -> bool:
        """Say whether our median error is at most half of the naive one."""
        return bool(self.ours and self.naive and NAIVE_ADVANTAGE * self.ours.median <= self.naive.median)


@dataclass(frozen=True, slots=True)
class Assessment:
    """lines: the file; results: per family, kind and sample; held: left-out predictions with the intervals made
    without them; by_family, by_system: the comparison with the naive curve; pairs: wafer against GPU.
    """

    lines: tuple[Line, ...]
    results: tuple[Result, ...]
    held: tuple[Covered, ...]
    by_family: Split
    by_system: Split
    pairs: tuple[verdicts.Pair, ...]


IN_SAMPLE: Final = "in der Kalibrierung"
LEFT_OUT: Final = "ausgelassene Einstellung"
NEW: Final = "neu in dieser Datei"
NEVER: Final = "nie in der Kalibrierung"


def assess(
    reference: Reference, calibration: Reference, record: Mapping[str, Any], model: Model = EMULATOR
) -> Assessment:
    """Predict every entry of `reference` with the stored constants, and judge the model on `calibration`.

    Splits refit the constants on the entries of `calibration`, the file that `record` was made from.
    """
    model = replace(model, fit=cache(model.fit))  # many splits leave out the same entries
    known = silicon(rows_of(calibration, model))
    rows = rows_of(reference, model)
    lines = lines_of(rows, known, record, model)
    left = covered(leave_out(known, by_group, model, naive_in_family=True))
    return Assessment(
        lines,
        _results(lines, left),
        left,
        _split(leave_out(known, by_family, model, naive_in_family=False)),
        _split(leave_out(known, by_system, model, naive_in_family=False)),
        verdicts.pairs(rows, _guesses(lines, left)),
    )


def lines_of(
    rows: Sequence[Row], known: Sequence[Row], record: Mapping[str, Any], model: Model
) -> tuple[Line, ...]:
    """Return a prediction of every row with the constants of `record`; known: the silicon rows of its file."""
    constants = model.read(record["constants"])
    seen = {row.question.case for row in fitted(known) if row.question}
    curves = {family: curve_through([row for row in known if row.family is family]) for family in Family}
    return tuple(
        Line(
            row,
            _prediction(
                row.question, constants=constants, seen=seen, curves=curves, record=record, model=model
            )
            if row.question
            else None,
        )
        for row in rows
    )


def _prediction(
    question: Question,
    *,
    constants: Any,
    seen: set[Case],
    curves: Mapping[Family, naive.Vector | None],
    record: Mapping[str, Any],
    model: Model,
) -> Prediction:
    case = question.case
    cycles = model.cycles(case, constants)
    trusted = trust(case, record)
    ends = [to_unit(cycles / trusted.factor, question), to_unit(cycles * trusted.factor, question)]
    if is_rate(case.quantity):
        ends.reverse()
    curve = curves[case.family]
    return Prediction(
        cycles,
        to_unit(cycles, question),
        ends[0],
        ends[1],
        trusted,
        case in seen,
        naive.predict(case, curve) if curve else None,
    )


def _results(lines: Sequence[Line], left: Sequence[Covered]) -> tuple[Result, ...]:
    found: list[Result | None] = []
    judged = {item.held.row.question.case for item in left if item.held.row.question}
    for family in Family:
        own = [line for line in lines if line.row.family is family and line.row.scored]
        silicon_lines = [line for line in own if line.row.kind is Kind.SILICON]
        held = [item.held for item in left if item.held.row.family is family]
        found += [
            _result(
                family, Kind.SILICON, IN_SAMPLE, _errors(line for line in silicon_lines if _is_seen(line))
            ),
            _result(family, Kind.SILICON, LEFT_OUT, [_both(item) for item in held]),
            _result(
                family,
                Kind.SILICON,
                NEW,
                _errors(line for line in silicon_lines if _case(line) not in judged),
            ),
        ]
        for kind in (Kind.SIMULATOR, Kind.CLAIM):
            found.append(_result(family, kind, NEVER, _errors(line for line in own if line.row.kind is kind)))
    return tuple(item for item in found if item)


def _case(line: Line) -> Case | None:
    return line.row.question.case if line.row.question else None


def _is_seen(line: Line) -> bool:
    return bool(line.prediction and line.prediction.seen)


def _errors(lines: Iterable[Line]) -> list[tuple[float, float | None]]:
    found = []
    for line in lines:
        published, prediction = line.row.published_cycles, line.prediction
        if prediction and published:
            curve = prediction.naive_cycles
            found.append((log(prediction.cycles / published), log(curve / published) if curve else None))
    return found


def _both(item: Held) -> tuple[float, float | None]:
    return item.log_error, item.naive_log_error


def _result(
    family: Family, kind: Kind, sample: str, errors: Sequence[tuple[float, float | None]]
) -> Result | None:
    ours = figures([error for error, _ in errors])
    curve = [error for _, error in errors if error is not None]
    if ours is None:
        return None
    return Result(family, kind, sample, ours, figures(curve) if len(curve) == len(errors) else None)


def _split(held: Sequence[Held]) -> Split:
    both = [(item.part, item.log_error, item.naive_log_error) for item in held]
    fair = [(part, ours, curve) for part, ours, curve in both if curve is not None]
    parts = {}
    for part in sorted({part for part, _, _ in fair}):
        ours = figures([mine for name, mine, _ in fair if name == part])
        curve = figures([other for name, _, other in fair if name == part])
        if ours and curve:
            parts[part] = (ours, curve)
    return Split(parts, figures([mine for _, mine, _ in fair]), figures([other for _, _, other in fair]))


def _guesses(lines: Sequence[Line], left: Sequence[Covered]) -> dict[str, verdicts.Guess]:
    """Return what is known of each entry without it: the left-out prediction if the fit has seen the case."""
    without = {
        item.held.row.question.case: verdicts.Guess(item.held.cycles, item.factor)
        for item in left
        if item.held.row.question
    }
    found = {}
    for line in lines:
        name, prediction, question = line.row.entry.id, line.prediction, line.row.question
        if question and question.case in without:
            found[name] = without[question.case]
        elif prediction:
            found[name] = verdicts.Guess(prediction.cycles, prediction.trust.factor)
    return found
