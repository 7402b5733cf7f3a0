"""Facts of the evidence of suitability and economics: EV-01, 17, 18, 19, 20, 26 and 27. Pure; `business_readers` reads them.

Money is EUR, times are hours, shares lie between 0 and 1; `None` means "not known".
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from qms.core.values import Metric
from qms.gates.evidence_facts import PlatformFacts

RESERVED: Final = "RESERVIERT"
LEVELS: Final = ("HARDWARE", "SOFTWARE", "LIEFERUNG")


@dataclass(frozen=True, slots=True)
class SuitabilityFacts:
    """The answers on suitability; state_gb: needed state in GB (1e9 bytes); alternatives: option and reason."""

    org_profile: str = ""
    bottleneck_types: tuple[str, ...] = ()
    business_reason: str = ""
    usage_kind: str = ""
    runs_per_month: Decimal | None = None
    hours_per_run: Decimal | None = None
    requests_per_day: Decimal | None = None
    planned_runs: int | None = None
    team_size: int | None = None
    params_b: Decimal | None = None
    state_gb: Decimal | None = None
    primary_metrics: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ProfileFacts:
    """EV-01: shares of a step of the existing platform."""

    platform: PlatformFacts
    comm_share: Decimal | None
    mem_stall_share: Decimal | None
    compute_share: Decimal | None
    metrics: tuple[Metric, ...]
    measured_at: datetime


@dataclass(frozen=True, slots=True)
class CostLineFacts:
    """One TCO category of one side; an amount is None where nobody has answered."""

    category: str
    fixed_month: Decimal | None
    per_unit: Decimal | None
    one_off: Decimal | None
    reason: str
    price_date: date | None = None

    @property
    def amounts(self) -> tuple[Decimal | None, ...]:
        """Return the three amounts."""
        return self.fixed_month, self.per_unit, self.one_off


@dataclass(frozen=True, slots=True)
class CostSideFacts:
    """Costs of the baseline or the target; capacity: RESERVIERT or NUTZUNGSABHAENGIG.

    computed_from: SHA-256 of the measurement the run time rests on, None where there was none.
    """

    platform_name: str
    capacity: str
    commercial_model: str
    lines: tuple[CostLineFacts, ...]
    paid_hours_month: Decimal | None
    hours_per_unit: Decimal | None
    hours_provenance: str
    total_month: Decimal | None
    unit_cost: Decimal | None
    utilisation_paid: Decimal | None
    term_months: Decimal | None = None
    platform_key: str = ""
    computed_from: str | None = None


@dataclass(frozen=True, slots=True)
class BreakEvenFacts:
    """Break-even of reserved capacity; reachable is False where no utilisation carries the cost."""

    units: Decimal | None
    utilisation: Decimal | None
    forecast: Decimal | None
    reachable: bool
    required: Decimal | None = None
    payback_months: Decimal | None = None


@dataclass(frozen=True, slots=True)
class SensitivityFacts:
    """One step of POL-45 with the unit costs and the ratio it leads to."""

    step: str
    change: Decimal
    ratio: Decimal | None
    baseline: Decimal | None = None
    target: Decimal | None = None


@dataclass(frozen=True, slots=True)
class CostFacts:
    """EV-17; comparable is False for the baseline of a development machine (EM-12), then no ratio counts.

    outdated: computed from other measurements, or for another target platform, than those that are judged.
    """

    comparable: bool
    result_unit: str
    units_per_month: Decimal | None
    baseline: CostSideFacts
    target: CostSideFacts
    ratio: Decimal | None
    break_even: BreakEvenFacts | None
    sensitivity: tuple[SensitivityFacts, ...]
    business_value_reason: str
    outdated: bool = False


@dataclass(frozen=True, slots=True)
class DemandFacts:
    """EV-18; history: month ("2026-08") and results of it; backed_months: months the forecast rests on."""

    units_per_month: Decimal | None
    hours_per_unit: Decimal | None
    requests_per_day: Decimal | None
    history: tuple[tuple[str, Decimal], ...]
    forecast_units_per_month: Decimal | None
    backed_months: int
    source: str


@dataclass(frozen=True, slots=True)
class LevelFacts:
    """Score 0 to 4 of one level with who gave it and on what."""

    name: str
    score: int | None
    assessor: str
    evidence: str


@dataclass(frozen=True, slots=True)
class LevelsFacts:
    """EV-19: the three levels in the order hardware, software, delivery; a missing one has no score."""

    platform: str
    levels: tuple[LevelFacts, ...]


@dataclass(frozen=True, slots=True)
class OfferFacts:
    """EV-20: offer, contract and exit; fields are empty or None where not answered."""

    platform: str
    commercial_model: str
    reference: str
    offered_at: date | None
    term_months: int | None
    notice_months: int | None
    transition: str
    data_return: str
    export_format: str
    exit_cost_eur: Decimal | None
    exit_cost_reason: str
    switching_charges_eur: Decimal | None
    switching_reason: str


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    """One row of EV-26; status: GEKLAERT, OFFEN or ENTFAELLT."""

    item: str
    status: str
    responsible: str
    note: str
    cost_eur: Decimal | None = None


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """EV-26: the environment checklist of a platform."""

    platform: str
    items: tuple[ChecklistItem, ...]


@dataclass(frozen=True, slots=True)
class CapabilityRow:
    """One row of EV-27."""

    row: str
    responsible: str
    evidence: str


@dataclass(frozen=True, slots=True)
class CapabilityFacts:
    """EV-27: the capability matrix of the organisation."""

    rows: tuple[CapabilityRow, ...]
