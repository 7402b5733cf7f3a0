from __future__ import annotations

import numpy as np
import pytest

from pilots.wafer.equivalence import compare
from tests.pilots.wafer.hand_built import numbers


def f32(*values: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.array([values], dtype=np.float32)


def test_deviation_is_judged_against_the_largest_reference_value() -> None:
    reference = f32(1024.0, 0.0)
    inside, outside = f32(1024.0, 1024 * 2.0**-10), f32(1024.0, 1024 * 2.0**-10 + 2.0**-10)
    assert compare("y", inside, reference, rtol=2.0**-10).within
    assert not compare("y", outside, reference, rtol=2.0**-10).within


def test_half_precision_also_needs_the_direction() -> None:
    reference = np.array([[1.0, 1.0]], dtype=np.float16)
    assert compare("y", reference, reference, rtol=1e-2).within
    turned = np.array([[1.0, 0.5]], dtype=np.float16)
    row = compare("y", turned, reference, rtol=0.6)
    assert row.cosine is not None
    assert row.cosine < 0.999
    assert not row.within
    assert compare("y", turned.astype(np.float32), reference.astype(np.float32), rtol=0.6).within


def test_direction_does_not_depend_on_the_order_of_the_numbers() -> None:
    left, right = numbers("left", 5000, scale=1e4), numbers("right", 5000, scale=1e-3)
    found = {
        compare("y", left[order][None], right[order][None], rtol=1.0).cosine
        for order in (np.arange(5000), np.arange(5000)[::-1], np.argsort(left, kind="stable"))
    }
    assert len(found) == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite_is_never_equivalent(bad: float) -> None:
    row = compare("y", f32(bad), f32(bad), rtol=1.0)
    assert not row.within
    assert row.to_json()["max_abs_delta"] is None


def test_zero_reference_allows_only_zero() -> None:
    assert compare("y", f32(0.0), f32(0.0), rtol=1e-5).within
    assert not compare("y", f32(1e-30), f32(0.0), rtol=1e-5).within


def test_other_shape_is_an_error() -> None:
    with pytest.raises(ValueError, match="shape"):
        compare("y", f32(1.0, 2.0), f32(1.0), rtol=1e-5)
