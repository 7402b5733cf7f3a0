"""From a sheet to its answer: full cost, unit cost, utilisation, break-even, payback and sensitivity (spec 3.17)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from types import MappingProxyType
from typing import Any, Final

from pilots.economics.amounts import WIDE, computed_text, money_text, ratio_text, share_text
from pilots.economics.categories import CATEGORIES, COMPUTE, PORTING, Capacity
from pilots.economics.sheet import CURRENCY, PERIOD, ZERO, Sheet, Side
from qms.core.values import decimal_text

SCHEMA: Final = "qms.costs/1"
ONE: Final = Decimal(1)
SAFETY: Final = Decimal("1.10")  # POL-26


@dataclass(frozen=True, slots=True)
class Step:
    """One question of the sensitivity table: which input changes (a key of CHANGES) and by which share."""

    key: str
    change: Decimal


STEPS: Final[tuple[Step, ...]] = (  # POL-45
    Step("AUSLASTUNG", Decimal("-0.20")),
    Step("MENGE", Decimal("-0.20")),
    Step("MENGE", Decimal("0.20")),
    Step("PREIS", Decimal("0.20")),
    Step("PORTIERUNG", Decimal("0.50")),
)


@dataclass(frozen=True, slots=True)
class SideCost:
    """One side for a number of results: EUR per month, per result and the sum; one-off costs are spread over the term."""

    units: Decimal
    fixed_month: Decimal
    per_unit: Decimal
    one_off: Decimal
    term_months: Decimal

    @property
    def total_month(self) -> Decimal:
        """Full cost of the month, the share of the one-off costs included."""
        return self.fixed_month + self.per_unit * self.units

    @property
    def unit_cost(self) -> Decimal:
        """Full cost of one result."""
        return self.total_month / self.units

    @property
    def running_month(self) -> Decimal:
        """Cost of the month without the share of the one-off costs."""
        return self.total_month - self.one_off / self.term_months


def side_cost(side: Side, units: Decimal, factors: Mapping[str, Decimal] = MappingProxyType({})) -> SideCost:
    """Return what a side costs; factors: on the amounts of some categories.

    Beyond the paid hours more capacity is bought at the price of the paid hour.
    """
    share = side.utilisation(units)
    growth = max(ONE, share) if share is not None else ONE
    fixed = per_unit = one_off = ZERO
    for line in side.lines:
        factor = factors.get(line.category, ONE)
        fixed += (line.fixed_month or ZERO) * factor * (growth if line.category == COMPUTE else ONE)
        per_unit += (line.per_unit or ZERO) * factor
        one_off += (line.one_off or ZERO) * factor
    return SideCost(units, fixed + one_off / side.term_months, per_unit, one_off, side.term_months)


@dataclass(frozen=True, slots=True)
class BreakEven:
    """From how many results on the target pays; `reachable` is None for pay-per-use, False where never."""

    units: Decimal | None = None
    utilisation: Decimal | None = None
    required: Decimal | None = None
    forecast: Decimal | None = None
    payback_months: Decimal | None = None
    reachable: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the part of EV-17."""
        return {
            "units": None if self.units is None else decimal_text(self.units),
            "utilisation": None if self.utilisation is None else share_text(self.utilisation),
            "required": None if self.required is None else share_text(self.required),
            "forecast": None if self.forecast is None else share_text(self.forecast),
            "payback_months": None if self.payback_months is None else computed_text(self.payback_months),
            "reachable": self.reachable,
        }


