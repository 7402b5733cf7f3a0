"""Fit the timing constants to published runs on silicon, and measure the error on what the fit has not seen.

`python -m pilots.wafer.calibrate` prints `data/calibration.json` again; `--extract FILE` prints `data/reference.json`
from a whole file of published figures. Families and settings are declared in `validation.families`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any, Final

from pilots.wafer.extract import extract
from pilots.wafer.fitting import touches
from pilots.wafer.reference import Reference, published
from pilots.wafer.validation.intervals import FACTORS, width_of
from pilots.wafer.validation.model import EMULATOR, Model
from pilots.wafer.validation.rows import Row, fitted, rows_of, silicon
from pilots.wafer.validation.splits import Held, by_group, leave_out, samples
from pilots.wafer.validation.statistics import TOO_FEW
from pilots.wafer.validity import range_of
from pilots.wafer.workloads import Family
from qms.core.values import decimal_text, rounded

ABOUT: Final = "Written by pilots.wafer.calibrate from reference.json; decimals are strings."


def calibrate(reference: Reference, model: Model = EMULATOR) -> dict[str, Any]:
    """Return the calibration record: constants, and per family what it rests on, its range and its interval."""
    model = replace(model, fit=cache(model.fit))  # held-out errors and stability leave out the same entries
    rows = rows_of(reference, model)
    seen = fitted(rows)
    held = leave_out(silicon(rows), by_group, model, naive_in_family=True)
    return {
        "about": ABOUT,
        "clock": "compared in cycles",
        "constants": model.fit(samples(seen)).to_json(),
        "stability": _stability(seen, model),
        "excluded": [row.entry.id for row in rows if row.question and row.unscored],
        "factors": FACTORS,
        "families": {family.value: _family(family, seen, held) for family in Family},
    }


def text(record: dict[str, Any]) -> str:
    """Return a record as it is stored."""
    return json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Print the calibration record, or with `--extract FILE` the extract of a whole file; 2 for other arguments."""
    if not arguments:
        sys.stdout.write(text(calibrate(published())))
        return 0
    if len(arguments) == 2 and arguments[0] == "--extract":
        full = json.loads(Path(arguments[1]).read_text(encoding="utf-8"))
        sys.stdout.write(text(extract(full)))
        return 0
    sys.stderr.write("Aufruf: python -m pilots.wafer.calibrate [--extract DATEI]\n")
    return 2


def _family(family: Family, seen: Sequence[Row], held: Sequence[Held]) -> dict[str, Any]:
    own = [row for row in seen if row.family is family]
    errors = [item for item in held if item.row.family is family]
    width = width_of(family, held)
    parts = sorted({item.part for item in errors})
    return {
        "factor_calibrated": _text(width.calibrated),
        "factor_extrapolated": _text(width.extrapolated),
        "fitted_on": [row.entry.id for row in own if row.question and touches(row.question.case)],
        "held_out": [_left_out(part, [item for item in errors if item.part == part]) for part in parts],
        "interval_90": _interval(len(errors), judged=width.judged),
        "judged": width.judged,
        "range": range_of([row.question.case for row in own if row.question]),
    }


def _stability(seen: Sequence[Row], model: Model) -> dict[str, Any]:
    """Return per constant by which factor it moves at most when one setting is left out, and which one that is."""
    whole: dict[str, str] = model.fit(samples(seen)).to_json()
    moved: dict[str, tuple[float, str]] = dict.fromkeys(whole, (0.0, ""))
    for part in sorted({by_group(row) for row in seen}):
        without = model.fit(samples([row for row in seen if by_group(row) != part])).to_json()
        for name, text in whole.items():
            change = abs(log(float(without[name]) / float(text)))
            moved[name] = max(moved[name], (change, part), key=lambda item: item[0])
    return {name: {"factor": _text(exp(change)), "without": part} for name, (change, part) in moved.items()}


def _left_out(part: str, items: Sequence[Held]) -> dict[str, Any]:
    worst = max((item.log_error for item in items), key=abs)
    return {"left_out": part, "n": len(items), "error": _text(worst)}


def _interval(count: int, *, judged: bool) -> str:
    if not judged:
        return "too few independent held-out entries of its own: width of all families together, never KALIBRIERT"
    return (
        "maximum, fewer than ten held-out entries"
        if count < TOO_FEW
        else "90th percentile of held-out errors"
    )


def _text(value: float) -> str:
    return decimal_text(rounded(value, 6))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
