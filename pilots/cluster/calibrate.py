"""Fit the constants to the published figures of the package, and measure the error on settings the fit has not seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from pilots.cluster import fitting, measured
from pilots.cluster.reference import Reference
from pilots.cluster.validation.intervals import table_width, width_of
from pilots.cluster.validation.rows import rows_of, scored, setting_of
from pilots.cluster.validation.splits import Held, errors, leave_out, leave_out_ranges, samples
from pilots.cluster.validity import range_of
from qms.core.values import decimal_text, rounded

ABOUT: Final = "Written by `python -m pilots.cluster calibrate`; decimals are strings, widths logarithms."


def calibrate(reference: Reference, held: Sequence[Held] | None = None) -> dict[str, Any]:
    """Return the calibration record: per family and software constants, settings, range and interval.

    held: every row with its setting left out, if that is known already.
    """
    rows = scored(rows_of(reference))
    left = leave_out(rows, setting_of) if held is None else held
    ranges = leave_out_ranges(rows)
    keys: dict[str, Any] = {}
    for key in sorted({row.case.key for row in rows}):
        own = [row for row in rows if row.case.key == key]
        width, constants = width_of(key, left), fitting.fit(samples(own))
        keys[key] = {
            "constants": {name: _text(value) for name, value in constants.items()},
            "log_width": _text(width.log_width),
            "judged": width.judged,
            "rows": len(own),
            "settings": sorted({setting_of(row.case) for row in own}),
            "range": range_of([row.case for row in own]),
        }
        tables = measured.tables_of([row.case for row in own], errors(own, {key: constants}))
        if tables:
            width_in = table_width([item for item in ranges if item.row.case.key == key])
            keys[key] |= {"tables": measured.to_json(tables), "table_log_width": _text(width_in)}
    return {"about": ABOUT, "keys": keys}


def text(record: dict[str, Any]) -> str:
    """Return a record as it is stored."""
    return json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _text(value: float) -> str:
    return decimal_text(rounded(value, 5))