@dataclass(frozen=True, slots=True)
class StepResult:
    """Unit costs after one step; ratio: None where the sides may not be compared."""

    step: Step
    baseline: Decimal
    target: Decimal
    ratio: Decimal | None

    def to_json(self) -> dict[str, Any]:
        """Return the row of EV-17."""
        return {
            "step": self.step.key,
            "change": format(self.step.change, "f"),
            "baseline": computed_text(self.baseline),
            "target": computed_text(self.target),
            "ratio": None if self.ratio is None else ratio_text(self.ratio),
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The answer to a sheet. ratio: unit cost target by baseline; None where incomplete or not comparable (EM-12)."""

    sheet: Sheet
    baseline: SideCost
    target: SideCost
    ratio: Decimal | None
    break_even: BreakEven
    sensitivity: tuple[StepResult, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the facts of EV-17 (`qms.costs/1`)."""
        sheet = self.sheet
        return {
            "schema": SCHEMA,
            "type": "EV-17",
            "currency": CURRENCY,
            "period": PERIOD,
            "result_unit": sheet.result_unit,
            "units_per_month": decimal_text(sheet.units_per_month),
            "comparable": sheet.comparable,
            "baseline": _side_json(sheet.baseline, self.baseline),
            "target": _side_json(sheet.target, self.target),
            "ratio": None if self.ratio is None else ratio_text(self.ratio),
            "break_even": self.break_even.to_json(),
            "sensitivity": [item.to_json() for item in self.sensitivity],
            "business_value": {"reason": sheet.business_reason},
        }


def evaluate(sheet: Sheet, steps: tuple[Step, ...] = STEPS, *, safety: Decimal = SAFETY) -> Evaluation:
    """Return the evaluation of a sheet; steps: POL-45, safety: factor over the break-even utilisation (POL-26)."""
    with localcontext(WIDE):
        units = sheet.units_per_month
        baseline, target = side_cost(sheet.baseline, units), side_cost(sheet.target, units)
        judged = sheet.comparable and sheet.complete
        return Evaluation(
            sheet=sheet,
            baseline=baseline,
            target=target,
            ratio=_ratio(target, baseline) if judged else None,
            break_even=break_even(sheet.target, target, baseline, safety) if judged else BreakEven(),
            sensitivity=tuple(_step(sheet, item, judged=judged) for item in steps),
        )


def break_even(side: Side, target: SideCost, baseline: SideCost, safety: Decimal) -> BreakEven:
    """Return from how many results the target costs no more than the baseline, and the utilisation that needs."""
    saving = baseline.running_month - target.running_month
    payback = target.one_off / saving if target.one_off and saving > 0 else None
    if side.capacity is Capacity.PAY_PER_USE or side.paid_hours_month is None:
        return BreakEven(payback_months=payback)
    forecast = side.utilisation(target.units)
    margin = baseline.unit_cost - target.per_unit
    if margin <= 0:
        return BreakEven(forecast=forecast, payback_months=payback, reachable=False)
    units = (target.fixed_month / margin).to_integral_value(ROUND_CEILING)
    share = units * side.hours_per_unit / side.paid_hours_month
    return BreakEven(units, share, share * safety, forecast, payback, reachable=share <= 1)


def _ratio(target: SideCost, baseline: SideCost) -> Decimal | None:
    return target.unit_cost / baseline.unit_cost if baseline.unit_cost else None


def _step(sheet: Sheet, step: Step, *, judged: bool) -> StepResult:
    baseline, target = CHANGES[step.key](sheet, ONE + step.change)
    return StepResult(
        step, baseline.unit_cost, target.unit_cost, _ratio(target, baseline) if judged else None
    )


def _less_used(sheet: Sheet, factor: Decimal) -> tuple[SideCost, SideCost]:
    units = sheet.units_per_month
    return side_cost(sheet.baseline, units), side_cost(sheet.target, units * factor)


def _other_volume(sheet: Sheet, factor: Decimal) -> tuple[SideCost, SideCost]:
    units = sheet.units_per_month * factor
    return side_cost(sheet.baseline, units), side_cost(sheet.target, units)


def _other_price(sheet: Sheet, factor: Decimal) -> tuple[SideCost, SideCost]:
    return _dearer_target(sheet, {item.code: factor for item in CATEGORIES if item.purchased})


def _other_porting(sheet: Sheet, factor: Decimal) -> tuple[SideCost, SideCost]:
    return _dearer_target(sheet, {PORTING: factor})


def _dearer_target(sheet: Sheet, factors: Mapping[str, Decimal]) -> tuple[SideCost, SideCost]:
    units = sheet.units_per_month
    return side_cost(sheet.baseline, units), side_cost(sheet.target, units, factors)


CHANGES: Final[Mapping[str, Callable[[Sheet, Decimal], tuple[SideCost, SideCost]]]] = MappingProxyType(
    {"AUSLASTUNG": _less_used, "MENGE": _other_volume, "PREIS": _other_price, "PORTIERUNG": _other_porting}
)


def _side_json(side: Side, cost: SideCost) -> dict[str, Any]:
    share = side.utilisation(cost.units)
    cycle = side.cycle
    return {
        "platform": dict(side.platform),
        "capacity": side.capacity.value,
        "commercial_model": side.commercial_model.value,
        "paid_hours_month": None if side.paid_hours_month is None else decimal_text(side.paid_hours_month),
        "term_months": decimal_text(side.term_months),
        "hours_per_unit": decimal_text(side.hours_per_unit),
        "hours_provenance": side.hours_provenance.value,
        "hours_note": side.hours_note,
        "cycle": cycle
        and {
            **{name: decimal_text(getattr(cycle, name)) for name in cycle.parts()},
            "total_h": decimal_text(cycle.total_h),
        },
        "lines": [line.to_json() for line in side.printed_lines(cost.units)],
        "fixed_month": computed_text(cost.fixed_month),
        "per_unit": money_text(cost.per_unit),
        "total_month": computed_text(cost.total_month),
        "unit_cost": computed_text(cost.unit_cost),
        "utilisation_paid": None if share is None else share_text(share),
    }
