"""What the pages of runs show: figures, charts, tables. Pure preparation, no rules."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from pilots import catalog
from pilots import pages_blocks as blocks
from pilots.catalog.wafer_map import View
from pilots.choices import ExitState, RunRole, RunSource, RunValidity
from pilots.models import Run
from qms.core import formats
from qms.core.chart_shapes import Limit
from qms.core.charts import CdfSeries, latency_cdf
from qms.core.errors import Refusal
from qms.core.models import JobState
from qms.core.values import Axes, Metric
from qms.workloads.choices import PlatformKind
from qms.workloads.metrics import catalogue
from qms.workloads.models import Workload

METRIC_LABELS = {
    "throughput_samples_s": lazy("Durchsatz"),
    "throughput_tokens_s": lazy("Durchsatz"),
    "e2e_latency_ms": lazy("Antwortzeit"),
    "peak_memory_bytes": lazy("Speicher"),
    "error_rate": lazy("Fehlerquote"),
    "energy_joules_per_sample": lazy("Energie je Vorhersage"),
    "ttft_ms": lazy("Zeit bis zum ersten Token"),
    "tpot_ms": lazy("Zeit je Ausgabetoken"),
    "itl_ms": lazy("Abstand der Token"),
    "step_time_ms": lazy("Schrittzeit"),
    "time_to_quality_h": lazy("Zeit bis zum Qualitätsziel"),
    "eval_score": lazy("Bewertungswert"),
    "comm_share": lazy("Kommunikationsanteil"),
    "gpu_busy_share": lazy("Beschäftigte Zeit"),
    "power_watts": lazy("Leistungsaufnahme"),
    "temp_c": lazy("Temperatur"),
    "net_bus_bandwidth": lazy("Busbandbreite"),
    "net_algorithm_bandwidth": lazy("Algorithmusbandbreite"),
    "net_latency_ms": lazy("Netzlatenz"),
}


def metrics_of(run: Run) -> list[dict[str, Any]]:
    """Return label and metric of every value of a run."""
    return metrics_in(run.summary)


def metrics_in(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return label and metric of every value of a summary."""
    found = []
    for row in summary.get("metrics", []):
        metric = Metric.from_json(row)
        found.append({"label": metric_name(metric.key, metric.percentile), "metric": metric})
    return found


def metric_name(key: str, percentile: str | None = None) -> str:
    """Return what people call a metric, with its percentile: the short name, else that of the catalogue."""
    known = catalogue().get(key)
    label = METRIC_LABELS.get(key) or (known.name if known else key)
    return f"{label} {percentile}" if percentile else str(label)


def progress_of(run: Run) -> dict[str, Any]:
    """Return the context of the progress component."""
    job = run.job
    permille = job.progress_permille if job else 1000
    if run.is_announced:
        permille = 0
    ended = bool(run.exit_state)
    text = str(ExitState(run.exit_state).label) if ended else (job.progress_text if job else "")
    waiting = bool(job and job.state == JobState.QUEUED)
    otherwise = (
        _("Angekündigt; die Messdateien stehen aus.")
        if run.is_announced
        else _("Der Auftrag ist angenommen.")
    )
    return {
        "id": "lauf",
        "label": _("Wartet auf den Start") if waiting else _("Fortschritt"),
        "permille": 1000 if ended else permille,
        "percent": formats.percent((1000 if ended else permille) / 1000, 0),
        "text": text or otherwise,
        "done": ended,
        "milestone": ended,
        "url": reverse("run_progress", args=[run.pk]),
    }


def spread_of(run: Run) -> str:
    """Return the spread of the throughput over the repetitions, or an empty text."""
    value = run.summary.get("throughput_cv")
    return formats.percent(Decimal(value)) if value else ""


def axes_of_spread(run: Run) -> Axes | None:
    """Return the axes of the throughput, which its spread shares, or None."""
    found = [row["metric"].axes for row in metrics_of(run) if row["metric"].key == "throughput_samples_s"]
    return found[0] if found else None


