"""Parts of the page "Vergleich": where a step goes, MFU, measured beside modelled, the whole cycle. No rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from pilots import pages_blocks as blocks
from pilots.catalog.decomposition import Decomposition, Group, Part, Source
from pilots.catalog.explained import Modelled, Utilisation
from pilots.catalog.utilisation import REFERENCE_BAND, Finding
from pilots.pages import metric_name
from qms.core import formats
from qms.core.chart_bars import BarRow, horizontal_bars
from qms.core.values import Axes, Metric, weakest

GROUPS: Final[dict[Group, Promise]] = {
    Group.COMPUTE: lazy("Rechnen"),
    Group.MEM_WALL: lazy("Warten auf Speicher"),
    Group.NETWORK: lazy("Netz"),
    Group.OTHER: lazy("Start, Host und Leerlauf"),
    Group.UNASSIGNED: lazy("nicht zugeordnet"),
}
SOURCES: Final[dict[Source, Promise]] = {
    Source.MEASURED: lazy("Gemessene Anteile aus Messung oder Profiler-Spur."),
    Source.CLUSTER: lazy(
        "Nicht gemessen, sondern vom Clustermodell gerechnet: ein Durchgang des Modells auf einer GPU."
    ),
    Source.EMULATOR: lazy("Vom Emulator gerechnet, mit dem Intervall des Modellfehlers."),
}
CYCLE: Final[dict[str, Promise]] = {
    "queue_h": lazy("Warten auf die Plattform"),
    "transfer_h": lazy("Daten übertragen"),
    "compile_h": lazy("Übersetzen"),
    "run_h": lazy("Lauf"),
    "evaluation_h": lazy("Auswerten"),
    "total_h": lazy("ganzer Zyklus"),
}
FINDINGS: Final[dict[Finding, tuple[Promise, str]]] = {
    Finding.PLAUSIBLE: (lazy("plausibel"), "ok"),
    Finding.QUESTION: (lazy("bitte prüfen"), "warn"),
    Finding.IMPOSSIBLE: (lazy("unplausibel"), "bad"),
}


def decomposition(found: Decomposition, title: str) -> dict[str, Any]:
    """Return bars, table and sentence of where a step goes."""
    metrics = [part.metric for part in found.parts if part.metric is not None]
    columns = [(_("Teil"), False), (_("Zeit"), True), (_("Anteil am Schritt"), True)]
    rows = [_part(part) for part in found.parts]
    if found.step is not None:
        whole = blocks.with_interval(found.step)
        rows.append([{"text": _("Schritt")}, whole, {"text": formats.percent(1, 0)}])
    return {
        "title": title,
        "source": str(SOURCES[found.source]),
        "axes": metrics[0].axes if metrics else None,
        "exceeds": _exceeds(found),
        "chart": _bars(found, title),
        "table": blocks.table(title, columns, rows),
    }


def _part(part: Part) -> list[dict[str, Any]]:
    time: dict[str, Any] = {"text": "–", "small": _("Zeit des Schritts nicht gemessen")}
    if part.metric is not None:
        time = blocks.with_interval(part.metric)
    return [{"text": str(GROUPS[part.group])}, time, {"text": formats.percent(part.share)}]


def _exceeds(found: Decomposition) -> str:
    if not found.exceeds:
        return ""
    facts = {"share": formats.percent(found.total)}
    return _("Die Teile ergeben zusammen %(share)s des Schritts. Bitte prüfen Sie Messung und Spur.") % facts


def _bars(found: Decomposition, title: str) -> Any:
    """Return the bars; milliseconds where the step is known, else shares. The table of the chart is the page's own."""
    parts = [part for part in found.parts if part.share > 0]
    if not parts:
        return None
    if found.step is None:
        rows = [BarRow(str(GROUPS[part.group]), float(part.share)) for part in parts]
        return horizontal_bars(rows, unit="ratio", title=title, axis=_("Anteil am Schritt"))
    rows = [_bar(str(GROUPS[part.group]), part.metric) for part in parts if part.metric is not None]
    return horizontal_bars(rows, unit="ms", title=title, axis=_("Millisekunden")) if rows else None


def _bar(label: str, metric: Metric) -> BarRow:
    interval = metric.interval
    ends = (float(interval.lower), float(interval.upper)) if interval else (None, None)
    return BarRow(label, float(metric.value), *ends)


def mfu(found: Utilisation, band: tuple[Decimal, Decimal]) -> dict[str, Any]:
    """Return the MFU with what it was computed from, its finding, and the band of the source text as a line to look at."""
    label, tone = FINDINGS[found.mfu.finding]
    axes = weakest([found.rate.axes, found.peak.axes])
    return {
        "value": formats.percent(found.mfu.value),
        "axes": axes,
        "badge": {"code": found.mfu.finding.value, "label": str(label), "tone": tone},
        "sentence": _finding(found, band),
        "reference": _reference(),
        "facts": [
            {
                "label": _("Gemessener Durchsatz"),
                "value": formats.metric_value(found.rate),
                "axes": found.rate.axes,
            },
            {
                "label": _("Rechenschritte des Modells je Einheit"),
                "value": blocks.si(found.flops_each, "FLOP"),
                "axes": axes,
            },
            {"label": _("Geräte"), "value": formats.number(found.devices, 0)},
            {
                "label": _("Angegebene Spitze je Gerät (%(precision)s)")
                % {"precision": found.peak.precision},
                "value": blocks.si(found.peak.flops_per_s, "FLOP/s"),
                "axes": found.peak.axes,
            },
            {"label": _("Quelle der Spitze"), "value": found.peak.source_de},
        ],
    }


