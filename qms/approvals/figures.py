"""The figures, notices and names of measures that page and document share; German, whatever language is active."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from qms.approvals.choices import ApprovalType
from qms.approvals.dossier import BuiltDossier
from qms.approvals.models import Approval
from qms.approvals.selectors import ACTIVE
from qms.core import formats
from qms.core.values import Assurance, Axes, Metric, Origin, Provenance
from qms.gates import board
from qms.gates.outcome import metric_de
from qms.gates.report import GateReport, Verdict

RECOMMENDED: Final = frozenset({"VORFREIGABE_EMPFOHLEN", "BEDINGTE_FREIGABE_EMPFOHLEN", "FREIGABE_EMPFOHLEN"})
_ON_COSTS: Final = frozenset({"G6-2", "G6-3", "G6-4", "G6-5"})
_THROUGHPUT: Final = (("throughput_samples_s", None), ("throughput_tokens_s", None))
_LATENCY: Final = (
    ("e2e_latency_ms", "p95"),
    ("e2e_latency_ms", "p99"),
    ("ttft_ms", "p99"),
    ("ttft_ms", "p50"),
)
METRIC_NAMES: dict[str, str] = {
    "throughput_samples_s": "Durchsatz",
    "throughput_tokens_s": "Durchsatz",
    "e2e_latency_ms": "Antwortzeit",
    "peak_memory_bytes": "Speicher",
    "error_rate": "Fehlerquote",
    "energy_joules_per_sample": "Energie je Vorhersage",
    "output_rel_dev": "Abweichung der Ausgaben",
    "output_cosine": "Kosinusähnlichkeit der Ausgaben",
}


def board_sentence(approval: Approval, built: BuiltDossier, valid_until: Any) -> str:
    """Return the sentence for the page of a request, and for a given Freigabe that of its document."""
    if approval.status in ACTIVE:
        return decided_sentence(approval, built, valid_until)
    target = built.facts.target
    return request_sentence(
        built.report,
        title=approval.workload.title,
        valid_until=valid_until,
        emulated=bool(target and target.emulated),
    )


def request_sentence(report: GateReport, *, title: str, valid_until: date, emulated: bool) -> str:
    """Return the sentence of a request: that of the verdict as soon as there is one, a no as plainly as a yes."""
    if report.verdict:
        return report.verdict.sentence_de
    return board.approval_sentence(report, title=title, valid_until=valid_until, emulated=emulated)


def decided_sentence(approval: Approval, built: BuiltDossier, valid_until: Any) -> str:
    """Return the sentence of a given Freigabe with the row of the verdict table, or that it departs from it."""
    target, verdict = built.facts.target, built.report.verdict
    emulated, title = bool(target and target.emulated), approval.workload.title
    given = list(approval.conditions.all())
    if given:
        sentence = board.conditional_sentence(
            approval_type=ApprovalType(approval.type),
            title=title,
            valid_until=valid_until,
            emulated=emulated,
            criteria=[item.criterion for item in given],
            last_due=max(item.due for item in given),
        )
    else:
        sentence = board.approval_sentence(
            built.report, title=title, valid_until=valid_until, emulated=emulated
        )
    if verdict is None:
        return sentence
    if in_favour(verdict):
        return f"{sentence.removesuffix('.')} ({verdict.id})."
    return _("%(sentence)s; abweichend von der Empfehlung %(id)s.") % {
        "sentence": sentence.removesuffix("."),
        "id": verdict.id,
    }


def in_favour(verdict: Verdict) -> bool:
    """Return whether the verdict recommends a Freigabe."""
    return verdict.code in RECOMMENDED


def figures(built: BuiltDossier) -> list[dict[str, str]]:
    """Return up to three figures with their axes: those of the costs where they decide, else of speed."""
    return _of_costs(built) or _of_speed(built)


def _of_costs(built: BuiltDossier) -> list[dict[str, str]]:
    """Return both unit costs and the utilisation, if the verdict turns on them and both are comparable."""
    costs, verdict = built.facts.costs, built.report.verdict
    if costs is None or verdict is None or not _ON_COSTS & set(verdict.deciding[:1]):
        return []
    if not costs.comparable or costs.target.unit_cost is None or costs.baseline.unit_cost is None:
        return []
    name = _("Kosten je %(unit)s") % {"unit": costs.result_unit}
    found = [
        _derived(f"{name} · {_target_label(built)}", formats.money(costs.target.unit_cost), ""),
        _derived(f"{name} · {_('Vergleichsbasis')}", formats.money(costs.baseline.unit_cost), ""),
    ]
    if costs.break_even and costs.break_even.forecast is not None:
        required = costs.break_even.required
        needed = "" if required is None else _("nötig: %(share)s") % {"share": formats.percent(required)}
        found.append(_derived(_("Erwartete Auslastung"), formats.percent(costs.break_even.forecast), needed))
    return found


def _derived(label: str, value: str, note: str) -> dict[str, str]:
    axes = Axes(Provenance.DERIVED, Assurance.SUBMITTED, Origin.OWN)
    return {"label": label, "value": value, "axes": formats.axes_text(axes), "note": note}


def _of_speed(built: BuiltDossier) -> list[dict[str, str]]:
    """Return throughput and latency of the target, and throughput today."""
    found = []
    target, baseline = built.facts.target, built.facts.baseline
    if target:
        shown = [_first(target.metrics, _THROUGHPUT), _first(target.metrics, _LATENCY)]
        found += [_figure(_target_label(built), metric) for metric in shown if metric]
    metric = _first(baseline.metrics, _THROUGHPUT) if baseline else None
    if baseline and metric:
        machine = baseline.platform.development_machine
        label = _("Vergleichsbasis: Entwicklungsrechner") if machine else _("Vergleichsbasis")
        found.append(_figure(label, metric))
    return found


def _target_label(built: BuiltDossier) -> str:
    target = built.facts.target
    return _("Zielplattform (emuliert)") if target and target.emulated else _("Zielplattform")


def _first(metrics: tuple[Metric, ...], wanted: tuple[tuple[str, str | None], ...]) -> Metric | None:
    found = (find(metrics, key, percentile) for key, percentile in wanted)
    return next((item for item in found if item), None)


def notices(built: BuiltDossier) -> list[str]:
    """Return the sentences that must stand on page 1 (EM-02, EM-08, EM-12)."""
    found = []
    target, baseline = built.facts.target, built.facts.baseline
    if target and target.emulated:
        found.append(_("Zielplattform emuliert – keine Aussage unter realen Bedingungen"))
        note = next((metric.note for metric in target.metrics if metric.key.startswith("throughput")), "")
        if note:
            found.append(note)
    if baseline and baseline.platform.development_machine:
        found.append(_("Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner."))
    return found


def not_checked(built: BuiltDossier) -> list[str]:
    """Return what the rule-set version did not check, per gate, for page 1 (EM-13)."""
    report = built.report
    by_gate: dict[str, list[str]] = {}
    for item in report.not_checked:
        by_gate.setdefault(item.gate, []).append(item.title_de)
    lines = [report.checked_de() + "."]
    return lines + [f"{gate}: {', '.join(titles)}" for gate, titles in by_gate.items()]


def _figure(label: str, metric: Metric) -> dict[str, str]:
    interval = formats.metric_interval(metric)
    return {
        "label": f"{metric_name(metric)} · {label}",
        "value": formats.metric_value(metric),
        "axes": formats.axes_text(metric.axes),
        "note": _("Modellfehler-Intervall: %(interval)s") % {"interval": interval}
        if interval
        else metric.note,
    }


def metric_name(metric: Metric) -> str:
    """Return the German name of a metric with its percentile."""
    return named(metric.key, metric.percentile)


def named(key: str, percentile: str | None) -> str:
    """Return the German name of a key with its percentile: the short one, else that of the catalogue."""
    if key not in METRIC_NAMES:
        return metric_de(key, percentile)
    return f"{METRIC_NAMES[key]} {percentile}" if percentile else METRIC_NAMES[key]


def with_interval(metric: Metric) -> str:
    """Return the value of a metric with its axes and, if it has one, its interval, as one cell."""
    interval = formats.metric_interval(metric)
    value = f"{formats.metric_value(metric)} ({formats.axes_text(metric.axes)})"
    return f"{value}; {interval}" if interval else value


def months(count: int | None) -> str:
    """Return a number of months in words, empty where unknown."""
    return "" if count is None else ngettext("%(n)d Monat", "%(n)d Monate", count) % {"n": count}


def money_with_reason(value: Decimal | None, reason: str) -> str:
    """Return an amount with the reason given for it, empty where unknown."""
    if value is None:
        return ""
    return f"{formats.money(value)} ({reason})" if reason else formats.money(value)


def porting_effort(built: BuiltDossier) -> str:
    """Return what porting took by the report of the target run (EV-05, G4-6), as one cell."""
    porting = built.facts.porting
    if porting is None:
        return _("nicht geprüft, weil der Portierungsbericht (EV-05) fehlt")
    if not porting.framework:
        return _("entfällt, weil das Modell nur aus Schichtbreiten besteht")
    days = [row.days for row in porting.effort if row.days is not None]
    if len(days) < len(porting.effort) or not days:
        return _("noch nicht eingetragen")
    return _("%(days)s Personentage, geschätzt") % {"days": formats.exact(sum(days, Decimal(0)))}


def find(metrics: tuple[Metric, ...], key: str, percentile: str | None) -> Metric | None:
    """Return the metric with this key and percentile, or None."""
    return next((item for item in metrics if item.key == key and item.percentile == percentile), None)
