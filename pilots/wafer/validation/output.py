"""What `validate` prints: JSON for programs, a short German table for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilots.wafer.validation.assessment import Assessment, Line, Split
from pilots.wafer.validation.families import DECLARED, Kind
from pilots.wafer.validation.intervals import coverage
from pilots.wafer.validation.report import headline
from pilots.wafer.validation.statistics import Figures
from pilots.wafer.validation.words import amount, percent, signed_percent, times
from qms.core.values import rounded


def to_json(found: Assessment) -> dict[str, Any]:
    """Return the JSON form: every entry in the order of the file, and a summary. Figures have six digits."""
    return {"entries": [_entry(line) for line in found.lines], "summary": _summary(found)}


def summary_text(found: Assessment) -> str:
    """Return a table of the errors and one of the entries, as aligned text."""
    total, covered = headline(found), coverage(found.held)
    heads = ("Familie", "Art", "Stichprobe", "n", "Verzerrung", "Median", "90. Perz.", "naiv Median")
    results = [
        (
            DECLARED[item.family].name_de,
            item.kind.value,
            item.sample,
            str(item.ours.n),
            signed_percent(item.ours.bias),
            percent(item.ours.median),
            percent(item.ours.p90) + (" max" if item.ours.p90_is_maximum else ""),
            percent(item.naive.median) if item.naive else "–",
        )
        for item in found.results
    ]
    lines = _aligned(heads, results)
    if total and covered:
        lines += [
            "",
            (
                f"Silizium, Einstellung ausgelassen: n = {total.n}, Median {percent(total.median)}, 90. Perzentil {percent(total.p90)}; "
                f"Intervalle treffen {covered.hits} von {covered.n}, Breite {times(covered.median_factor)}."
            ),
        ]
    names = ("Eintrag", "vorhergesagt", "von", "bis", "Einheit", "Zustand")
    return "\n".join([*lines, "", *_aligned(names, [_text_row(line) for line in found.lines])]) + "\n"


def _text_row(line: Line) -> tuple[str, ...]:
    found = line.prediction
    if found is None:
        return line.row.entry.id, "–", "–", "–", "–", f"abgelehnt: {line.row.refused}"
    values = (amount(found.value), amount(found.lower), amount(found.upper))
    return line.row.entry.id, *values, line.row.entry.unit, found.trust.state


def _aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    return [
        "  ".join(item.ljust(width) for item, width in zip(row, widths, strict=True)).rstrip()
        for row in (heads, *rows)
    ]


def _entry(line: Line) -> dict[str, Any]:
    row, found = line.row, line.prediction
    base = {"id": row.entry.id, "family": row.family.value if row.family else None}
    if found is None:
        return base | {"refused": row.refused}
    return base | {
        "predicted": _number(found.value),
        "lower": _number(found.lower),
        "upper": _number(found.upper),
        "unit": row.entry.unit,
        "state": found.trust.state,
        "kind": row.kind.value,
        "in_calibration": found.seen,
        "note": found.trust.reason or row.unscored,
    }


def _summary(found: Assessment) -> dict[str, Any]:
    total, intervals = headline(found), coverage(found.held)
    return {
        "headline": _figures(total),
        "coverage": [_coverage(found, family) for family in DECLARED],
        "results": [
            {
                "family": item.family.value,
                "kind": item.kind.value,
                "sample": item.sample,
                "error": _figures(item.ours),
                "naive": _figures(item.naive),
            }
            for item in found.results
        ],
        "leave_one_family_out": _split(found.by_family),
        "leave_one_system_out": _split(found.by_system),
        "intervals": None
        if intervals is None
        else {
            "n": intervals.n,
            "hits": intervals.hits,
            "share": _number(intervals.share),
            "median_factor": _number(intervals.median_factor),
        },
        "verdicts": {
            "n": len(found.pairs),
            "order": sum(pair.order_right for pair in found.pairs),
            "factor": sum(pair.factor_right for pair in found.pairs),
            "undecidable": sum(pair.undecidable for pair in found.pairs),
            "misses": [
                f"{pair.wafer_id} : {pair.gpu}"
                for pair in found.pairs
                if not (pair.order_right and pair.factor_right)
            ],
        },
    }


def _coverage(found: Assessment, family: Any) -> dict[str, Any]:
    own = [line for line in found.lines if line.row.family is family and line.row.kind is not Kind.GPU]
    predicted = [line for line in own if line.prediction]
    return {
        "family": family.value,
        "known": len(own),
        "predicted": len(predicted),
        "scored": sum(line.row.scored for line in predicted),
    }


def _split(split: Split) -> dict[str, Any]:
    return {
        "parts": {
            part: {"error": _figures(ours), "naive": _figures(curve)}
            for part, (ours, curve) in split.parts.items()
        },
        "error": _figures(split.ours),
        "naive": _figures(split.naive),
        "twice_as_good": split.earned,
    }


def _figures(value: Figures | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {
        "n": value.n,
        "bias": _number(value.bias),
        "median": _number(value.median),
        "p90": _number(value.p90),
        "p90_is_maximum": value.p90_is_maximum,
    }


def _number(value: float) -> float:
    return float(rounded(value, 6))
