"""What the pages of runs show: figures, charts, tables. Pure preparation, no rules."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from pilots import catalog
from pilots.choices import ExitState, RunRole
from pilots.models import Run
from qms.core import formats, heatmap
from qms.core.chart_shapes import Limit
from qms.core.charts import CdfSeries, latency_cdf
from qms.core.models import JobState
from qms.core.values import Axes, Metric
from qms.workloads.choices import PlatformKind
from qms.workloads.models import Workload

METRIC_LABELS = {
    "throughput_samples_s": lazy("Durchsatz"),
    "throughput_tokens_s": lazy("Durchsatz"),
    "e2e_latency_ms": lazy("Antwortzeit"),
    "peak_memory_bytes": lazy("Speicher"),
    "error_rate": lazy("Fehlerquote"),
    "energy_joules_per_sample": lazy("Energie je Vorhersage"),
}


def metrics_of(run: Run) -> list[dict[str, Any]]:
    """Return label and metric of every value of a run."""
    found = []
    for row in run.summary.get("metrics", []):
        metric = Metric.from_json(row)
        name = str(METRIC_LABELS.get(metric.key, metric.key))
        found.append(
            {"label": f"{name} {metric.percentile}" if metric.percentile else name, "metric": metric}
        )
    return found


def progress_of(run: Run) -> dict[str, Any]:
    """Return the context of the progress component."""
    job = run.job
    permille = job.progress_permille if job else 1000
    ended = bool(run.exit_state)
    text = str(ExitState(run.exit_state).label) if ended else (job.progress_text if job else "")
    waiting = bool(job and job.state == JobState.QUEUED)
    return {
        "id": "lauf",
        "label": _("Wartet auf den Start") if waiting else _("Fortschritt"),
        "permille": 1000 if ended else permille,
        "percent": formats.percent((1000 if ended else permille) / 1000, 0),
        "text": text or _("Der Auftrag ist angenommen."),
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
    if run.role == RunRole.TARGET and run.exit_state == ExitState.COMPLETED:
        found.append(_("Zielplattform emuliert – keine Aussage unter realen Bedingungen"))
        found.append(str(run.summary.get("calibration_note", "")))
        if run.summary.get("replay_equal"):
            found.append(
                _("Nachgerechnet, gleiches Ergebnis. Das belegt die Rechnung, nicht die Wirklichkeit.")
            )
    if run.role == RunRole.BASELINE and run.platform.kind == PlatformKind.DEVELOPMENT_MACHINE:
        found.append(_("Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner."))
    return [text for text in found if text]


def equivalence_of(run: Run) -> list[dict[str, str]]:
    """Return how far the outputs are from the reference, relative to its largest value, beside the tolerance."""
    found = run.summary.get("equivalence")
    if not found or not found["max_abs_delta"] or not found["max_abs_reference"]:
        return []
    reference = Decimal(found["max_abs_reference"])
    relative = Decimal(found["max_abs_delta"]) / reference if reference else Decimal(0)
    shown = relative.quantize(Decimal(1).scaleb(relative.adjusted() - 2)) if relative else relative
    return [
        {"label": _("größte Abweichung"), "value": f"{formats.exact(shown * 100)}{formats.NBSP}%"},
        {
            "label": _("zulässig (POL-06)"),
            "value": f"{formats.exact(Decimal(found['rtol']) * 100)}{formats.NBSP}%",
        },
    ]


def map_of(run: Run) -> dict[str, Any] | None:
    """Return the wafer map of an emulated run with its legend and table, or None."""
    if run.role != RunRole.TARGET or run.exit_state != ExitState.COMPLETED:
        return None
    made = heatmap.tiles(catalog.sram_map(run.platform.key, run.parameters))
    used = int((made.maximum > 0).sum())
    spots = heatmap.conspicuous(made)
    labels = [_("Feld"), _("Mittel"), _("Maximum")]
    url = reverse("run_map", args=[run.pk])
    return {
        "url": url,
        "width": made.pes.shape[1] * 3,
        "height": made.pes.shape[0] * 3,
        "alt": _("Belegter Speicher je Feld: %(used)d von %(total)d Feldern tragen das Programm.")
        % {"used": used, "total": made.pes.size},
        "views": [],
        "legend": [
            {
                "colour": "#{:02x}{:02x}{:02x}".format(*heatmap.ramp()[step]),
                "label": formats.percent(step / 100, 0),
            }
            for step in (0, 25, 50, 75, 100)
        ],
        "notes": [
            _(
                "Belegter Speicher je Rechenelement (SRAM), Skala fest von 0 bis 100\u00a0%. Ein Feld sind 8 × 8 Rechenelemente."
            ),
            _("Emuliert: Belegung nach dem übersetzten Programm."),
        ],
        "table": {
            "label": _("Zehn auffälligste Felder"),
            "columns": [{"label": label, "numeric": index > 0} for index, label in enumerate(labels)],
            "rows": [
                {
                    "cells": [
                        {
                            "header": True,
                            "text": _("Spalte %(x)d, Zeile %(y)d") % {"x": spot.column, "y": spot.row},
                        },
                        {"label": labels[1], "text": formats.percent(spot.mean / 100), "numeric": True},
                        {"label": labels[2], "text": formats.percent(spot.maximum / 100), "numeric": True},
                    ]
                }
                for spot in spots
            ],
        },
    }


def _limit(workload: Workload) -> Limit | None:
    target = workload.quality_targets.filter(metric="e2e_latency_ms").first()
    if target is None:
        return None
    value = float(target.threshold)
    return Limit(value, _("Grenzwert %(value)s") % {"value": formats.quantity(value, "ms")})
