"""What the page "Kosten und Auslastung" starts with and shows. No rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from django.utils.translation import gettext as _

from pilots.catalog.costs import (
    PORTING,
    Basis,
    CommercialModel,
    CostsEntry,
    SideEntry,
    published_prices,
)
from pilots.services.costs import SIDES, Ground
from qms.core import formats, store
from qms.core.values import Assurance, Axes, Metric, Origin
from qms.evidence import selectors as evidence
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.web import evidence_costs, tables
from qms.workloads.models import Workload

MONTHS: Final = 12
COMPUTE_SHARE: Final = ("util_compute", "mfu", "gpu_busy_share")


@dataclass(frozen=True)
class Stale:
    """A measurement that came after the sheet: its side, the run time in the sheet and the one that follows now."""

    side: str
    before: str
    now: str


def months_before(today: date) -> list[str]:
    """Return the twelve whole months before this one, newest first, as "2026-08"."""
    number = today.year * 12 + today.month - 1
    return [f"{one // 12}-{one % 12 + 1:02d}" for one in range(number - 1, number - 1 - MONTHS, -1)]


def facts_of(item: EvidenceItem | None) -> dict[str, Any]:
    """Return the facts of a sheet, {} where there is none or its file is damaged; then its own page says so."""
    try:
        return item.facts() if item else {}
    except store.StoredFileError:
        return {}


def entry_of(facts: Mapping[str, Any]) -> CostsEntry | None:
    """Return what was entered for a sheet, None where it came in by another way."""
    return CostsEntry.from_json(facts["entered"]) if "entered" in facts else None


def stale(facts: Mapping[str, Any], ground: Ground) -> list[Stale]:
    """Return the sides measured anew since the sheet was computed."""
    if "entered" not in facts:
        return []
    volume = facts["entered"]["volume_per_unit"]
    measured = ground.measured(Decimal(volume) if volume else None)
    found = []
    for side, label in SIDES.items():
        if facts["computed_from"][side] != ground.sources[side]:
            now = evidence_costs.hours(str(measured[side].hours)) if side in measured else ""
            found.append(Stale(str(label), evidence_costs.hours(facts[side]["hours_per_unit"]), now))
    return found


def proposal(workload: Workload) -> dict[str, Any]:
    """Return what is known of a workload without a sheet, by field; each value is marked as a proposal."""
    answers = getattr(workload, "suitability", None)
    offer = _offer(workload)
    days = porting_days(workload)
    values: dict[str, Any] = {
        "result_unit": _("Lauf"),
        "units_per_month": getattr(answers, "runs_per_month", None),
        "baseline_hours": getattr(answers, "hours_per_run", None),
        "baseline_commercial_model": CommercialModel.EXISTING.value,
        "baseline_term_months": Decimal(12),
        f"baseline_{PORTING}_amount": Decimal(0),
        f"baseline_{PORTING}_basis": Basis.ONCE.value,
        f"baseline_{PORTING}_note": _("Läuft dort bereits."),
        "target_commercial_model": offer.get("commercial_model", CommercialModel.INDIVIDUAL_OFFER.value),
        "target_term_months": Decimal(offer.get("term_months") or 12),
        "target_source": offer.get("reference"),
        "target_date": offer.get("offered_at"),
        f"target_{PORTING}_basis": Basis.ONCE.value,
        f"target_{PORTING}_note": _("%(days)s Personentage laut EV-05") % {"days": formats.exact(days)}
        if days
        else None,
    }
    return {name: value for name, value in values.items() if value is not None}


def porting_days(workload: Workload) -> Decimal:
    """Return the person days of the porting report (EV-05), zero while nobody entered them."""
    item = evidence.current(workload).filter(type=EvidenceType.PORTING).first()
    stated = facts_of(item).get("porting_effort_pt") or {}
    return sum((Decimal(value) for value in stated.values() if value is not None), Decimal(0))


def _offer(workload: Workload) -> dict[str, Any]:
    """Return the offer recorded at the target's platform (EV-20), {} without one."""
    found = (item for item in evidence.inherited(workload) if item.type == EvidenceType.OFFER)
    return facts_of(next(found, None))


def prices() -> dict[str, Any]:
    """Return the published prices as a table: a hint for one's own entry, never taken over by itself."""
    columns = [(_("Angebot"), False), (_("Preis"), True), (_("Preisstand"), False), (_("Quelle"), False)]
    rows: list[list[dict[str, Any]]] = [
        [
            {"text": f"{row.device}: {row.offer}"},
            {
                "text": f"{_span(row.low, row.high)}{formats.NBSP}{row.currency} / {row.unit}",
                "axes": Axes(row.provenance, Assurance.SUBMITTED, Origin.PUBLISHED),
            },
            {"text": formats.day(row.on) if row.on else _("Tag nicht genannt")},
            {"text": row.source, "code": True},
        ]
        for row in published_prices()
    ]
    return tables.table(_("Veröffentlichte Preise"), columns, rows)


def _span(low: Decimal, high: Decimal) -> str:
    if low == high:
        return formats.number(low, 2)
    return _("%(low)s bis %(high)s") % {"low": formats.number(low, 2), "high": formats.number(high, 2)}


def computed_shares(ground: Ground) -> list[dict[str, Any]]:
    """Return how busy the machines are while they compute, apart from how much of the paid time is used (S029)."""
    sides = {"baseline": ground.baseline, "target": ground.target}
    rows = []
    for side, label in SIDES.items():
        metric = next((one for key in COMPUTE_SHARE for one in sides[side].metrics if one.key == key), None)
        name = _("Rechenauslastung im Lauf · %(side)s") % {"side": label}
        rows.append({"label": name, **_share(metric)})
    return rows


def _share(metric: Metric | None) -> dict[str, Any]:
    if metric is None:
        return {"value": _("nicht gemessen")}
    return {"value": formats.metric_value(metric), "axes": metric.axes}


def initial_of(entry: CostsEntry) -> dict[str, Any]:
    """Return the values of the form for what was entered before."""
    values: dict[str, Any] = {
        "units_per_month": entry.units_per_month,
        "result_unit": entry.result_unit,
        "volume_per_unit": entry.volume_per_unit,
        "demand_source": entry.demand_source,
        "business_reason": entry.business_reason,
    }
    values |= {f"month_{month}": units for month, units in entry.history}
    for name, side in (("baseline", entry.baseline), ("target", entry.target)):
        values |= {f"{name}_{key}": value for key, value in _initial_side(side).items()}
    return values


def _initial_side(side: SideEntry) -> dict[str, Any]:
    first = next((line for line in side.lines.values() if line.amount), None)
    values: dict[str, Any] = {
        "capacity": side.capacity.value,
        "hours": side.hours,
        "paid_hours": side.paid_hours_month,
        "source": first.source if first else "",
        "date": first.price_date if first else None,
        "provenance": first.provenance.value if first else "",
        "commercial_model": side.commercial_model.value,
        "term_months": side.term_months,
        **side.cycle,
    }
    for code, line in side.lines.items():
        own = first is not None and line.source == first.source
        values |= {
            f"{code}_amount": line.amount,
            f"{code}_basis": line.basis.value,
            f"{code}_note": line.reason or ("" if own else line.source),
            f"{code}_date": None if first and line.price_date == first.price_date else line.price_date,
            f"{code}_provenance": ""
            if first and line.provenance == first.provenance
            else line.provenance.value,
        }
    return values
