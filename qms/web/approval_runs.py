"""The values of both runs side by side, and their latency curve."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from django.utils.translation import gettext as _

from qms.approvals import figures
from qms.approvals.choices import ApprovalType
from qms.core import clock, formats
from qms.core.chart_shapes import Limit
from qms.core.charts import CdfSeries, latency_cdf
from qms.core.values import Metric, Provenance
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.workloads.models import Workload

LATENCY: Final = "e2e_latency_ms"
_SHARES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def run_values(workload: Workload, items: list[EvidenceItem]) -> dict[str, Any]:
    """Return the values of both runs side by side, their latency curve, and the pages of the runs."""
    facts = _run_facts(workload, items)
    metrics = {name: _metrics(found) for name, found in facts.items()}
    keys = list(dict.fromkeys(key for found in metrics.values() for key in found))
    rows = [
        {
            "name": figures.metric_name(next(found[key] for found in metrics.values() if key in found)),
            "baseline": metrics.get("EV-02", {}).get(key),
            "target": metrics.get("EV-04", {}).get(key),
        }
        for key in keys
    ]
    return {
        "rows": rows,
        "baseline_run": next((item.run_id for item in items if item.type == "EV-02"), None),
        "target_run": next((item.run_id for item in items if item.type == "EV-04"), None),
        "chart": _latency(metrics, workload),
    }


def _run_facts(workload: Workload, items: list[EvidenceItem]) -> dict[str, tuple[Metric, ...]]:
    found: dict[str, tuple[Metric, ...]] = {}
    if not items:
        return found
    facts = gates.facts_for(workload, ApprovalType.PRELIMINARY, at=clock.now(), items=items)
    if facts.baseline:
        found["EV-02"] = facts.baseline.metrics
    if facts.target:
        found["EV-04"] = facts.target.metrics
    return found


def _metrics(metrics: tuple[Metric, ...]) -> dict[tuple[str, str | None], Metric]:
    return {(metric.key, metric.percentile): metric for metric in metrics}


def _latency(metrics: dict[str, dict[tuple[str, str | None], Metric]], workload: Workload) -> Any:
    """Return the latency curve through the computed quantiles of both runs, or None without any."""
    emulated = any(item.axes.provenance is Provenance.EMULATED for item in metrics.get("EV-04", {}).values())
    names = {
        "EV-04": _("Ziel, emuliert") if emulated else _("Ziel, gemessen"),
        "EV-02": _("Vergleichsbasis, gemessen"),
    }
    series = []
    for key, label in names.items():
        found = metrics.get(key, {})
        points = [
            (share, float(found[LATENCY, name].value))
            for name, share in _SHARES.items()
            if (LATENCY, name) in found
        ]
        rising = all(b[1] >= a[1] for a, b in pairwise(points))
        if len(points) > 1 and rising:
            series.append(CdfSeries(label, tuple(points)))
    if not series:
        return None
    target = workload.quality_targets.filter(metric=LATENCY).first()
    limit = None
    if target:
        text = _("Grenzwert %(value)s") % {"value": formats.quantity(target.threshold, target.unit)}
        limit = Limit(float(target.threshold), text)
    return latency_cdf(series, limit=limit, title=_("Antwortzeit: welcher Anteil bleibt darunter"))
