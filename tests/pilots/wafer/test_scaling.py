from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from pilots.wafer.scaling import SYSTEMS, BadScaling, Seconds, scaling_table
from qms.core.values import Calibration


def two(seconds: Seconds) -> str:
    """The word for two systems whose single one takes 1.9 s."""
    return scaling_table(lambda n: 1.9 if n == 1 else seconds, (2,))[0].word_de


@pytest.mark.parametrize(
    ("seconds", "word"),
    [
        (1.0, "linear (0,95)"),
        (Fraction(1), "linear (0,95)"),
        (Decimal(1), "linear (0,95)"),
        (1.0000000001, "sublinear (0,94)"),
        (0.9999999999, "linear (0,95)"),
        (0.95, "linear (1,00)"),
        (0.9499, "überlinear, bitte prüfen (1,00)"),
        (1.9, "sublinear (0,50)"),
        (1.08, "sublinear (0,87)"),
    ],
)
def test_the_word_linear_starts_at_exactly_0_95(seconds: Seconds, word: str) -> None:
    assert two(seconds) == word


def test_the_efficiency_of_the_specification_is_sublinear() -> None:
    assert scaling_table(lambda n: 1.76 if n == 1 else 1.0, (2,))[0].word_de == "sublinear (0,88)"


def test_one_system_is_the_reference_and_no_claim() -> None:
    rows = scaling_table(lambda n: 10.0 / n, one_system=Calibration.CALIBRATED)
    assert tuple(row.systems for row in rows) == SYSTEMS == (1, 2, 4, 8, 16)
    assert rows[0].word_de == "Bezug (1 System)"
    assert (rows[0].speedup, rows[0].efficiency) == (1, 1)
    assert rows[0].calibration is Calibration.CALIBRATED


def test_several_systems_are_always_extrapolated() -> None:
    rows = scaling_table(lambda n: 10.0 / n, one_system=Calibration.CALIBRATED)
    assert {row.calibration for row in rows[1:]} == {Calibration.EXTRAPOLATED}
    assert scaling_table(lambda n: 1.0)[0].calibration is Calibration.EXTRAPOLATED


def test_speedup_refers_to_one_system_even_if_it_is_not_listed() -> None:
    (row,) = scaling_table(lambda n: {1: 8.0, 4: 2.5}[n], (4,))
    assert (row.speedup, row.efficiency) == (Fraction(16, 5), Fraction(4, 5))


def test_each_number_of_systems_is_computed_once() -> None:
    asked: list[int] = []
    scaling_table(lambda n: asked.append(n) or 1.0)  # type: ignore[func-returns-value]
    assert asked == [1, 2, 4, 8, 16]


def test_floats_of_numpy_are_taken_as_their_value() -> None:
    assert two(float(np.float64(1.0))) == two(np.float64(1.0)) == "linear (0,95)"


@pytest.mark.parametrize("systems", [(), (0,), (-1, 2), (2, 1), (1, 2, 2), (4, 2)])
def test_systems_must_ascend_from_one(systems: tuple[int, ...]) -> None:
    with pytest.raises(BadScaling) as caught:
        scaling_table(lambda n: 1.0, systems)
    assert "aufsteigen" in caught.value.message_de


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), Decimal(0), Decimal("NaN"), -0.0])
@pytest.mark.parametrize("at", [1, 2])
def test_a_time_must_be_a_positive_number(seconds: Seconds, at: int) -> None:
    with pytest.raises(BadScaling) as caught:
        scaling_table(lambda n: seconds if n == at else 1.0, (1, 2))
    assert f"auf {at} Systemen" in caught.value.message_de
