from __future__ import annotations

from dataclasses import replace

import pytest

from pilots.graph.ir import DType
from pilots.wafer.machine import lab_mesh
from pilots.wafer.memory import (
    Need,
    living_bytes,
    need_of,
    output_bytes,
    region_bytes,
    resident_bytes,
    scratch_bytes,
    spread_bytes,
)
from pilots.wafer.placement import resident_bytes_of
from pilots.wafer.program import PRODUCTS, SQUARE, Kernel, Mode, Rect, Region, Resident
from tests.pilots.wafer.hand_built import call, program

F32, F16, BF16 = DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16
MACHINE = lab_mesh(8, 8)
FIXED = 4176 + 4096  # code and stack


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize(
    "kernel", [*(item for item in PRODUCTS if item is not Kernel.STREAMED), Kernel.CONVOLUTION]
)
def test_scratch_of_a_product_is_sums_and_what_moves(kernel: Kernel, dtype: DType) -> None:
    made = call(kernel, "matmul", tile=(6, 3, 5))
    sums = 6 * 5 * 4
    moving = (6 * 3 + 3 * 5) * dtype.item_bytes if kernel in SQUARE else sums
    assert scratch_bytes(made, dtype) == sums + moving
    assert output_bytes(made, dtype) == 6 * 5 * dtype.item_bytes


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize(("columns", "held"), [(1, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_streamed_product_holds_two_columns_of_sums_and_its_result_is_spread(
    columns: int, held: int, dtype: DType
) -> None:
    made = call(Kernel.STREAMED, "matmul", tile=(6, 3, columns), grid=(4, 2))
    assert scratch_bytes(made, dtype) == 2 * 6 * 4
    assert output_bytes(made, dtype) == 6 * held * dtype.item_bytes


@pytest.mark.parametrize(("columns", "held"), [(127, 127), (128, 128), (129, 128), (4096, 128)])
def test_sums_of_many_columns_leave_the_element_early(columns: int, held: int) -> None:
    made = call(Kernel.GEMV, "matmul", tile=(2, 3, columns))
    assert scratch_bytes(made, F16) == 2 * (2 * held * 4)
    assert output_bytes(made, F16) == 2 * columns * 2


@pytest.mark.parametrize("kernel", [Kernel.ATTENTION, Kernel.ATTENTION_CACHED])
def test_attention_keeps_scores_of_one_run_of_the_context(kernel: Kernel) -> None:
    made = call(kernel, "attention", tile=(3, 200, 7))
    assert scratch_bytes(made, F16) == 2 * 3 * 128 * 4
    assert output_bytes(made, F16) == 3 * 7 * 2


def test_a_cache_is_extended_in_place_and_other_calls_hold_their_tile() -> None:
    assert output_bytes(call(Kernel.CACHE_APPEND, "cache_append", tile=(4, 3)), F16) == 0
    norm = call(Kernel.NORM, "rms_norm", tile=(4, 3))
    assert (output_bytes(norm, F32), scratch_bytes(norm, F32)) == (48, 48)


@pytest.mark.parametrize("kernel", [*PRODUCTS, Kernel.CONVOLUTION])
def test_a_weight_from_outside_rests_only_for_its_call(kernel: Kernel) -> None:
    made = call(kernel, "matmul", tile=(6, 3, 5))
    resident, streamed = (need_of(made, F16, mode).scratch_bytes for mode in Mode)
    assert streamed - resident == (0 if kernel is Kernel.STREAMED else 3 * 5 * 2)
    norm = call(Kernel.NORM, "rms_norm", tile=(4, 3))
    assert need_of(norm, F16, Mode.RESIDENT) == need_of(norm, F16, Mode.WEIGHT_STREAMING)


def test_peak_counts_what_lives_at_the_same_time() -> None:
    needs = [
        Need(("x",), "a", 10, 1),  # a
        Need(("a",), "b", 20, 2),  # a b
        Need(("b", "a"), "c", 40, 4),  # a b c
        Need(("c", "w"), "d", 80, 8),  # c d; w is a weight and counted elsewhere
        Need(("x",), "e", 5, 200),  # e
    ]
    sizes = {"a": 10, "b": 20, "c": 40, "d": 80, "e": 5}
    steps = [11, 32, 74, 128, 205]
    for count, peak in enumerate(steps, start=1):
        assert max(living_bytes(needs[:count], sizes)) == peak
    assert max(living_bytes(needs[:4], sizes)) == 128
    assert living_bytes([], sizes) == []


def test_a_value_used_twice_in_one_call_is_counted_once() -> None:
    assert living_bytes([Need((), "a", 7, 0), Need(("a", "a"), "b", 1, 0)], {"a": 7, "b": 1}) == [7, 8]


def test_value_of_an_earlier_region_is_counted_where_it_is_used() -> None:
    assert living_bytes([Need(("before",), "b", 1, 0)], {"before": 30, "b": 1}) == [31]


def test_outputs_stay_spread_over_the_region_once_nobody_reads_them() -> None:
    needs = [
        Need(("x",), "a", 10, 1),
        Need(("a",), "b", 20, 2),  # the last that reads a
        Need(("b",), "c", 5, 0),
        Need(("x",), "d", 7, 0),
    ]
    sizes = {"a": 10, "b": 20, "c": 5, "d": 7}
    assert living_bytes(needs, sizes) == [11, 32, 25, 7]
    assert living_bytes(needs, sizes, {"a": 3, "c": 1}) == [11, 32, 28, 11]
    assert living_bytes(needs, sizes, {"d": 2}) == [11, 32, 25, 7]  # in full while it is made


@pytest.mark.parametrize(("rows", "columns", "numbers"), [(4, 8, 4), (5, 8, 6), (4, 9, 6), (1, 1, 1)])
def test_an_output_is_cut_over_rows_and_columns(rows: int, columns: int, numbers: int) -> None:
    rect = Rect(0, 0, 4, 2)
    product = call(Kernel.GEMV, "matmul", shape=(rows, 99, columns))
    relu = call(Kernel.ELEMENTWISE, "relu", shape=(rows, columns))
    for made in (product, relu):
        assert spread_bytes(made, rect, F16) == 2 * numbers
        assert spread_bytes(made, rect, F32) == 4 * numbers
    assert spread_bytes(call(Kernel.CACHE_APPEND, "cache_append", shape=(rows, columns)), rect, F32) == 0


def test_a_region_keeps_its_outputs_and_frees_the_rest() -> None:
    first = call(Kernel.ELEMENTWISE, "relu", ("x",), "a", tile=(2, 5), shape=(8, 20))
    second = call(Kernel.ELEMENTWISE, "relu", ("x",), "b", tile=(2, 5), shape=(8, 20))
    made = program(first, second, outputs=("b",))
    assert region_bytes(made, MACHINE) == (FIXED + 2 * 40,)  # the result and its scratch
    both = replace(made, outputs=("a", "b"))
    assert region_bytes(both, MACHINE) == (FIXED + 2 * 40 + 2 * 5 * 4,)


def test_region_holds_code_stack_residents_values_and_scratch() -> None:
    product = call(Kernel.GEMV, "matmul", ("x", "w"), "p", tile=(2, 3, 5), shape=(2, 12, 20))
    relu = call(Kernel.ELEMENTWISE, "relu", ("p",), "y", tile=(2, 5), shape=(2, 20))
    rect = Rect(0, 0, 4, 4)
    made = program(product, relu)
    made = replace(
        made,
        regions=(Region(0, rect), Region(0, Rect(4, 0, 4, 4))),
        residents=(Resident("w", "weight", 0, rect, 60),),
    )
    result = 2 * 5 * 4
    # the product with its two copies of the sums against relu with its input and scratch
    peak = max(result + 2 * 2 * 5 * 4, 2 * result + result)
    assert region_bytes(made, MACHINE) == (FIXED + 60 + peak, FIXED)
    assert resident_bytes(made, MACHINE) == 16 * (2 * FIXED + 60 + peak)


@pytest.mark.parametrize(
    ("shape", "numbers"),
    [
        ((10,), 3),  # cut over the width alone: each row of elements has a copy
        ((1,), 1),
        ((10, 10), 4 * 3),
        ((3, 10, 10), 3 * 4 * 3),  # experts, or one cache per sequence
        ((8, 2, 3, 3), 6 * 2),  # a convolution lies as the matrix [18, 8] it is used as
    ],
)
def test_weights_are_cut_over_rows_and_columns(shape: tuple[int, ...], numbers: int) -> None:
    four_by_three = Rect(0, 0, 4, 3)
    assert resident_bytes_of(shape, four_by_three, 2) == 2 * numbers
    assert resident_bytes_of(shape, four_by_three, 0) == 0
