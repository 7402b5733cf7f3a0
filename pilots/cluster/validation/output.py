"""What `validate` prints: JSON for programs, a short German table for people."""

from __future__ import annotations

from typing import Any

from pilots.cluster.german import amount, percent
from pilots.cluster.validation.assessment import Assessment, Line, Split
from pilots.cluster.validation.gates import Gate
from pilots.cluster.validation.intervals import coverage
from pilots.cluster.validation.statistics import Figures, figures
from pilots.cluster.validation.words import NAMES_DE
from pilots.cluster.workloads import Family
from qms.core.values import rounded


def to_json(found: Assessment) -> dict[str, Any]:
    """Return the JSON form: every entry in the order of the file, and a summary. Figures have six digits."""
    return {"entries": [_entry(line) for line in found.lines], "summary": _summary(found)}


def summary_text(found: Assessment) -> str:
    """Return the errors per family, the gates, and every entry, as lines."""
    lines = ["Familie; Stichprobe; n; Median; Mittel; 90. Perzentil; naiv Median"]
    lines += [
        f"{NAMES_DE[item.family]}; {item.sample}; {item.ours.n}; {percent(item.ours.median)}; {percent(item.ours.mean)}; "
        f"{percent(item.ours.p90)}; {percent(item.naive.median) if item.naive else '–'}"
        for item in found.results
    ]
    total = coverage(found.held)
    if total:
        lines += [
            "",
            f"Intervalle treffen {total.hits} von {total.n} ausgelassenen Einträgen ({percent(total.share)}).",
        ]
    lines += [""] + [
        f"{'Gate' if gate.must else 'Ziel'}: {gate.name_de}: {percent(gate.value)} (höchstens {percent(gate.limit)}) "
        f"{'erreicht' if gate.reached else 'verfehlt'}"
        for gate in found.gates
    ]
    return "\n".join([*lines, "", *(_text(line) for line in found.lines)]) + "\n"


def _text(line: Line) -> str:
    if line.value is None or line.lower is None or line.upper is None or line.trust is None:
        return f"{line.row.entry.id}; abgelehnt: {line.row.refused}"
    span = f"{amount(line.value)} [{amount(line.lower)} … {amount(line.upper)}] {line.row.entry.unit}"
    return f"{line.row.entry.id}; {span}; {line.trust.state}"


def _entry(line: Line) -> dict[str, Any]:
    row = line.row
    base = {"id": row.entry.id, "family": row.case.family.value if row.question else None}
    if line.value is None or line.lower is None or line.upper is None or line.trust is None:
        return base | {"refused": row.refused}
    return base | {
        "predicted": _number(line.value),
        "lower": _number(line.lower),
        "upper": _number(line.upper),
        "unit": row.entry.unit,
        "state": line.trust.state,
        "kind": "abgeleitet"
        if row.entry.confidence == "derived"
        else ("Messung" if row.entry.confidence else "ohne Angabe"),
        "counts": row.question.counts if row.question else "",
        "in_calibration": line.seen,
        "note": line.trust.reason or row.unscored,
    }


def _summary(found: Assessment) -> dict[str, Any]:
    total = coverage(found.held)
    return {
        "headline": _figures(figures([item.held.error for item in found.held])),
        "results": [
            {
                "family": item.family.value,
                "sample": item.sample,
                "error": _figures(item.ours),
                "naive": _figures(item.naive),
            }
            for item in found.results
        ],
        "leave_one_setting_out": _split(found.splits[0]),
        "leave_one_system_out": _split(found.splits[1]),
        "leave_one_size_range_out": _split(found.splits[2]),
        "intervals": total
        and {
            "n": total.n,
            "hits": total.hits,
            "share": _number(total.share),
            "median_factor": _number(total.factor),
        },
        "gates": [_gate(gate) for gate in found.gates],
    }


def _gate(gate: Gate) -> dict[str, Any]:
    return {
        "name": gate.name_de,
        "must": gate.must,
        "n": gate.n,
        "value": _number(gate.value),
        "limit": gate.limit,
        "reached": gate.reached,
    }


def _split(split: Split) -> dict[str, Any]:
    return {
        family.value: {
            "error": _figures(split.families[family][0]),
            "naive": _figures(split.families[family][1]),
            "twice_as_good": split.earned(family),
        }
        for family in Family
        if family in split.families
    }


def _figures(value: Figures | None) -> dict[str, Any] | None:
    if value is None:
        return None
    names = ("mean", "median", "p90", "maximum", "bias")
    return {"n": value.n} | {name: _number(getattr(value, name)) for name in names}


def _number(value: float) -> float:
    return float(rounded(value, 6))
