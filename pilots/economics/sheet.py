"""The sheet somebody fills in: two sides with twelve lines each, for one month and one amount of results (spec 3.17).

Amounts are EUR. A missing category is a line without amounts; a zero needs a reason; a price needs its date and source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any, Final

from pilots.economics.amounts import CENT, checked, money_text, positive, quantized
from pilots.economics.categories import BY_CODE, CATEGORIES, COMPUTE, IDLE, Capacity, CommercialModel
from pilots.economics.errors import EconomicsError
from qms.core.values import Provenance

ZERO: Final = Decimal(0)
_FINE: Final = Decimal("0.000001")
CURRENCY: Final = "EUR"
PERIOD: Final = "MONAT"
NO_IDLE_DE: Final = "Nutzungsabhängige Abrechnung: bezahlt wird nur, was genutzt wird."
SPLIT_DE: Final = (
    "Aus der Auslastung berechnet; mit TCO-01 zusammen der volle Preis der reservierten Kapazität."
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """How a foreign price became EUR: EUR per unit of `currency`, with the date and the source of the rate."""

    currency: str
    rate: Decimal
    on: date
    source: str

    def __post_init__(self) -> None:
        if (
            not (len(self.currency) == 3 and self.currency.isascii() and self.currency.isupper())
            or self.currency == CURRENCY
        ):
            raise EconomicsError(
                "currency", "Bitte die fremde Währung mit drei Buchstaben angeben, zum Beispiel USD."
            )
        positive(self.rate, "exchange_rate")
        if not self.source.strip():
            raise EconomicsError("exchange_source", "Bitte die Quelle des Wechselkurses angeben.")


@dataclass(frozen=True, slots=True)
class CostLine:
    """One category of one side: EUR per month, per result unit and once; all three None where nobody knows."""

    category: str
    fixed_month: Decimal | None = None
    per_unit: Decimal | None = None
    one_off: Decimal | None = None
    reason: str = ""
    source: str = ""
    price_date: date | None = None
    provenance: Provenance = Provenance.ESTIMATED
    exchange: Exchange | None = None

    def __post_init__(self) -> None:
        if self.category not in BY_CODE:
            raise EconomicsError(
                "category", f"Die Kostenart {self.category} gibt es nicht; bekannt sind TCO-01 bis TCO-12."
            )
        for name in ("fixed_month", "per_unit", "one_off"):
            if (value := getattr(self, name)) is not None:
                checked(value, f"{self.category} {name}")
        if not self.missing:
            self._check_origin()

    @property
    def missing(self) -> bool:
        """Whether the line says nothing at all."""
        return self.fixed_month is None and self.per_unit is None and self.one_off is None

    @property
    def is_zero(self) -> bool:
        """Whether the line says that nothing is paid."""
        return not self.missing and not (self.fixed_month or self.per_unit or self.one_off)

    def _check_origin(self) -> None:
        name = f"{self.category} ({BY_CODE[self.category].german})"
        if self.is_zero and not self.reason.strip():
            raise EconomicsError(
                self.category, f"{name} ist null: Bitte begründen Sie, warum nichts anfällt."
            )
        if not self.is_zero and (self.price_date is None or not self.source.strip()):
            raise EconomicsError(self.category, f"{name}: Bitte geben Sie Quelle und Datum des Preises an.")

    def in_eur(self, exchange: Exchange) -> CostLine:
        """Return the line with its foreign amounts converted; the rate stays with it."""
        fixed, per_unit, once = (
            None if value is None else quantized(value * exchange.rate, _FINE)
            for value in (self.fixed_month, self.per_unit, self.one_off)
        )
        return replace(self, fixed_month=fixed, per_unit=per_unit, one_off=once, exchange=exchange)

    def to_json(self) -> dict[str, Any]:
        """Return the line as EV-17 holds it; `exchange` only where a rate was used."""
        texts = {
            name: None if self.missing else money_text(getattr(self, name) or ZERO)
            for name in ("fixed_month", "per_unit", "one_off")
        }
        data: dict[str, Any] = {
            "category": self.category,
            **texts,
            "reason": self.reason,
            "source": self.source,
        }
        data |= {
            "price_date": self.price_date.isoformat() if self.price_date else None,
            "provenance": self.provenance.value,
        }
        if self.exchange is not None:
            used = self.exchange
            data["exchange"] = {
                "currency": used.currency,
                "rate": format(used.rate, "f"),
                "date": used.on.isoformat(),
                "source": used.source,
            }
        return data


@dataclass(frozen=True, slots=True)
class Cycle:
    """The whole cycle time of one result (M-05), all in hours."""

    queue_h: Decimal
    transfer_h: Decimal
    compile_h: Decimal
    run_h: Decimal
    evaluation_h: Decimal

    def __post_init__(self) -> None:
        for name in self.parts():
            checked(getattr(self, name), name)

    @staticmethod
    def parts() -> tuple[str, ...]:
        """Return the names of the parts in their order."""
        return ("queue_h", "transfer_h", "compile_h", "run_h", "evaluation_h")

    @property
    def total_h(self) -> Decimal:
        """Sum of the parts."""
        return sum((getattr(self, name) for name in self.parts()), ZERO)


@dataclass(frozen=True, slots=True)
class Side:
    """One platform: how it is paid, how long one result takes there, what it costs.

    platform: key, name and kind; hours_per_unit: an emulated time enters at the pessimistic end (EM-04), said in
    `hours_note`; paid_hours_month: of reserved capacity, else None; lines: at most one per category.
    """

    platform: Mapping[str, str]
    capacity: Capacity
    commercial_model: CommercialModel
    term_months: Decimal
    hours_per_unit: Decimal
    hours_provenance: Provenance
    lines: tuple[CostLine, ...]
    paid_hours_month: Decimal | None = None
    hours_note: str = ""
    cycle: Cycle | None = None

    def __post_init__(self) -> None:
        positive(self.term_months, "term_months")
        positive(self.hours_per_unit, "hours_per_unit")
        given = [item.category for item in self.lines]
        if twice := sorted({code for code in given if given.count(code) > 1}):
            raise EconomicsError(twice[0], f"Die Kostenart {twice[0]} steht zweimal auf derselben Seite.")
        if self.capacity is Capacity.RESERVED:
            self._check_reserved()
        elif self.paid_hours_month is not None:
            sentence = "Bezahlte Stunden gibt es nur bei reservierter Kapazität; bitte das Feld leer lassen."
            raise EconomicsError("paid_hours_month", sentence)

    def _check_reserved(self) -> None:
        if self.paid_hours_month is None:
            raise EconomicsError(
                "paid_hours_month", "Bitte die bezahlten Stunden der reservierten Kapazität angeben."
            )
        positive(self.paid_hours_month, "paid_hours_month")
        if not self.line(IDLE).missing:
            sentence = "Der Leerstand (TCO-08) ist im vollen Preis von TCO-01 enthalten und wird berechnet; bitte leer lassen."
            raise EconomicsError(IDLE, sentence)

    def line(self, category: str) -> CostLine:
        """Return the line of a category; an empty one where it was not entered."""
        return next((item for item in self.lines if item.category == category), CostLine(category))

    @property
    def missing_categories(self) -> tuple[str, ...]:
        """Codes nobody entered, in order; the idle part is computed and never missing."""
        return tuple(item.code for item in CATEGORIES if item.code != IDLE and self.line(item.code).missing)

    def utilisation(self, units: Decimal) -> Decimal | None:
        """Return used by paid hours for that many results a month; None where nothing is reserved."""
        return units * self.hours_per_unit / self.paid_hours_month if self.paid_hours_month else None

    def printed_lines(self, units: Decimal) -> tuple[CostLine, ...]:
        """Return all twelve lines in order; reserved compute time is split into its used and its idle part."""
        used, idle = self._compute_lines(units)
        special = {COMPUTE: used, IDLE: idle}
        return tuple(special.get(item.code) or self.line(item.code) for item in CATEGORIES)

    def _compute_lines(self, units: Decimal) -> tuple[CostLine, CostLine]:
        compute, idle = self.line(COMPUTE), self.line(IDLE)
        share = self.utilisation(units)
        if share is None:
            free = CostLine(IDLE, ZERO, ZERO, ZERO, NO_IDLE_DE, provenance=Provenance.DERIVED)
            return compute, free if idle.missing else idle
        if compute.missing:
            return compute, idle
        full = compute.fixed_month or ZERO
        used = quantized(full * min(share, Decimal(1)), CENT)
        rest = replace(
            compute,
            category=IDLE,
            fixed_month=full - used,
            per_unit=ZERO,
            one_off=ZERO,
            reason=SPLIT_DE,
            provenance=Provenance.DERIVED,
        )
        return replace(
            compute, fixed_month=used, reason=compute.reason or (SPLIT_DE if not used else "")
        ), rest


@dataclass(frozen=True, slots=True)
class Sheet:
    """Both sides for the same month and the same amount of results.

    comparable: False where the baseline comes from a development machine (EM-12); business_reason: why latency or
    time is worth more than the cheaper result (G6-4), empty where nobody claims it.
    """

    result_unit: str
    units_per_month: Decimal
    baseline: Side
    target: Side
    comparable: bool = True
    business_reason: str = ""
    currency: str = field(default=CURRENCY)

    def __post_init__(self) -> None:
        if self.currency != CURRENCY:
            sentence = (
                "Das Blatt rechnet in EUR; bitte fremde Preise mit datiertem Wechselkurs je Zeile angeben."
            )
            raise EconomicsError("currency", sentence)
        if not self.result_unit.strip():
            raise EconomicsError(
                "result_unit", "Bitte angeben, was gezählt wird, zum Beispiel Lauf oder 1000 Token."
            )
        positive(self.units_per_month, "units_per_month")
        for side in (self.baseline, self.target):
            share = side.utilisation(self.units_per_month)
            if share is not None and share > 1:
                sentence = (
                    f"Die bezahlten Stunden von {side.platform['name']} reichen für diese Menge nicht; "
                    "bitte mehr Stunden oder weniger Ergebnisse angeben."
                )
                raise EconomicsError("paid_hours_month", sentence)

    @property
    def complete(self) -> bool:
        """Whether every category of both sides is known (G6-2)."""
        return not (self.baseline.missing_categories or self.target.missing_categories)
