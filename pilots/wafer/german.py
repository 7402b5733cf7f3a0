"""Numbers and foreign text inside German sentences of the emulator; the pages have formats of their own."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Final

NBSP: Final = "\u00a0"
Number = int | Decimal | Fraction


def number(value: Number, decimals: int = 0, *, down: bool = False) -> str:
    """Return `value` with points between thousands and a decimal comma; down: cut instead of rounded."""
    text = f"{rounded(value, decimals, down=down):,f}"
    return text.translate(str.maketrans(",.-", ".,−"))


def rounded(value: Number, decimals: int, *, down: bool = False) -> Decimal:
    """Return `value` with exactly `decimals` places, half to even; down: towards zero."""
    if isinstance(value, Decimal):
        value = Fraction(value)
    scaled = value * 10**decimals
    whole = int(scaled) if down else round(scaled)
    return Decimal(whole).scaleb(-decimals)


def clean(foreign: str, most: int = 60) -> str:
    """Return foreign text so that it is safe inside a sentence: at most `most` characters, all of them printable."""
    short = foreign if len(foreign) <= most else f"{foreign[: most - 3]}…"
    return "".join(letter if letter.isprintable() else "?" for letter in short)
