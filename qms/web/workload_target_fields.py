"""What a target can be set for: metrics with the percentile that measurements give, and how an answer becomes a target."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from django.utils.translation import gettext as _

from qms.core.values import Better
from qms.workloads.choices import Comparator
from qms.workloads.metrics import catalogue
from qms.workloads.models import QualityTarget
from qms.workloads.services.criteria import TargetData

# A target compares only with a metric of the same percentile; measurements give p50, p95 or p99, never none.
_SERVICE_LEVELS: Final = (
    ("e2e_latency_ms", "p95"),
    ("e2e_latency_ms", "p50"),
    ("e2e_latency_ms", "p99"),
    ("throughput_samples_s", ""),
    ("throughput_tokens_s", ""),
    ("ttft_ms", "p50"),
    ("ttft_ms", "p99"),
    ("tpot_ms", "p50"),
    ("tpot_ms", "p99"),
)
# Metrics a baseline and a target run can both show; the first is proposed.
_QUALITY: Final = (
    ("output_cosine", ""),
    ("output_rel_dev", ""),
    ("eval_score", ""),
    ("error_rate", ""),
    *_SERVICE_LEVELS,
)


def quality_choices() -> list[tuple[str, str]]:
    """Return the metrics a quality target can use, each with its unit."""
    return _choices(_QUALITY)


def service_choices() -> list[tuple[str, str]]:
    """Return the metrics a further target for response time or throughput can use."""
    return [("", _("kein weiteres Ziel")), *_choices(_SERVICE_LEVELS)]


def _choices(rows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    names = catalogue()
    units = {"ratio": _("Anteil von 0 bis 1"), "*": _("Wert von 0 bis 1"), "n": _("Anzahl")}
    return [
        (
            f"{key} {percentile}".strip(),
            f"{names[key].name} {percentile}".strip() + f" ({units.get(names[key].unit, names[key].unit)})",
        )
        for key, percentile in rows
    ]


def chosen(target: QualityTarget) -> str:
    """Return the choice a stored target came from."""
    return f"{target.metric} {target.percentile}".strip()


def target_data(
    choice: str, threshold: Decimal, dataset_version: str, comparator: Comparator | None = None
) -> TargetData:
    """Return what the command takes; without a comparator the better side of the metric decides."""
    key, _space, percentile = choice.partition(" ")
    known = catalogue()[key]
    better = Comparator.AT_MOST if known.better is Better.LOWER else Comparator.AT_LEAST
    return TargetData(
        metric=key,
        dataset_version=dataset_version,
        comparator=comparator or better,
        threshold=threshold,
        unit="" if known.unit == "*" else known.unit,
        percentile=percentile,
    )