def _finding(found: Utilisation, band: tuple[Decimal, Decimal]) -> str:
    facts = {"low": formats.percent(band[0], 0), "high": formats.percent(band[1], 0)}
    facts["effective"] = blocks.si(found.mfu.effective_flops_per_s, "FLOP/s")
    facts["peak"] = blocks.si(found.mfu.peak_flops_per_s, "FLOP/s")
    sentences = {
        Finding.PLAUSIBLE: _("Der Wert liegt im üblichen Bereich von %(low)s bis %(high)s (POL-37)."),
        Finding.QUESTION: _(
            "Der Wert liegt außerhalb von %(low)s bis %(high)s (POL-37). Bitte prüfen Sie Durchsatz, Zahl der Geräte "
            "und Genauigkeit der Spitze; ein Fehler ist es nicht."
        ),
        Finding.IMPOSSIBLE: _(
            "Gerechnet wären %(effective)s, die Plattform kann höchstens %(peak)s: Diese Messung ist unplausibel "
            "(EM-11). Bitte prüfen Sie Durchsatz, Modell und Zahl der Geräte."
        ),
    }
    return sentences[found.mfu.finding] % facts


def _reference() -> str:
    facts = {"low": formats.percent(REFERENCE_BAND[0], 0), "high": formats.percent(REFERENCE_BAND[1], 0)}
    return (
        _(
            "Zum Vergleich: Ausgangstext A, Zeile 26, nennt für tiefe Netze „oft“ %(low)s bis %(high)s; eine Behauptung, kein Messwert."
        )
        % facts
    )


def beside_model(found: Modelled, step: Metric, measured: Sequence[Metric]) -> dict[str, Any]:
    """Return what was measured beside the cluster model's, as a note: it changes no result. step: the measured time."""
    facts = {"device": found.device.name, "batch": formats.number(found.batch, 0)}
    inside = found.holds(step)
    by_place = {(metric.key, metric.percentile): metric for metric in reversed(measured)}
    columns = [
        (_("Messgröße"), False),
        (_("gemessen"), False),
        (_("Clustermodell"), False),
        (_("Zustand"), False),
    ]
    state = blocks.state_cell(found.step.state)
    rows = [
        [
            {"text": metric_name(metric.key, metric.percentile)},
            blocks.with_interval(before) if before else {"text": _("nicht gemessen")},
            blocks.with_interval(metric),
            state if metric.interval else {"text": _("gezählt")},
        ]
        for metric in found.metrics
        for before in (by_place.get((metric.key, metric.percentile)),)
    ]
    return {
        "sentence": _("Ein Durchgang mit %(batch)s Beispielen auf einer GPU %(device)s.") % facts,
        "inside": _("Die gemessene Zeit liegt im Intervall des Clustermodells.")
        if inside
        else _(
            "Die gemessene Zeit liegt außerhalb des Intervalls des Clustermodells. Das ist ein Hinweis, keine Bewertung: "
            "Prüfen Sie, ob Messung und Modell dieselbe Aufgabe meinen."
        ),
        "tone": "info" if inside else "warn",
        "table": blocks.table(_("Messung und Clustermodell"), columns, rows),
    }


def cycle(facts: Mapping[str, Any], axes: Axes) -> dict[str, Any] | None:
    """Return the whole cycle of both sides from the sheet of costs (EV-17), None where nobody entered it; axes: of the sheet."""
    sides = [facts.get(name) or {} for name in ("baseline", "target")]
    cycles = [side.get("cycle") or {} for side in sides]
    if not any(cycles):
        return None
    columns = [(_("Abschnitt"), False), (_("Vergleichsbasis"), True), (_("Ziel"), True)]
    rows = [
        [{"text": str(label)}, *(_hours(found.get(key), axes) for found in cycles)]
        for key, label in CYCLE.items()
    ]
    return {
        "table": blocks.table(_("Ganzer Zyklus"), columns, rows),
        "incomplete": any(_number(found.get("total_h")) is None for found in cycles),
    }


def _hours(text: Any, axes: Axes) -> dict[str, Any]:
    value = _number(text)
    if value is None:
        return {"text": _("nicht erfasst")}
    return {"text": formats.quantity(value, "h"), "axes": axes}


def _number(text: Any) -> Decimal | None:
    try:
        return None if text is None else Decimal(str(text))
    except InvalidOperation:
        return None
