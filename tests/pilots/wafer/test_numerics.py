from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from pilots.graph.ir import DType
from pilots.wafer import numerics, numerics_products, numerics_sums
from pilots.wafer.handlers.table import apply
from pilots.wafer.meeting import group_size, middle_of, root_of, spans_of
from pilots.wafer.numerics_products import (
    accumulate_product,
    chained_product,
    rotated_product,
    two_level_product,
)
from pilots.wafer.numerics_sums import chained_sum, meeting_sum
from pilots.wafer.program import Kernel
from tests.pilots.wafer.hand_built import call, numbers

X = np.linspace(-12, 12, 4001, dtype=np.float32)
F = np.float32


def f32(*values: float) -> Any:
    return np.array(values, dtype=np.float32)


def twin_gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def twin_sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


POSITIVE = np.concatenate(
    [np.geomspace(1e-37, 1e37, 5001), np.linspace(0.5, 1.999, 5001), 1 + np.geomspace(1e-6, 0.1, 99)]
).astype(np.float32)


@pytest.mark.parametrize(
    ("ours", "twin", "x", "bound"),
    [
        (numerics.exp, np.exp, np.linspace(-87, 88, 9001, dtype=np.float32), 3e-7),
        (numerics.log, np.log, POSITIVE, 3e-7),
        (numerics.sigmoid, twin_sigmoid, X, 4e-7),
        (numerics.silu, lambda x: x * twin_sigmoid(x), X, 5e-7),
        (numerics.tanh, np.tanh, X, 4e-7),
        (numerics.rsqrt, lambda x: 1 / np.sqrt(x), POSITIVE, 2e-7),
        (numerics.reciprocal, lambda x: 1 / x, POSITIVE, 1e-7),
        (numerics.square, np.square, X, 1e-7),
    ],
)
def test_function_is_close_to_its_double_precision_twin(ours: Any, twin: Any, x: Any, bound: float) -> None:
    exact = twin(x.astype(np.float64))
    assert np.max(np.abs(ours(x) - exact) / np.maximum(np.abs(exact), 1e-30)) < bound


def test_gelu_is_close_to_its_twin() -> None:
    assert np.max(np.abs(numerics.gelu(X) - twin_gelu(X.astype(np.float64)))) < 2e-6


@pytest.mark.parametrize(("ours", "twin"), [(numerics.sin, np.sin), (numerics.cos, np.cos)])
def test_waves_are_correct_far_from_zero_and_bounded_everywhere(ours: Any, twin: Any) -> None:
    single = np.concatenate([X, numbers("angles", 5000, scale=1e5)])
    double = numbers("more angles", 5000, scale=1.0).astype(np.float64) * 1e5
    for x in (single, double):
        assert ours(x).dtype == np.float32
        assert np.max(np.abs(ours(x) - twin(x.astype(np.float64)))) < 4e-8


