"""Numbers inside German sentences of the cluster model; the pages have formats of their own."""

from __future__ import annotations

from decimal import Decimal
from math import floor, log10
from typing import Final

from qms.core.values import rounded

_SWAPPED: Final = str.maketrans(",.-", ".,−")


def number(value: int | Decimal, decimals: int = 0) -> str:
    """Return `value` with points between thousands and a decimal comma."""
    return f"{Decimal(value):,.{decimals}f}".translate(_SWAPPED)


def amount(value: float) -> str:
    """Return a quantity with four significant digits."""
    if value == 0:
        return "0"
    decimals = max(0, 3 - floor(log10(abs(value))))
    return number(rounded(value, 4), min(decimals, 9))


def percent(value: float) -> str:
    """Return a share as "8,5 %"."""
    return f"{number(rounded(100 * value, 6), 1)}\u00a0%"
