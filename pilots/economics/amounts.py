"""Reading and writing decimals. No float ever enters: a text or a whole number, finite, not negative, of bounded size."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import ROUND_CEILING, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any, Final

from pilots.economics.errors import EconomicsError
from qms.core.values import decimal_text

MOST: Final = Decimal(10) ** 12
FINEST: Final = -12
CENT: Final = Decimal("0.01")
RATIO: Final = Decimal("0.000001")
NOISE: Final = Decimal("1e-30")  # what divisions in WIDE may leave behind
SHARE: Final = Decimal("0.0001")
WIDE: Final = Context(prec=80, rounding=ROUND_HALF_UP)  # the largest sheet still fits
_SIGNIFICANT: Final = 4


def checked(value: Decimal, field: str) -> Decimal:
    """Return the number itself; raises EconomicsError for NaN, infinity, a negative or an absurd number."""
    if not value.is_finite():
        raise EconomicsError(field, f"{field}: Bitte eine Zahl angeben.")
    if value < 0:
        raise EconomicsError(field, f"{field}: Der Wert darf nicht negativ sein.")
    if value > MOST or int(value.as_tuple().exponent) < FINEST:
        raise EconomicsError(
            field, f"{field}: Bitte höchstens 10^12 und höchstens 12 Nachkommastellen angeben."
        )
    return value


def positive(value: Decimal, field: str) -> Decimal:
    """Return the number itself; raises EconomicsError where it is not above zero."""
    if checked(value, field) == 0:
        raise EconomicsError(field, f"{field}: Der Wert muss größer als null sein.")
    return value


def decimal_of(value: object, field: str) -> Decimal:
    """Return the decimal of a JSON text or whole number; raises EconomicsError for anything else, floats included."""
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise EconomicsError(
            field, f'{field}: Bitte eine Dezimalzahl als Text angeben, zum Beispiel "12.50".'
        )
    try:
        return checked(Decimal(value), field)
    except InvalidOperation as error:
        raise EconomicsError(field, f"{field}: Bitte eine Zahl angeben.") from error


def optional_decimal(data: Mapping[str, Any], key: str, field: str) -> Decimal | None:
    """Return a decimal or None where the key is absent or null."""
    value = data.get(key)
    return None if value is None else decimal_of(value, field)


def date_of(value: object, field: str) -> date:
    """Return the date of a text "2026-11-01"; raises EconomicsError."""
    try:
        return date.fromisoformat(str(value))
    except ValueError as error:
        raise EconomicsError(field, f"{field}: Bitte ein Datum wie 2026-11-01 angeben.") from error


def quantized(value: Decimal, step: Decimal) -> Decimal:
    """Return the number in whole steps, halves rounded up as on an invoice."""
    return value.quantize(step, context=WIDE)


def money_text(value: Decimal) -> str:
    """Return an amount as entered, with at least two decimals ("60000.00", "0.00033")."""
    cents = quantized(value, CENT)
    return format(cents, "f") if value == cents else decimal_text(value)


def computed_text(value: Decimal) -> str:
    """Return a computed amount: whole cents, below one euro four significant digits."""
    if value == 0 or abs(value) >= 1:
        return format(quantized(value, CENT), "f")
    step = Decimal(1).scaleb(value.adjusted() - _SIGNIFICANT + 1)
    return money_text(quantized(value, min(step, CENT)))


def share_text(value: Decimal) -> str:
    """Return a share with at most four decimals ("0.375")."""
    return decimal_text(quantized(value, SHARE))


def ratio_text(value: Decimal) -> str:
    """Return a ratio with six decimals, rounded up: it is within a limit of up to six decimals exactly if the ratio is."""
    exact = quantized(value, NOISE)
    return format(exact.quantize(RATIO, ROUND_CEILING, context=WIDE), "f")
