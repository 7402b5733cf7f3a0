from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from pilots.wafer.german import clean, number, rounded


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0, 0, "0"),
        (999, 0, "999"),
        (1000, 0, "1.000"),
        (-1234567, 0, "−1.234.567"),
        (Fraction(1, 3), 2, "0,33"),
        (Fraction(5, 2), 0, "2"),
        (Fraction(7, 2), 0, "4"),
        (Decimal("1234.5"), 1, "1.234,5"),
        (Decimal("0.125"), 2, "0,12"),
        (10**21, 0, "1.000.000.000.000.000.000.000"),
    ],
)
def test_numbers_have_points_and_a_comma_and_round_half_to_even(
    value: int | Decimal | Fraction, decimals: int, text: str
) -> None:
    assert number(value, decimals) == text


def test_cutting_never_rounds_up() -> None:
    assert number(Fraction(9499, 10000), 2, down=True) == "0,94"
    assert number(Fraction(95, 100), 2, down=True) == "0,95"
    assert rounded(Fraction(-19, 10), 0, down=True) == Decimal(-1)


def test_foreign_text_is_short_and_printable() -> None:
    assert clean("a\nb\ud800\x00") == "a?b??"
    assert clean("x" * 60) == "x" * 60
    assert clean("x" * 61) == "x" * 57 + "…"
