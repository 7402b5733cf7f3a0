"""What a person enters on costs becomes EV-17 and EV-18: the door to `pilots.economics`. No Django models here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from pilots.economics.categories import CATEGORIES, COMPUTE, IDLE, PORTING, Capacity, CommercialModel
from pilots.economics.demand import Demand, Month
from pilots.economics.errors import EconomicsError
from pilots.economics.evaluate import Step, evaluate
from pilots.economics.prices import PublishedPrice, published_prices
from pilots.economics.sheet import CostLine, Cycle, Sheet, Side
from qms.core.errors import CriterionNotMet
from qms.core.values import Better, Metric, Provenance, decimal_text

__all__ = [
    "ASKED",
    "COMPUTE",
    "CYCLE_PARTS",
    "IDLE",
    "PORTING",
    "Basis",
    "Capacity",
    "CommercialModel",
    "CostsEntry",
    "LineEntry",
    "Platform",
    "PublishedPrice",
    "RunHours",
    "SideEntry",
    "Step",
    "facts_of",
    "measured_hours",
    "published_prices",
    "volume_key",
]
ASKED: Final = tuple(item.code for item in CATEGORIES if item.code != IDLE)
"""The categories a person is asked for; the idle part is computed from the utilisation."""
VOLUME_KEYS: Final = ("throughput_tokens_s", "throughput_samples_s")
CYCLE_PARTS: Final = ("queue_h", "transfer_h", "compile_h", "evaluation_h")
PESSIMISTIC_DE: Final = "pessimistisches Ende des Modellfehlers"
_SIGNIFICANT: Final = 6
_FINEST: Final = -12
_SECONDS_PER_HOUR: Final = Decimal(3600)


class Basis(StrEnum):
    """What an amount is paid for."""

    HOUR = "STUNDE"
    UNIT = "EINHEIT"
    MONTH = "MONAT"
    ONCE = "EINMALIG"


@dataclass(frozen=True, slots=True)
class LineEntry:
    """One category as entered: EUR, what for, where from; reason: of a zero."""

    amount: Decimal
    basis: Basis
    source: str = ""
    reason: str = ""
    price_date: date | None = None
    provenance: Provenance = Provenance.ESTIMATED

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {
            "amount": decimal_text(self.amount),
            "basis": self.basis.value,
            "source": self.source,
            "reason": self.reason,
            "price_date": self.price_date.isoformat() if self.price_date else None,
            "provenance": self.provenance.value,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LineEntry:
        """Read what `to_json` wrote."""
        day = data["price_date"]
        return cls(
            Decimal(data["amount"]),
            Basis(data["basis"]),
            data["source"],
            data["reason"],
            date.fromisoformat(day) if day else None,
            Provenance(data["provenance"]),
        )


@dataclass(frozen=True, slots=True)
class SideEntry:
    """One platform as entered. hours: typed run time, None where it is computed; cycle: hours around the run."""

    capacity: Capacity
    commercial_model: CommercialModel
    term_months: Decimal
    hours: Decimal | None = None
    paid_hours_month: Decimal | None = None
    cycle: Mapping[str, Decimal] = field(default_factory=dict)
    lines: Mapping[str, LineEntry] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {
            "capacity": self.capacity.value,
            "commercial_model": self.commercial_model.value,
            "term_months": decimal_text(self.term_months),
            "hours": _text(self.hours),
            "paid_hours_month": _text(self.paid_hours_month),
            "cycle": {name: decimal_text(value) for name, value in self.cycle.items()},
            "lines": {code: line.to_json() for code, line in self.lines.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SideEntry:
        """Read what `to_json` wrote."""
        return cls(
            Capacity(data["capacity"]),
            CommercialModel(data["commercial_model"]),
            Decimal(data["term_months"]),
            _number(data["hours"]),
            _number(data["paid_hours_month"]),
            {name: Decimal(value) for name, value in data["cycle"].items()},
            {code: LineEntry.from_json(line) for code, line in data["lines"].items()},
        )


@dataclass(frozen=True, slots=True)
class CostsEntry:
    """All a person enters. volume_per_unit: samples or tokens of one result; history: month ("2026-08") and amount."""

    result_unit: str
    units_per_month: Decimal
    baseline: SideEntry
    target: SideEntry
    volume_per_unit: Decimal | None = None
    business_reason: str = ""
    demand_source: str = ""
    history: tuple[tuple[str, Decimal], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the stored form: EV-17 keeps it as `entered`, so that the form shows what was typed."""
        return {
            "result_unit": self.result_unit,
            "units_per_month": decimal_text(self.units_per_month),
            "volume_per_unit": _text(self.volume_per_unit),
            "business_reason": self.business_reason,
            "demand_source": self.demand_source,
            "history": {month: decimal_text(units) for month, units in self.history},
            "baseline": self.baseline.to_json(),
            "target": self.target.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CostsEntry:
        """Read what `to_json` wrote."""
        return cls(
            data["result_unit"],
            Decimal(data["units_per_month"]),
            SideEntry.from_json(data["baseline"]),
            SideEntry.from_json(data["target"]),
            _number(data["volume_per_unit"]),
            data["business_reason"],
            data["demand_source"],
            tuple((month, Decimal(units)) for month, units in sorted(data["history"].items())),
        )


@dataclass(frozen=True, slots=True)
class RunHours:
    """Run time of one result in hours, where it comes from, and the note of EM-04."""

    hours: Decimal
    provenance: Provenance
    note: str = ""


@dataclass(frozen=True, slots=True)
class Platform:
    """One side as evidence names it: key, name and kind of the profile, and its metrics."""

    key: str
    name: str
    kind: str
    metrics: tuple[Metric, ...] = ()


def volume_key(baseline: Sequence[Metric], target: Sequence[Metric]) -> str | None:
    """Return the throughput both sides have, or the baseline has while nothing is known of the target; else None."""
    sides = [{metric.key for metric in side} for side in (baseline, target) if side]
    return next((key for key in VOLUME_KEYS if sides and all(key in side for side in sides)), None)


def measured_hours(volume: Decimal, key: str | None, metrics: Sequence[Metric]) -> RunHours | None:
    """Return volume by throughput, of an emulated side at the pessimistic end (EM-04); None without a throughput."""
    metric = next((item for item in metrics if item.key == key and item.percentile is None), None)
    rate = metric.pessimistic(Better.HIGHER) if metric else Decimal(0)
    if metric is None or rate <= 0:
        return None
    emulated = metric.axes.provenance is Provenance.EMULATED
    hours = _significant(volume / rate / _SECONDS_PER_HOUR)
    if hours <= 0:
        return None
    return RunHours(hours, metric.axes.provenance, PESSIMISTIC_DE if emulated else "")


def facts_of(
    entry: CostsEntry,
    baseline: Platform,
    target: Platform,
    *,
    hours: Mapping[str, RunHours],
    comparable: bool,
    steps: tuple[Step, ...],
    safety: Decimal,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return EV-17 and EV-18; steps: POL-45, safety: POL-26; raises CriterionNotMet (G6-2) with what is wrong.

    hours: of "baseline" and "target". What was typed stays in EV-17 as `entered`.
    """
    try:
        sheet = Sheet(
            result_unit=entry.result_unit,
            units_per_month=entry.units_per_month,
            baseline=_side(entry.baseline, baseline, hours["baseline"]),
            target=_side(entry.target, target, hours["target"]),
            comparable=comparable,
            business_reason=entry.business_reason.strip(),
        )
        demand = Demand(
            units_per_month=entry.units_per_month,
            hours_per_unit=hours["target"].hours,
            forecast_units_per_month=entry.units_per_month,
            source=entry.demand_source,
            history=tuple(Month(month, units) for month, units in entry.history),
        )
        costs = evaluate(sheet, steps, safety=safety).to_json()
    except EconomicsError as error:
        raise CriterionNotMet(f"{error.message_de} (G6-2)", id="G6-2") from error
    return costs | {"entered": entry.to_json()}, demand.to_json()


def _side(entry: SideEntry, platform: Platform, hours: RunHours) -> Side:
    return Side(
        platform={"key": platform.key, "name": platform.name, "kind": platform.kind},
        capacity=entry.capacity,
        commercial_model=entry.commercial_model,
        term_months=entry.term_months,
        hours_per_unit=hours.hours,
        hours_provenance=hours.provenance,
        lines=tuple(_line(code, line, entry, hours.hours) for code, line in entry.lines.items()),
        paid_hours_month=entry.paid_hours_month,
        hours_note=hours.note,
        cycle=_cycle(entry, hours.hours),
    )


def _cycle(entry: SideEntry, run_h: Decimal) -> Cycle | None:
    """Return the whole cycle time, None as long as a part of it is missing: the run alone is no evidence (S031)."""
    if set(entry.cycle) != set(CYCLE_PARTS):
        return None
    return Cycle(run_h=run_h, **entry.cycle)


def _line(code: str, line: LineEntry, side: SideEntry, hours: Decimal) -> CostLine:
    """Return the line; an hour of reserved capacity is a paid one, every other hour is one of the run."""
    amount, basis = line.amount, line.basis
    if basis is Basis.HOUR:
        paid = side.paid_hours_month if code == COMPUTE else None
        amount, basis = _fine(amount * (paid or hours)), Basis.MONTH if paid else Basis.UNIT
    return CostLine(
        code,
        fixed_month=amount if basis is Basis.MONTH else None,
        per_unit=amount if basis is Basis.UNIT else None,
        one_off=amount if basis is Basis.ONCE else None,
        reason=line.reason.strip(),
        source=line.source.strip(),
        price_date=line.price_date,
        provenance=line.provenance,
    )


def _fine(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.00000001"))


def _significant(value: Decimal) -> Decimal:
    """Return six significant digits, at most twelve decimals."""
    step = max(value.adjusted() - _SIGNIFICANT + 1, _FINEST)
    return value.quantize(Decimal(1).scaleb(step)).normalize()


def _text(value: Decimal | None) -> str | None:
    return None if value is None else decimal_text(value)


def _number(value: str | None) -> Decimal | None:
    return None if value is None else Decimal(value)
