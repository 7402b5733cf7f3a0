"""Published prices as proposals for a sheet: dated facts with their source, never constants and never an offer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final

from pilots.economics.amounts import date_of, decimal_of
from pilots.economics.errors import EconomicsError
from qms.core.values import Provenance

_FILE: Final = Path(__file__).parent / "data" / "prices.json"


@dataclass(frozen=True, slots=True)
class PublishedPrice:
    """A price or a span of prices for one `unit`; on: day of the price, None where the source names none."""

    id: str
    device: str
    offer: str
    low: Decimal
    high: Decimal
    currency: str
    unit: str
    on: date | None
    source: str
    provenance: Provenance

    def __post_init__(self) -> None:
        if not self.source:
            raise EconomicsError(self.id, f"Der Preis {self.id} hat keine Quelle.")
        if self.low > self.high:
            raise EconomicsError(self.id, f"Der Preis {self.id} hat eine verkehrte Spanne.")

    def age_days(self, today: date) -> int | None:
        """Return the age in days; None where the day is unknown."""
        return None if self.on is None else (today - self.on).days

    def outdated(self, today: date, limit_days: int) -> bool:
        """Return whether the price is older than the limit (POL-24); one without a day counts as old."""
        age = self.age_days(today)
        return age is None or age > limit_days


@cache
def published_prices() -> tuple[PublishedPrice, ...]:
    """Return the start rows of the data file, in its order; raises EconomicsError."""
    return tuple(price_of(row) for row in json.loads(_FILE.read_text(encoding="utf-8"))["prices"])


def price_of(row: dict[str, Any]) -> PublishedPrice:
    """Read one row of the data file; raises EconomicsError."""
    name = str(row["id"])
    return PublishedPrice(
        id=name,
        device=row["device"],
        offer=row["offer"],
        low=decimal_of(row["low"], name),
        high=decimal_of(row["high"], name),
        currency=row["currency"],
        unit=row["unit"],
        on=None if row["date"] is None else date_of(row["date"], name),
        source=row["source"],
        provenance=Provenance(row["provenance"]),
    )
