from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pilots.wafer import numerics
from pilots.wafer.kernels import ELEMENT_OPS

X = np.linspace(-12, 12, 4001, dtype=np.float32)


def twin_gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize(
    ("ours", "twin", "bound"),
    [
        (numerics.exp, np.exp, 3e-7),
        (numerics.sigmoid, lambda x: 1 / (1 + np.exp(-x)), 4e-7),
        (numerics.tanh, np.tanh, 4e-7),
    ],
)
def test_function_is_close_to_its_double_precision_twin(ours: Any, twin: Any, bound: float) -> None:
    exact = twin(X.astype(np.float64))
    assert np.max(np.abs(ours(X) - exact) / np.maximum(np.abs(exact), 1e-30)) < bound


def test_gelu_is_close_to_its_twin() -> None:
    assert np.max(np.abs(numerics.gelu(X) - twin_gelu(X.astype(np.float64)))) < 2e-6


def test_exp_stays_finite_beyond_its_limit() -> None:
    assert np.isfinite(numerics.exp(np.array([1e4, -1e4, np.float32(3e38)], dtype=np.float32))).all()


def test_softmax_rows_sum_to_one_and_match_the_twin() -> None:
    x = X[:60].reshape(6, 10)
    twin = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    twin /= twin.sum(axis=1, keepdims=True)
    assert np.max(np.abs(numerics.softmax(x) - twin)) < 2e-7


def test_product_equals_the_scalar_loop_bit_for_bit() -> None:
    left = X[:15].reshape(3, 5)
    right = X[100:120].reshape(5, 4)
    expected = np.zeros((3, 4), dtype=np.float32)
    chained = np.zeros((3, 4), dtype=np.float32)
    for i in range(3):
        for j in range(4):
            total = np.float32(0)
            for k in range(5):
                total = np.float32(total + np.float32(left[i, k] * right[k, j]))
            expected[i, j] = total
            parts = []
            for start in (0, 2, 4):
                part = np.float32(0)
                for k in range(start, min(start + 2, 5)):
                    part = np.float32(part + np.float32(left[i, k] * right[k, j]))
                parts.append(part)
            chained[i, j] = np.float32(np.float32(parts[0] + parts[1]) + parts[2])
    assert np.array_equal(numerics.accumulate_product(left, right), expected)
    assert np.array_equal(numerics.chained_product(left, right, 2), chained)


class CountingNumpy:
    """Stands in for NumPy and counts element-wise calls; a selection counts as comparison and choice."""

    vectors = (
        "multiply",
        "add",
        "subtract",
        "maximum",
        "minimum",
        "rint",
        "ldexp",
        "negative",
        "abs",
        "copysign",
    )

    def __init__(self) -> None:
        self.count = {"vector": 0, "division": 0}

    def __getattr__(self, name: str) -> Any:
        kind = {"where": ("vector", 2), "divide": ("division", 1)}.get(name)
        if name in self.vectors:
            kind = ("vector", 1)
        if kind is not None:
            self.count[kind[0]] += kind[1]
        return getattr(np, name)


@pytest.mark.parametrize("name", ["relu", "sigmoid", "tanh", "gelu"])
def test_cost_table_counts_the_operations_that_are_executed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = CountingNumpy()
    monkeypatch.setattr(numerics, "np", counting)
    getattr(numerics, name)(X)
    assert (counting.count["vector"], counting.count["division"]) == ELEMENT_OPS[name]
