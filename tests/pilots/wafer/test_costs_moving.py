"""What it costs when numbers change their element, at sizes that can be counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pilots.graph.ir import DType
from pilots.wafer.costs.kernels import ELEMENT_OPS, Setting, cost, gate_ops
from pilots.wafer.costs.terms import Terms
from pilots.wafer.costs.traffic import Load, load_of, rows_to_all, stage
from pilots.wafer.machine import WSE_2
from pilots.wafer.program import Kernel, Rect
from pilots.wafer.tiling import heads_on, summed_features, tile_of
from tests.pilots.wafer.hand_built import call
from tests.pilots.wafer.test_costs import ROUND

F32, F16 = DType.FLOAT32, DType.FLOAT16
TURN = 5  # up the ramp, one cycle, down the ramp


def terms(kernel: Kernel, op: str, shape: tuple[int, ...], grid: tuple[int, int], **more: Any) -> Terms:
    tile = tile_of(kernel, shape, Rect(0, 0, *grid))
    dtype = more.pop("dtype", F32)
    made = call(kernel, op, tile=tile, grid=grid, shape=shape, attrs=more)
    return cost(made, Setting(WSE_2, dtype, ROUND))


def test_a_router_is_passed_by_all_that_comes_from_its_element_or_through_it() -> None:
    assert load_of([(0, 2, 2), (1, 2, 2), (1, 1, 1)], 3) == Load(sent=1, busiest=2, lag=1)
    assert load_of([(2, 0, 0), (2, 0, 0)], 3) == Load(sent=2, busiest=2, lag=0)
    assert load_of([(1, 0, 3)], 4) == Load(sent=2, busiest=1, lag=1)  # a number for all goes both ways
    assert load_of([(1, 1, 1)], 4) == Load()


def test_a_stage_packs_passes_the_busiest_router_and_arrives() -> None:
    assert stage(10, 30, 3, WSE_2) == 16 + 10 + 30 + 4 + 3 + TURN
    assert stage(2, 30, 3, WSE_2) == 16 + 2 + 30 + 2 + 3 + TURN  # less than a packet
    assert stage(0, 0, 0, WSE_2) == 0


def test_rows_go_to_the_first_element_and_from_there_to_all() -> None:
    assert rows_to_all(3, 8, 1, WSE_2) == 16 + 3 * 8
    assert rows_to_all(3, 8, 5, WSE_2) == 2 * (TURN + 1) + 3 * 8 + 3 * 8 + 5 + TURN
    own = 16 + 2 * 8  # which takes longer than the first row from the middle
    assert rows_to_all(10, 8, 5, WSE_2) == own + 8 * 8 + 10 * 8 + 5 + TURN


def test_what_stays_in_its_element_is_only_copied() -> None:
    assert terms(Kernel.MOVE, "reshape", (4, 6, 4, 6), (2, 2)) == Terms(fabric=16 + 2 * 3)
    assert terms(Kernel.MOVE, "reshape", (8, 6, 4, 12), (1, 1)) == Terms(fabric=16 + 48)


def test_a_slice_moves_columns_as_far_as_it_starts() -> None:
    """Columns 4 to 7 of eight lie in the elements 2 and 3 of four and are needed one in each; the last one stays."""
    found = terms(Kernel.MOVE, "slice", (4, 4, 4, 8), (4, 1), axis=1, start=4, stop=8)
    assert found.fabric == stage(2 * 4, 3 * 4, 1, WSE_2) + 16 + 4


def test_rows_of_a_slice_move_along_columns() -> None:
    found = terms(Kernel.MOVE, "slice", (4, 4, 8, 4), (1, 4), axis=0, start=4, stop=8)
    assert found.fabric == stage(2 * 4, 3 * 4, 1, WSE_2) + 16 + 4


def test_a_border_shifts_rows_and_columns() -> None:
    found = terms(Kernel.MOVE, "pad", (8, 4, 7, 3), (4, 4), before=(1, 1), after=(0, 0))
    assert found.fabric == stage(2, 4, 0, WSE_2) + stage(1, 2, 0, WSE_2) + 16 + 2
    none = terms(Kernel.MOVE, "pad", (4, 4, 4, 3), (4, 4), before=(1,), after=(0,))
    assert none.fabric == stage(1, 2, 0, WSE_2) + 16 + 1


def test_parts_of_a_concatenation_come_from_the_same_elements() -> None:
    found = terms(Kernel.MOVE, "concat", (1, 4, 1, 2), (2, 1), axis=1)
    assert found.fabric == stage(1, 1, 0, WSE_2) + 16 + 2


def test_a_column_for_all_is_sent_once() -> None:
    found = terms(Kernel.MOVE, "broadcast_to", (4, 8, 4, 1), (4, 2))
    assert found.fabric == stage(2, 2, 2, WSE_2) + 16 + 2 * 2
    rows = terms(Kernel.MOVE, "broadcast_to", (4, 4, 1, 4), (2, 4))
    assert rows.fabric == 16 + 2  # one row lies in every row of elements already


def test_a_transpose_takes_three_ways_and_on_a_line_one() -> None:
    def exchange(words: int, line: int) -> float:
        return 16 + words + words * line / 4 + words / 2 + line + TURN

    assert terms(Kernel.TRANSPOSE, "transpose", (8, 8), (8, 1)) == Terms(
        fabric=exchange(8, 8) + 16 + 8, launch=50
    )
    found = terms(Kernel.TRANSPOSE, "transpose", (8, 8), (4, 2))
    assert found.fabric == 2 * exchange(8, 4) + exchange(8, 2) + 16 + 8
    kept = terms(Kernel.TRANSPOSE, "transpose", (8, 8), (4, 2), order=(1, 0, 2))
    assert kept.fabric == exchange(8, 2) + 16 + 8  # the last axis stays: whole rows move
    assert terms(Kernel.TRANSPOSE, "transpose", (8, 8), (1, 1)).fabric == 16 + 64


def test_rows_asked_for_go_to_all_and_are_kept_where_they_are_needed() -> None:
    few = terms(Kernel.GATHER, "embedding", (2, 8, 100, 8), (4, 3))
    assert few == Terms(fabric=rows_to_all(2, 2, 3, WSE_2), launch=50)
    many = terms(Kernel.GATHER, "embedding", (6, 8, 100, 8), (4, 3), dtype=F16)
    assert many == Terms(memory=16 + 2, fabric=rows_to_all(6, 1, 3, WSE_2), launch=50)
    single = terms(Kernel.GATHER, "gather", (1, 20, 100, 1), (4, 3))
    assert single == Terms(memory=16 + 5, fabric=rows_to_all(20, 1, 4, WSE_2), launch=50)


def test_updates_travel_and_are_added() -> None:
    many = terms(Kernel.GATHER, "scatter_add", (30, 8, 7, 8), (4, 3))
    assert many == Terms(3 * (16 + 2 * 2), 0.0, rows_to_all(7, 2, 3, WSE_2), 50)
    few = terms(Kernel.GATHER, "scatter_add", (30, 8, 2, 8), (4, 3))
    assert few == Terms(1 * (16 + 2 * 2), launch=50)  # they lie in every row of elements


def test_one_row_of_elements_writes_what_a_batch_appends() -> None:
    assert terms(Kernel.CACHE_APPEND, "cache_append", (1, 8), (4, 4)) == Terms(memory=16 + 2)
    assert terms(Kernel.CACHE_APPEND, "cache_append", (3, 8), (4, 4)) == Terms(memory=16 + 6)
    many = terms(Kernel.CACHE_APPEND, "cache_append", (4, 8), (4, 4))
    assert many == Terms(memory=16 + 8, fabric=rows_to_all(4, 2, 4, WSE_2))


@pytest.mark.parametrize(
    ("attrs", "fabric"),
    [
        ({"head_dim": 16}, stage(4, 8, 0, WSE_2)),  # halves lie two elements apart
        ({"head_dim": 8}, stage(4, 4, 0, WSE_2)),
        ({"head_dim": 4}, 0),  # a whole head in an element
        ({"head_dim": 16, "interleaved": 1}, 0),
        ({"head_dim": 16, "rotary_dim": 4}, 0),
    ],
)
def test_pairs_of_a_rotation_travel_if_they_lie_apart(attrs: dict[str, int], fabric: float) -> None:
    found = terms(Kernel.ELEMENTWISE, "rope", (1, 16), (4, 1), **attrs)
    assert found == Terms(compute=4 * (16 + 4 * 2), fabric=fabric)


def test_a_gate_needs_whole_rows() -> None:
    vectors, divisions = ELEMENT_OPS["softmax"]
    assert gate_ops(3) == (6 + vectors, divisions)
    found = terms(Kernel.ELEMENTWISE, "top_k_gate", (1, 8), (4, 1), k=3, dtype=F16)
    assert found.compute == (6 + vectors + 3 * divisions) * (16 + 8 * 0.25)
    assert found.fabric == stage(2, 3, 2, WSE_2)


@pytest.mark.parametrize(
    ("heads", "columns", "found"),
    [
        (32, 660, (1, 19, 7)),
        (32, 608, (1, 19, 7)),
        (32, 607, (1, 16, 8)),
        (32, 63, (1, 1, 128)),
        (32, 31, (2, 1, 128)),
    ],
)
def test_columns_share_a_head_where_there_are_enough(
    heads: int, columns: int, found: tuple[int, int, int]
) -> None:
    assert heads_on(heads, 128, columns) == found
    assert summed_features(heads, 128, columns, 5) == (found[2] if found[1] > 1 else 5)
