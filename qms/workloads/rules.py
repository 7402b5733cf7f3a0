"""Which fields make a quality target, fallback path and pilot frame complete (G0-6, G0-8, G0-10). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from uuid import UUID

from qms.workloads.choices import AbortCategory, Comparator


@dataclass(frozen=True, slots=True)
class QualityTargetValues:
    """One quality target: `metric` (key, optional percentile such as "p95") compared with threshold in unit."""

    id: str
    metric: str
    comparator: Comparator | None
    threshold: Decimal | None
    unit: str
    dataset_version: str
    confidence_method: str
    percentile: str | None = None

    def met_by(self, value: Decimal) -> bool:
        """Return whether `value` (in the unit of the target) reaches the target; needs a complete target."""
        if self.comparator is None or self.threshold is None:
            raise ValueError(f"quality target {self.id} is incomplete")
        return {
            Comparator.AT_LEAST: value >= self.threshold,
            Comparator.AT_MOST: value <= self.threshold,
            Comparator.ABOVE: value > self.threshold,
            Comparator.BELOW: value < self.threshold,
            Comparator.EQUAL: value == self.threshold,
        }[self.comparator]


@dataclass(frozen=True, slots=True)
class AbortRuleValues:
    """One abort criterion; parsed: whether its text follows the grammar."""

    category: AbortCategory
    text: str
    parsed: bool


@dataclass(frozen=True, slots=True)
class FallbackValues:
    """The fallback path; is_existing: the target platform is in use already (bestand); rto_min: minutes."""

    platform_id: str
    is_existing: bool
    owner_id: UUID | None
    rto_min: int | None
    steps: str


@dataclass(frozen=True, slots=True)
class PilotValues:
    """The frame of the pilot; budget in EUR."""

    start: date | None
    end: date | None
    budget_cap_eur: Decimal | None
    scope: str
    success_measures: tuple[str, ...]
    platform_id: str = ""


def quality_target_gaps(target: QualityTargetValues) -> tuple[str, ...]:
    """Return the names of the missing fields of a quality target; empty means valid (G0-6)."""
    values = {
        "metric": target.metric,
        "comparator": target.comparator,
        "threshold": target.threshold is not None,
        "unit": target.unit or target.metric == "eval_score",
        "dataset_version": target.dataset_version,
        "confidence_method": target.confidence_method,
    }
    return tuple(name for name, value in values.items() if not value)


def fallback_gaps(path: FallbackValues | None, pilot_platform_id: str) -> tuple[str, ...]:
    """Return what the fallback path lacks (G0-8): missing fields, "bestand" or "same_platform"."""
    if path is None:
        return ("fallback",)
    gaps = {
        "target_platform": bool(path.platform_id),
        "bestand": not path.platform_id or path.is_existing,
        "same_platform": not path.platform_id or path.platform_id != pilot_platform_id,
        "owner": path.owner_id is not None,
        "rto_min": path.rto_min is not None and path.rto_min > 0,
        "steps": bool(path.steps.strip()),
    }
    return tuple(name for name, fulfilled in gaps.items() if not fulfilled)


def pilot_gaps(pilot: PilotValues | None, longest: timedelta) -> tuple[str, ...]:
    """Return what the pilot frame lacks (G0-10); `longest` is POL-01; "duration" means it is longer."""
    if pilot is None:
        return ("pilot",)
    dated = pilot.start is not None and pilot.end is not None
    gaps = {
        "start": pilot.start is not None,
        "end": pilot.end is not None,
        "order": not dated or _span(pilot) > timedelta(0),
        "duration": not dated or _span(pilot) <= longest,
        "budget_cap_eur": pilot.budget_cap_eur is not None and pilot.budget_cap_eur > 0,
        "scope": bool(pilot.scope.strip()),
        "success_measures": any(measure.strip() for measure in pilot.success_measures),
    }
    return tuple(name for name, fulfilled in gaps.items() if not fulfilled)


def _span(pilot: PilotValues) -> timedelta:
    if pilot.start is None or pilot.end is None:
        return timedelta(0)
    return pilot.end - pilot.start