def latency_chart(run: Run) -> Any:
    """Return the latency curve of a measured run with the limit of the quality target, or None."""
    quantiles = run.summary.get("durations_ms")
    if not quantiles:
        return None
    pairs = tuple((index / 100, float(value)) for index, value in enumerate(quantiles))
    limit = _limit(run.workload)
    label = _("Vergleichsbasis – gemessen")
    return latency_cdf([CdfSeries(label, pairs)], limit=limit, title=_("Antwortzeit der Vergleichsbasis"))


def notices_of(run: Run) -> list[str]:
    """Return the sentences that belong beside the values of a run (EM-02, EM-08, EM-12, EM-14)."""
    found = []
    if run.validity == RunValidity.INVALID and run.announced_at is not None:
        found.append(
            _(
                "Ziellauf ungültig: Die Messung begann vor der Ankündigung (G4-5). Kündigen Sie den nächsten Lauf vorher an."
            )
        )
    if _is_emulated(run):
        found.append(_("Zielplattform emuliert – keine Aussage unter realen Bedingungen"))
        found.append(str(run.summary.get("calibration_note", "")))
        if run.summary.get("replay_equal"):
            found.append(
                _("Nachgerechnet, gleiches Ergebnis. Das belegt die Rechnung, nicht die Wirklichkeit.")
            )
    if run.role == RunRole.BASELINE and run.platform.kind == PlatformKind.DEVELOPMENT_MACHINE:
        found.append(_("Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner."))
    return [text for text in found if text]


def map_of(run: Run, view: View) -> dict[str, Any] | None:
    """Return the wafer map of an emulated run with its legend and table, or None."""
    if not _is_emulated(run):
        return None
    url = reverse("run_map", args=[run.pk])
    views = [item | {"url": f"?ansicht={item['value']}#karte"} for item in blocks.map_views(view)]
    try:
        made = catalog.run_tiles(run.platform.key, run.parameters, view)
    except Refusal:  # the model file is gone or damaged: the rest of the page still counts
        return None
    machine = catalog.machine_of(run.platform.key)
    return blocks.wafer_map(made, machine, url=f"{url}?ansicht={view.value}", view=view, views=views)


def machine_of(run: Run) -> list[dict[str, Any]]:
    """Return machine, mode and state of an emulated run; a run of an earlier version has no mode."""
    if not _is_emulated(run) or "mode" not in run.summary:
        return []
    state = run.summary["state"]
    return [
        {"label": _("Maschine"), "value": str(run.platform)},
        {"label": _("Betriebsart"), "value": str(blocks.MODES[run.summary["mode"]])},
        {"label": _("Zustand des Modells"), "value": " – ".join(_state_words(state))},
    ]


def causes_of(run: Run) -> dict[str, Any] | None:
    """Return where the time of an emulated run goes: chart, sentence, axes; or None."""
    found = {name: Metric.from_json(row) for name, row in run.summary.get("causes", {}).items()}
    chart = blocks.causes_chart(found, _("Zeit eines Stapels nach Ursache – emuliert"))
    if chart is None:
        return None
    axes = next(iter(found.values())).axes
    return {"chart": chart, "sentence": blocks.largest_cause(found), "axes": axes}


def ways_of(run: Run) -> dict[str, Any] | None:
    """Return the latencies between the elements of the machine of an emulated run, or None."""
    if not _is_emulated(run):
        return None
    return blocks.ways_table(catalog.ways(catalog.machine_of(run.platform.key)))


def limits_of(run: Run) -> dict[str, Any] | None:
    """Return the physical limits an emulated run kept (EM-11), or None."""
    checks = run.summary.get("checks")
    metrics = metrics_of(run)
    if not checks or not metrics:
        return None
    return blocks.limits_table(checks, metrics[0]["metric"].axes, catalog.FROM_MACHINE)


def _is_emulated(run: Run) -> bool:
    return run.source == RunSource.EMULATOR and run.exit_state == ExitState.COMPLETED


def _state_words(state: dict[str, str]) -> list[str]:
    return [word for word in (blocks.state_badge(state["code"])["label"], state["reason"]) if word]


def _limit(workload: Workload) -> Limit | None:
    target = workload.quality_targets.filter(metric="e2e_latency_ms").first()
    if target is None:
        return None
    value = float(target.threshold)
    return Limit(value, _("Grenzwert %(value)s") % {"value": formats.quantity(value, "ms")})
