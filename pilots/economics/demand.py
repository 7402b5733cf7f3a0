"""Demand and utilisation (EV-18): what was needed so far, what is expected, and how far the past carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pilots.economics.amounts import checked, decimal_of, optional_decimal, positive
from pilots.economics.errors import EconomicsError
from qms.core.values import decimal_text

SCHEMA: Final = "qms.demand/1"
TOLERANCE: Final = Decimal("0.20")  # the utilisation step of POL-45: less than that is examined anyway


@dataclass(frozen=True, slots=True)
class Month:
    """Results of one month of the past; month: "2026-08"."""

    month: str
    units: Decimal

    def __post_init__(self) -> None:
        year, _, number = self.month.partition("-")
        well_formed = len(self.month) == 7 and self.month.isascii() and year.isdigit() and number.isdigit()
        if not well_formed or not 1 <= int(number) <= 12:
            raise EconomicsError("history", "Bitte Monate wie 2026-08 angeben.")
        checked(self.units, "history")

    @property
    def number(self) -> int:
        """Months since year 0, so that neighbours differ by one."""
        return int(self.month[:4]) * 12 + int(self.month[5:])


@dataclass(frozen=True, slots=True)
class Demand:
    """Results a month: now, in the months past and expected; hours_per_unit on the target; source: where from."""

    units_per_month: Decimal
    hours_per_unit: Decimal
    forecast_units_per_month: Decimal
    source: str
    history: tuple[Month, ...] = ()
    requests_per_day: Decimal | None = None

    def __post_init__(self) -> None:
        positive(self.units_per_month, "units_per_month")
        positive(self.hours_per_unit, "hours_per_unit")
        positive(self.forecast_units_per_month, "forecast_units_per_month")
        if self.requests_per_day is not None:
            checked(self.requests_per_day, "requests_per_day")
        if not self.source.strip():
            raise EconomicsError("source", "Bitte angeben, woher die Zahlen zur Nachfrage stammen.")
        if len({item.month for item in self.history}) < len(self.history):
            raise EconomicsError("history", "Jeder Monat darf nur einmal vorkommen.")

    @property
    def backed_months(self) -> int:
        """Latest months in a row, without a gap, whose results reach the forecast less 20 % (G6-3, POL-44)."""
        least, count, expected = self.forecast_units_per_month * (1 - TOLERANCE), 0, None
        for item in sorted(self.history, key=lambda entry: entry.number, reverse=True):
            if item.units < least or expected not in {None, item.number}:
                break
            count, expected = count + 1, item.number - 1
        return count

    def to_json(self) -> dict[str, Any]:
        """Return the facts of EV-18 (`qms.demand/1`)."""
        months = sorted(self.history, key=lambda entry: entry.number)
        return {
            "schema": SCHEMA,
            "units_per_month": decimal_text(self.units_per_month),
            "hours_per_unit": decimal_text(self.hours_per_unit),
            "requests_per_day": None
            if self.requests_per_day is None
            else decimal_text(self.requests_per_day),
            "history": [{"month": item.month, "units": decimal_text(item.units)} for item in months],
            "forecast_units_per_month": decimal_text(self.forecast_units_per_month),
            "backed_months": self.backed_months,
            "source": self.source,
        }

    @classmethod
    def from_json(cls, data: object) -> Demand:
        """Read the form written by `to_json`; `backed_months` is computed anew; raises EconomicsError."""
        if not isinstance(data, Mapping) or not isinstance(data.get("history", []), list):
            raise EconomicsError("demand", "Die Angaben zur Nachfrage haben nicht die erwartete Form.")
        months = [item if isinstance(item, Mapping) else {} for item in data.get("history", [])]
        return cls(
            units_per_month=decimal_of(data.get("units_per_month"), "units_per_month"),
            hours_per_unit=decimal_of(data.get("hours_per_unit"), "hours_per_unit"),
            forecast_units_per_month=decimal_of(
                data.get("forecast_units_per_month"), "forecast_units_per_month"
            ),
            source=str(data.get("source", "")),
            history=tuple(
                Month(str(item.get("month")), decimal_of(item.get("units"), "history")) for item in months
            ),
            requests_per_day=optional_decimal(data, "requests_per_day", "requests_per_day"),
        )