@pytest.mark.parametrize("function", [numerics.sin, numerics.cos])
def test_waves_of_huge_angles_stay_bounded_and_warn_of_nothing(function: Any) -> None:
    """No cast may meet a number that no whole number holds: processors differ there."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = function(f32(1e9, 1e20, -1e20, 3e38, -3e38, np.nan))
        assert np.max(np.abs(found[:-1])) <= 1
        assert np.isnan(found[-1])
        assert found.tobytes() == function(f32(1e9, 1e20, -1e20, 3e38, -3e38, np.nan)).tobytes()


@pytest.mark.parametrize("op", ["sin", "cos"])
def test_waves_of_infinity_are_no_number_and_a_program_warns_of_nothing(op: str) -> None:
    made = call(Kernel.ELEMENTWISE, op)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (DType.FLOAT32, DType.FLOAT16):
            found = apply(made, (f32(np.inf, -np.inf, np.nan, 1e20, 3e38),), dtype)
            assert np.isnan(found[:3]).all()
            assert np.max(np.abs(found[3:])) <= 1


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (numerics.exp, (np.inf, 89, 88.7, -104, -np.inf, 0), (np.inf, np.inf, 3.3265e38, 0, 0, 1)),
        (numerics.exp, (-100.0,), (3.8e-44,)),
        (numerics.log, (np.inf, 1, 0, -0.0, -1, 1e-45), (np.inf, 0, -np.inf, -np.inf, np.nan, -103.279)),
        (numerics.sigmoid, (np.inf, -np.inf, -200), (1, 0, 0)),
        (numerics.tanh, (np.inf, -np.inf, 100, -0.1), (1, -1, 1, -0.099668)),
        (numerics.relu, (np.inf, -np.inf, -1, -0.0), (np.inf, 0, 0, 0)),
        (numerics.rsqrt, (0, np.inf, -1), (np.inf, 0, np.nan)),
        (numerics.sin, (np.inf, -np.inf), (np.nan, np.nan)),
        (numerics.gelu, (np.inf, -1e30), (np.inf, 0)),
    ],
)
def test_edges_follow_ieee(function: Any, x: Any, expected: Any) -> None:
    with np.errstate(all="ignore"):
        result = function(f32(*x, np.nan))
    assert result.dtype == np.float32
    assert np.isnan(result[-1])
    assert result[:-1] == pytest.approx(expected, rel=5e-3, nan_ok=True)


def test_zero_has_no_sign_where_processors_differ() -> None:
    for function in (numerics.maximum, numerics.minimum):
        for pair in ((0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0)):
            assert not np.signbit(function(f32(pair[0]), f32(pair[1]))).any()
    assert not np.signbit(numerics_sums.largest(f32(-0.0, -1))).any()
    assert not np.signbit(numerics_sums.smallest(f32(-0.0, 1))).any()


@pytest.mark.parametrize(
    ("dtype", "x", "expected"),
    [
        (DType.BFLOAT16, 1 + 2.0**-8, 1.0),  # a tie goes to the even neighbour
        (DType.BFLOAT16, 1 + 3 * 2.0**-8, 1 + 2.0**-6),
        (DType.BFLOAT16, 1 + 2.0**-8 + 2.0**-20, 1 + 2.0**-7),
        (DType.BFLOAT16, 3.4e38, np.inf),
        (DType.BFLOAT16, -np.inf, -np.inf),
        (DType.FLOAT16, 1 + 2.0**-11, 1.0),
        (DType.FLOAT16, 1 + 3 * 2.0**-11, 1 + 2.0**-9),
        (DType.FLOAT16, 65520, np.inf),
        (DType.FLOAT16, 65519, 65504),
        (DType.FLOAT16, 2.0**-25, 0.0),
        (DType.FLOAT16, 3 * 2.0**-25, 2.0**-23),
        (DType.FLOAT32, 1 + 2.0**-23, 1 + 2.0**-23),
    ],
)
def test_rounding_goes_to_nearest_and_ties_to_even(dtype: DType, x: float, expected: float) -> None:
    with np.errstate(over="ignore"):
        result = numerics.narrowed(f32(x, -x), dtype)
        assert result.dtype == np.float32
        assert result.tolist() == [expected, -expected]
        assert np.isnan(numerics.narrowed(f32(np.nan), dtype)).all()


def test_whole_numbers_are_never_rounded() -> None:
    ids = np.array([2**24 + 1, -7], dtype=np.int32)
    assert numerics.narrowed(numerics.widened(ids), DType.BFLOAT16) is ids


# ---- sums --------------------------------------------------------------------------------------


def scalar_tile_sums(values: Any, tile: int) -> list[Any]:
    parts = []
    for start in range(0, len(values), tile):
        part = F(0)
        for value in values[start : start + tile]:
            part = F(part + value)
        parts.append(part)
    return parts


def scalar_chained_sum(values: Any, tile: int) -> Any:
    return scalar_chain(scalar_tile_sums(values, tile))


def scalar_meeting_sum(values: Any, tile: int) -> Any:
    return scalar_meeting(scalar_tile_sums(values, tile))


def scalar_meeting(parts: list[Any]) -> Any:
    """Groups first, then over their middles: each time the middle, plus what comes from behind, plus from before."""
    return scalar_both_ends([scalar_both_ends(parts[first:until]) for first, until in spans_of(len(parts))])


def scalar_both_ends(parts: list[Any]) -> Any:
    middle = middle_of(0, len(parts))
    total = parts[middle]
    for side in (parts[:middle:-1], parts[:middle]):
        total = F(total + scalar_chain(side)) if side else total
    return total


@pytest.mark.parametrize("width", [1, 2, 7, 64, 97])
@pytest.mark.parametrize("tile", [1, 3, 8, 97, 1000])
def test_chained_sum_equals_the_scalar_loop(width: int, tile: int) -> None:
    values = numbers("sum", 3, width, scale=100.0)
    expected = [scalar_chained_sum(row, tile) for row in values]
    assert chained_sum(values, tile).tolist() == expected


def test_order_of_a_sum_is_honoured() -> None:
    values = numbers("order", 1, 64, scale=100.0)
    results = {float(chained_sum(values, tile)[0]) for tile in (1, 4, 8, 16)}
    assert len(results) > 1
    big = f32(1e8, 1, 1, -1e8)[None]
    assert chained_sum(big, 4)[0] == 0
    assert chained_sum(big, 2)[0] == F(F(1e8) + F(1)) + F(F(1) - F(1e8))
    assert chained_sum(f32(1e8, -1e8, 1, 1)[None], 2)[0] == 2


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 16, 97, 512, 994])
def test_groups_cover_a_line_and_meet_in_its_middle(length: int) -> None:
    spans = spans_of(length)
    assert [place for span in spans for place in range(*span)] == list(range(length))
    assert {until - first for first, until in spans[:-1]} <= {group_size(length)}
    if length:
        assert abs(root_of(length) - length / 2) <= group_size(length)


def test_size_of_a_group_is_the_one_with_the_shortest_chains() -> None:
    assert [group_size(length) for length in (1, 5, 8, 16, 64, 420, 512, 994)] == [1, 1, 3, 6, 5, 20, 19, 27]


@pytest.mark.parametrize("width", [1, 2, 7, 64, 97])
@pytest.mark.parametrize("tile", [1, 3, 8, 97, 1000])
def test_meeting_sum_equals_the_scalar_loop(width: int, tile: int) -> None:
    values = numbers("meet", 3, width, scale=100.0)
    assert meeting_sum(values, tile).tolist() == [scalar_meeting_sum(row, tile) for row in values]


@pytest.mark.parametrize("tile", [1, 4, 10])
def test_softmax_matches_its_twin_and_sums_to_one(tile: int) -> None:
    x = X[:60].reshape(6, 10)
    twin = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    twin /= twin.sum(axis=1, keepdims=True)
    assert np.max(np.abs(numerics_sums.softmax(x, tile) - twin)) < 2e-7
    assert np.max(np.abs(numerics_sums.log_softmax(x, tile) - np.log(twin))) < 1e-6
    powers = numerics.exp(x - x.max(axis=1, keepdims=True))
    expected = [[F(value / scalar_meeting_sum(row, tile)) for value in row] for row in powers]
    assert numerics_sums.softmax(x, tile).tolist() == expected


def test_absent_positions_get_no_share() -> None:
    shares = numerics_sums.softmax(f32(1, -np.inf, 1)[None], 3)
    assert shares.tolist() == [[0.5, 0, 0.5]]


# ---- products ----------------------------------------------------------------------------------


def scalar_dot(left: Any, right: Any, order: Any = None) -> Any:
    total = F(0)
    for k in range(len(left)) if order is None else order:
        total = F(total + F(left[k] * right[k]))
    return total


def scalar_parts(left: Any, right: Any, tile: int) -> list[Any]:
    edges = [*range(0, len(left), tile), len(left)]
    return [scalar_dot(left[a:b], right[a:b]) for a, b in pairwise(edges)]


def scalar_chain(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = F(total + part)
    return total


def each(left: Any, right: Any, dot: Any) -> Any:
    return [[dot(left[i], right[:, j], i, j) for j in range(right.shape[1])] for i in range(left.shape[0])]


SIZES = [(1, 1, 1, 1), (1, 7, 5, 3), (3, 13, 11, 4), (2, 5, 3, 8), (5, 16, 7, 4), (1, 97, 2, 9)]


@pytest.mark.parametrize(("m", "k", "n", "tile"), SIZES)
def test_products_equal_the_scalar_loop_bit_for_bit(m: int, k: int, n: int, tile: int) -> None:
    left, right = numbers("left", m, k), numbers("right", k, n)

    def chained(row: Any, column: Any, _i: int, _j: int) -> Any:
        return scalar_chain(scalar_parts(row, column, tile))

    def two_level(row: Any, column: Any, _i: int, _j: int) -> Any:
        return scalar_meeting(scalar_parts(row, column, tile))

    assert accumulate_product(left, right).tolist() == each(
        left, right, lambda a, b, _i, _j: scalar_dot(a, b)
    )
    assert chained_product(left, right, tile).tolist() == each(left, right, chained)
    assert two_level_product(left, right, tile).tolist() == each(left, right, two_level)


@pytest.mark.parametrize(
    ("m", "k", "n", "grid", "rows"),
    [(1, 1, 1, 1, 1), (4, 8, 4, 4, 4), (5, 13, 7, 3, 5), (2, 3, 5, 4, 2), (11, 9, 7, 3, 4), (3, 9, 7, 3, 8)],
)
def test_rotated_product_honours_the_order_of_every_element(
    m: int, k: int, n: int, grid: int, rows: int
) -> None:
    left, right = numbers("left", m, k), numbers("right", k, n)
    tile_m, tile_k, tile_n = (-(-size // grid) for size in (rows, k, n))

    def rotated(row: Any, column: Any, i: int, j: int) -> Any:
        start = i % rows // tile_m + j // tile_n
        blocks = [(start + turn) % grid for turn in range(grid)]
        order = [p for block in blocks for p in range(block * tile_k, min((block + 1) * tile_k, k))]
        return scalar_dot(row, column, order)

    assert rotated_product(left, right, grid, rows).tolist() == each(left, right, rotated)


def test_order_of_a_product_is_honoured() -> None:
    left, right = numbers("left", 6, 96), numbers("right", 96, 6)
    results = [
        accumulate_product(left, right),
        chained_product(left, right, 8),
        chained_product(left, right, 12),
        two_level_product(left, right, 8),
        rotated_product(left, right, 6, 6),
    ]
    assert len({result.tobytes() for result in results}) == len(results)


def test_blocks_never_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = numbers("left", 9, 40), numbers("right", 40, 33)

    def all_products() -> list[bytes]:
        return [
            accumulate_product(left, right).tobytes(),
            chained_product(left, right, 7).tobytes(),
            two_level_product(left, right, 7).tobytes(),
            rotated_product(left, right, 5, 4).tobytes(),
        ]

    whole = all_products()
    for elements, columns in ((1, 1), (16, 4), (50, 32)):
        monkeypatch.setattr(numerics_products, "BLOCK_ELEMENTS", elements)
        monkeypatch.setattr(numerics_products, "BLOCK_COLUMNS", columns)
        assert all_products() == whole


def test_products_run_over_leading_axes() -> None:
    left, right = numbers("left", 2, 3, 4, 10), numbers("right", 2, 3, 10, 5)
    whole = chained_product(left, right, 4)
    for i, j in np.ndindex(2, 3):
        assert np.array_equal(whole[i, j], chained_product(left[i, j], right[i, j], 4))


def test_what_is_not_live_is_never_touched() -> None:
    left, right = numbers("left", 3, 6), numbers("right", 6, 4)
    right[4:] = np.nan
    left[:, 4:] = np.inf
    live = np.zeros(left.shape, dtype=bool)
    live[:, :4] = True
    with np.errstate(all="ignore"):
        result = chained_product(left, right, 4, live)
    assert np.array_equal(result, chained_product(left[:, :4], right[:4], 4))


@pytest.mark.parametrize(
    "product",
    [accumulate_product, lambda a, b: chained_product(a, b, 3), lambda a, b: two_level_product(a, b, 3)],
)
def test_empty_sums_are_zero(product: Any) -> None:
    assert product(np.zeros((2, 0), F), np.zeros((0, 3), F)).tolist() == [[0] * 3] * 2


def test_infinity_and_nan_stay_in_their_row_and_column() -> None:
    left, right = numbers("left", 4, 8), numbers("right", 8, 5)
    left[1, 2], right[3, 4] = np.nan, np.inf
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for result in (chained_product(left, right, 3), rotated_product(left, right, 2, 4)):
            assert np.isnan(result[1]).all()
            assert np.isinf(result[[0, 2, 3], 4]).all()
            assert np.isfinite(result[[0, 2, 3], :4]).all()


# ---- what an element executes ------------------------------------------------------------------

# Vector operations and divisions per number; a selection counts as comparison and choice.
EXECUTED = {
    "exp": (24, 0),
    "sigmoid": (26, 1),
    "silu": (27, 1),
    "tanh": (41, 1),
    "gelu": (49, 1),
}


class CountingNumpy:
    """Stands in for NumPy and counts element-wise calls."""

    vectors = (
        "multiply", "add", "subtract", "maximum", "minimum", "rint", "negative", "abs", "copysign", "sqrt",
    )  # fmt: skip

    def __init__(self) -> None:
        self.count = {"vector": 0, "division": 0}

    def __getattr__(self, name: str) -> Any:
        kind = {"where": ("vector", 2), "divide": ("division", 1)}.get(name)
        if name in self.vectors:
            kind = ("vector", 1)
        if kind is not None:
            self.count[kind[0]] += kind[1]
        return getattr(np, name)


@pytest.mark.parametrize("name", sorted(EXECUTED))
def test_executed_operations_are_those_of_the_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = CountingNumpy()
    monkeypatch.setattr(numerics, "np", counting)
    getattr(numerics, name)(X)
    assert (counting.count["vector"], counting.count["division"]) == EXECUTED[name]
