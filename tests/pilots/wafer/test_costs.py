from __future__ import annotations

from dataclasses import replace
from math import ceil, inf, isfinite, isqrt, log2, nextafter
from typing import Any

import pytest

from pilots.graph.ir import DType
from pilots.wafer.costs import collectives
from pilots.wafer.costs.constants import Constants, calibrated
from pilots.wafer.costs.kernels import ELEMENT_OPS, TABLE, Setting, cost
from pilots.wafer.costs.terms import Span, Terms
from pilots.wafer.lowering import KERNEL_OF
from pilots.wafer.machine import WSE_2, WSE_3
from pilots.wafer.predict import multiply_adds
from pilots.wafer.program import PRODUCTS, SQUARE, Call, Kernel, Rect
from pilots.wafer.tiling import tile_of
from tests.pilots.wafer.hand_built import call

F32, F16 = DType.FLOAT32, DType.FLOAT16
TR = WSE_2.ramp_cycles.value
ROUND = Constants(
    loop_element=10.0,
    loop_fma=3.0,
    step=100.0,
    mesh_dispatch=5.0,
    gemv_dispatch=8.0,
    map_column=8.0,
    map_call=17.0,
    realign=7.0,
    launch=50.0,
    stencil_point=2.0,
)


def at(dtype: DType = F16, *, machine: Any = WSE_2, alone: bool = False, **changes: float) -> Setting:
    return Setting(machine, dtype, replace(ROUND, **changes), alone=alone)


def terms(kernel: Kernel, op: str, tile: tuple[int, ...], grid: Any, setting: Setting, **more: Any) -> Terms:
    return cost(call(kernel, op, tile=tile, grid=grid, **more), setting)


def test_machine_figures_behind_the_numbers_below() -> None:
    assert TR == 2
    assert WSE_2.hop_cycles.value == 1
    assert WSE_2.dsd_setup_cycles.value == 16
    assert (at(F16).fma_cycles, at(F32).fma_cycles) == (0.25, 2.0)
    assert [at(F16).words(n) for n in (1, 2, 3)] == [1, 1, 2]
    assert [at(F32).words(n) for n in (1, 2, 3)] == [1, 2, 3]


def test_summa_in_full_and_half_precision() -> None:
    found = terms(Kernel.SUMMA, "matmul", (2, 3, 4), (5, 5), at(F32))
    receive = 5 * 2 * WSE_2.dsd_setup_cycles.value
    assert found == Terms(5 * 12 * (10 + 3 * 2), receive, 5 * (6 + 12), 5 * 100 + 50)
    found = terms(Kernel.SUMMA, "matmul", (2, 3, 4), (5, 5), at(F16))
    assert found == Terms(5 * 12 * (10 + 0.25 * 2), receive, 5 * (3 + 6), 5 * 100 + 50)


def test_rotated_products_hide_their_shifts_or_wait_for_them() -> None:
    found = terms(Kernel.MESH_GEMM, "matmul", (2, 3, 4), (5, 5), at(F16, alone=True))
    assert found == Terms(compute=5 * 12 * (5 + 0.5), launch=5 * 100 + 50)
    aligned = terms(Kernel.MESH_GEMM, "matmul", (2, 3, 4), (5, 5), at(F16))
    assert aligned.fabric == 5 / 2
    tiny = terms(Kernel.MESH_GEMM, "matmul", (1, 1, 1), (100, 100), at(F16, alone=True, mesh_dispatch=0.0))
    assert tiny.fabric == pytest.approx(100 * (1 + 2 - 0.25))
    around = terms(Kernel.CANNON, "matmul", (1, 1, 1), (100, 100), at(F16, alone=True))
    assert around.fabric == pytest.approx(100 * (1 + 100 - 5.25))


def test_matrix_vector_product() -> None:
    line = collectives.allreduce_line(2 * 10, 6, WSE_2)  # sums travel in fp32
    found = terms(Kernel.GEMV, "matmul", (2, 3, 10), (4, 6), at(F16))
    assert found == Terms(compute=6 * (8 + 3), memory=6 * 7, fabric=line, launch=50)
    assert terms(Kernel.GEMV, "matmul", (2, 3, 10), (4, 6), at(F16, alone=True)).memory == 0


def test_stationary_product_and_convolution() -> None:
    spread = ceil(2 * 3 / 2) + 4 + 2 * TR
    chained = 2 * 10 + (2 * TR + 2) * 5
    expected = Terms(compute=30 * (5 + 0.5), memory=6 * 7, fabric=spread + chained, launch=50)
    assert terms(Kernel.STATIONARY, "matmul", (2, 3, 10), (4, 6), at(F16)) == expected
    assert terms(Kernel.CONVOLUTION, "conv2d", (2, 3, 10), (4, 6), at(F16)) == expected


def test_streamed_product() -> None:
    found = terms(Kernel.STREAMED, "matmul", (2, 3, 10), (4, 6), at(F16))
    assert found == Terms(compute=30 * (16 + 0.5), fabric=fill(3, 2), launch=50)


def fill(tile_k: int, tile_m: int) -> float:
    """Return the way of the first weights down six rows, and that of the last sums along four columns."""
    return collectives.broadcast(tile_k, 7, WSE_2) + collectives.chain(tile_m, 4, WSE_2)


@pytest.mark.parametrize(("rows", "wait"), [(1, 0), (21, 0), (22, 10 * 0.5), (100, 10 * (100 - 16 - 25))])
def test_streamed_sums_hide_behind_the_arithmetic_or_are_waited_for(rows: int, wait: float) -> None:
    """Every link of a row carries one sum per token and column; an element starts one multiply-add for each weight."""
    found = terms(Kernel.STREAMED, "matmul", (rows, 1, 10), (4, 6), at(F16))
    assert found == Terms(compute=10 * (16 + rows * 0.25), fabric=wait + fill(1, rows), launch=50)
    alone = terms(Kernel.STREAMED, "matmul", (rows, 1, 10), (1, 6), at(F16)).fabric
    assert alone == collectives.broadcast(1, 7, WSE_2)


def test_elementwise_counts_vector_operations_and_divisions() -> None:
    one = 16 + 12 * 0.25
    assert terms(Kernel.ELEMENTWISE, "add", (3, 4), (4, 4), at(F16)) == Terms(compute=one)
    vectors, divisions = ELEMENT_OPS["sigmoid"]
    half = terms(Kernel.ELEMENTWISE, "sigmoid", (3, 4), (4, 4), at(F16))
    assert half.compute == pytest.approx((vectors + 3 * divisions) * one)
    full = terms(Kernel.ELEMENTWISE, "sigmoid", (3, 4), (4, 4), at(F32))
    assert full.compute == pytest.approx(vectors * (16 + 12 * 2) + divisions * 50 * 12)


def test_rows_are_reduced_along_the_width() -> None:
    line = collectives.allreduce_line(3, 6, WSE_2)
    found = terms(Kernel.REDUCE, "reduce_sum", (3, 4), (6, 2), at(F16))
    assert found == Terms(compute=16 + 12 * 0.25, fabric=line, launch=50)
    softmax = terms(Kernel.SOFTMAX, "softmax", (3, 4), (6, 2), at(F16))
    assert softmax.fabric == 2 * line
    rms, layer = (terms(Kernel.NORM, op, (3, 4), (6, 2), at(F16)) for op in ("rms_norm", "layer_norm"))
    assert (rms.fabric, layer.fabric) == (line, 2 * line)
    assert rms.compute == pytest.approx(3 * (16 + 3) + 3 * 2 * 50)


def test_stencil_counts_every_cell_of_an_element() -> None:
    one = terms(Kernel.STENCIL, "stencil", (1, 10), (4, 4), at(F32), shape=(4, 4, 10, 7))
    assert one == Terms(compute=10 * (7 + 3) * 2 + 7 * 16, fabric=4 * 10, launch=50)
    four = terms(Kernel.STENCIL, "stencil", (4, 10), (2, 2), at(F32), shape=(4, 4, 10, 7))
    assert four == Terms(compute=40 * (7 + 3) * 2 + 7 * 16, fabric=4 * 40, launch=50)


def test_no_element_of_a_small_grid_has_all_neighbours() -> None:
    """A star of 25 points reaches eight neighbours along an axis; six columns have five others."""
    for side, points in ((9, 25), (6, 25 - 2 * 3), (1, 25 - 2 * 8)):
        found = terms(Kernel.STENCIL, "stencil", (1, 10), (side, side), at(F32), shape=(side, side, 10, 25))
        assert found.compute == 10 * (points + 3) * 2 + points * 16


def test_attention_is_two_products_and_a_softmax_on_a_square() -> None:
    shape = (2, 8, 8, 2, 1, 6)
    each = 3 * 2 * (5 + 4 * 0.25)  # two columns share a head of six features; context 8/4, rows 16/4
    scores = (27 + 3) * (16 + 4 * 2 * 2 * 0.25)  # rows, heads, context of an element
    found = terms(Kernel.ATTENTION, "attention", (4, 2, 3), (4, 4), at(F16), shape=shape)
    assert found.compute == pytest.approx((4 + 4) * each + scores)
    assert found.launch == (4 + 4) * 100 + 2 * 50
    line = collectives.chain(4 * 2, 4, WSE_2) + collectives.broadcast(4 * 2, 4, WSE_2)
    assert found.fabric == 2 * line
    wide = terms(Kernel.ATTENTION, "attention", (4, 2, 1), (99, 4), at(F16), shape=shape)
    assert wide == found  # what lies outside the square does not help


def test_rows_of_two_sequences_take_an_operation_for_each() -> None:
    shape = (2, 7, 7, 4, 2, 6)
    found = terms(Kernel.ATTENTION, "attention", (4, 2, 6), (4, 4), at(F16), shape=shape)
    each = 6 * 2 * (2 * 5 + 4 * 0.25)  # rows 4 to 7 are of both
    assert found.compute == pytest.approx((4 + 4) * each + (27 + 3) * (16 + 4 * 4 * 2 * 0.25))


def test_cached_attention_reads_the_cache_twice() -> None:
    found = terms(
        Kernel.ATTENTION_CACHED, "attention_cached", (2, 3, 3), (4, 4), at(F16), shape=(2, 1, 12, 2, 1, 6)
    )
    vectors = 2 * 2 * 3  # keys and values, sequences, places per row of elements
    scores = (27 + 3) * (16 + 2 * 3 * 0.25)  # every column of a head has all of its scores
    assert found.compute == pytest.approx(vectors * (8 + 1) + scores)
    assert (found.memory, found.launch) == (vectors * 7, 3 * 50)


def test_cached_attention_sums_scores_in_the_columns_of_a_head_and_the_rest_along_the_height() -> None:
    shape = (3, 1, 300, 2, 2, 16)
    found = terms(Kernel.ATTENTION_CACHED, "attention_cached", (3, 50, 8), (4, 6), at(F16), shape=shape)
    scores = 3 * 50
    along = collectives.chain(scores, 2, WSE_2) + collectives.broadcast(scores, 2, WSE_2)
    down = sum(collectives.allreduce_line(words, 6, WSE_2) for words in (3, 3, 3 * 8))
    assert found.fabric == pytest.approx(along + down)


def test_cached_attention_of_whole_heads_sums_nothing_along_the_width() -> None:
    shape = (3, 1, 300, 8, 2, 16)
    found = terms(Kernel.ATTENTION_CACHED, "attention_cached", (3, 50, 32), (4, 6), at(F16), shape=shape)
    rows, values = 3 * 2, 3 * 32  # largest and sum of two heads; the weighted values
    down = sum(collectives.allreduce_line(words, 6, WSE_2) for words in (rows, rows, values))
    assert found.fabric == pytest.approx(down)


@pytest.mark.parametrize(
    ("op", "vectors", "divisions", "times"), [("argmax", 2, 0, 2), ("cross_entropy", 27, 1, 3)]
)
def test_rows_of_which_one_entry_counts_meet_several_times(
    op: str, vectors: int, divisions: int, times: int
) -> None:
    found = terms(Kernel.REDUCE, op, (3, 4), (6, 2), at(F16))
    assert found.compute == (vectors + 3 * divisions) * (16 + 12 * 0.25)
    assert found.fabric == times * collectives.allreduce_line(3, 6, WSE_2)


@pytest.mark.parametrize(
    ("activation", "vectors", "divisions"), [("silu", 27, 1), ("gelu", 49, 1), ("relu", 1, 0)]
)
def test_experts_are_three_products_and_what_lies_between(
    activation: str, vectors: int, divisions: int
) -> None:
    made = call(
        Kernel.EXPERTS,
        "expert_ffn",
        tile=(5, 2),
        grid=(4, 4),
        attrs={"activation": activation},
        shape=(5, 8, 12, 4, 2),
    )
    up, down = (
        cost(call(Kernel.GEMV, "matmul", tile=tile, grid=(4, 4)), at(F16)) for tile in ((1, 2, 3), (1, 3, 2))
    )
    hidden, result = (
        16 + 3 * 0.25,
        16 + 2 * 0.25,
    )  # 12 / 4 hidden numbers and 8 / 4 of the result in one element
    between = Terms(
        compute=(vectors + 3 * divisions + 1) * hidden + 2 * result,
        memory=hidden,
        fabric=collectives.broadcast(3, 4, WSE_2),
    )
    assert cost(made, at(F16)) == (up + up + down + between).times(5 * 2)


@pytest.mark.parametrize(("op", "division"), [("max_pool2d", 0), ("avg_pool2d", 50 * 30)])
def test_a_pool_takes_one_operation_per_place_of_a_window(op: str, division: int) -> None:
    def pool(stride: int, height: int) -> Terms:
        attrs = {"size": 3, "stride": stride}
        made = call(Kernel.STENCIL, op, tile=(3, 10), grid=(2, height), attrs=attrs, shape=(2, 12, 10, 9))
        return cost(made, at(F32))

    arithmetic = 9 * (16 + 30 * 2) + division
    assert pool(3, 4) == Terms(compute=arithmetic, launch=50)  # windows share no rows
    assert pool(1, 1) == Terms(compute=arithmetic, launch=50)  # nobody else has a row
    rows = 2 * (9 + 3)  # rows of a picture that the element to the south holds
    assert pool(1, 4).fabric == collectives.chain(rows, 2, WSE_2)


@pytest.mark.parametrize(
    ("kernel", "tile", "single"),
    [
        (Kernel.SUMMA, (3, 2, 3), (1, 2, 3)),
        (Kernel.MESH_GEMM, (3, 2, 3), (1, 2, 3)),
        (Kernel.STATIONARY, (12, 2, 3), (4, 2, 3)),
        (Kernel.STREAMED, (3, 2, 12), (1, 2, 12)),
    ],
)
def test_products_of_a_batch_follow_one_another_after_one_launch(
    kernel: Kernel, tile: tuple[int, ...], single: tuple[int, ...]
) -> None:
    shape, attrs = (12, 8, 12), {"batch": 3}
    made = call(kernel, "batch_matmul", tile=tile, grid=(4, 4), attrs=attrs, shape=shape)
    one = terms(kernel, "matmul", single, (4, 4), at(F16), shape=(4, *shape[1:]))
    assert cost(made, at(F16)) == replace(one.times(3), launch=3 * one.launch - 2 * 50)


def test_optimiser_step() -> None:
    assert terms(Kernel.OPTIMISER, "sgd_update", (3, 4), (4, 4), at(F32)).compute == 2 * (16 + 24)
    assert terms(Kernel.OPTIMISER, "adamw_update", (3, 4), (4, 4), at(F32)).compute == 6 * 40 + 2 * 50 * 12


def test_every_kernel_and_operation_has_a_cost() -> None:
    assert set(TABLE) == set(Kernel)
    for op, kernel in KERNEL_OF.items():
        shape = {Kernel.STENCIL: (4, 4, 4, 9), Kernel.EXPERTS: (1, 4, 4, 2, 1)}.get(kernel)
        shape = shape or ((1, 2, 2, 2, 1, 2) if kernel.value.startswith("ATTENTION") else (4, 4, 4, 4))
        tile = tile_of(kernel, shape, Rect(0, 0, 3, 2))
        found = terms(kernel, op, tile, (3, 2), at(F32), shape=shape, attrs={"k": 1, "head_dim": 4})
        assert all(isfinite(value) and value >= 0 for value in (found.compute, found.memory, found.fabric))
        assert found.cycles > 0


SIZES = [(1, 1, 1), (1, 4096, 4096), (4, 100, 7), (17, 31, 61), (64, 64, 64), (300, 1000, 50)]


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("rect", [(1, 1), (8, 8), (64, 2), (3, 50), (750, 994), (720, 720)])
@pytest.mark.parametrize("kernel", [*PRODUCTS, Kernel.CONVOLUTION, Kernel.EXPERTS, *TABLE])
def test_no_element_computes_faster_than_its_lanes(
    kernel: Kernel, rect: tuple[int, int], dtype: DType
) -> None:
    if kernel in SQUARE and rect[0] != rect[1]:
        return
    for m, k, n in SIZES:
        shape: tuple[int, ...] = (m, k, n)
        if kernel.value.startswith("ATTENTION"):
            shape = (2, 1 if kernel is Kernel.ATTENTION_CACHED else m, m, 4, 2, 8)
        shape = {
            Kernel.EXPERTS: (m, k, n, 4, 2),
            Kernel.STENCIL: (k, n, m, 7),
            Kernel.MOVE: (m, k, k, m),
            Kernel.GATHER: (m, k, n, k),
        }.get(kernel, shape)
        names = {
            Kernel.STENCIL: "stencil",
            Kernel.NORM: "rms_norm",
            Kernel.SOFTMAX: "softmax",
            Kernel.MOVE: "reshape",
        }
        op = names.get(kernel, "x")
        area = Rect(0, 0, *rect)
        made = Call(0, kernel, op, (), "", 0, area, shape, tile_of(kernel, shape, area), (("causal", 0),))
        lane = (
            2
            / (WSE_2.fp32_flops_per_cycle_per_pe if dtype is F32 else WSE_2.fp16_flops_per_cycle_per_pe).value
        )
        busy = cost(made, Setting(WSE_2, dtype, calibrated())).compute * area.pes
        assert busy >= multiply_adds(made) * lane * (1 - 1e-9)


LINES = [(1, 2), (1, 750), (64, 4), (1000, 17), (7, 512)]


@pytest.mark.parametrize(("b", "p"), LINES)
def test_collectives_are_the_published_formulas(b: int, p: int) -> None:
    turn = 2 * TR + 1
    assert collectives.star(b, p, WSE_2) == b * (p - 1) + turn
    assert collectives.chain(b, p, WSE_2) == b + (2 * TR + 2) * (p - 1)
    levels = ceil(log2(p))
    tree = max(b * levels, b * p * levels / (2 * (p - 1)) + p - 1) + turn * levels
    assert collectives.tree(b, p, WSE_2) == pytest.approx(tree)
    group = isqrt(p)
    two_phase = max(2 * b, 2 * b - b / group + p - 1) + (2 * group - 2) * turn
    assert collectives.two_phase(b, p, WSE_2) == pytest.approx(two_phase)
    assert collectives.broadcast(b, p, WSE_2) == b + p + 2 * TR
    assert collectives.broadcast_2d(b, p, 9, WSE_2) == b + p + 9 - 2 + turn
    ring = 2 * (p - 1) * b / p + 4 * p - 6 + 2 * (p - 1) * turn
    assert collectives.ring(b, p, WSE_2) == pytest.approx(ring)
    assert collectives.reduce_line("", b, p, WSE_2) == min(
        collectives.reduce_line(name, b, p, WSE_2) for name in ("star", "chain", "tree", "two-phase")
    )


def test_exchange_of_a_transform_is_the_published_bound() -> None:
    assert collectives.all_to_all(2, 512) == 131_072


def published_two_level(b: int, p: int, groups: int) -> float:
    g = p / groups
    return g / 2 * (2 * TR + 2) + b + groups / 2 * (2 * TR + 1 + g) + b


@pytest.mark.parametrize("p", [64, 128, 256, 360, 420, 480, 512, 540, 600, 660, 720, 750, 994])
@pytest.mark.parametrize("b", [1, 2, 4])
def test_two_level_sum_of_a_few_words_is_the_published_formula_with_the_best_group(b: int, p: int) -> None:
    published = min(published_two_level(b, p, groups) for groups in (2, 4, 8, 16, 32, 64))
    assert collectives.two_level(b, p, WSE_2) == pytest.approx(published, rel=0.06)


def test_matrix_vector_product_takes_what_was_published() -> None:
    b, p = 16, 512
    whole = 32 * (8 + ceil(32 / 4)) + published_two_level(b, p, 16) + p / 2 + b + 2 * TR + 1
    setting = replace(at(F16, alone=True, launch=0.0), sum_bytes=2)
    found = terms(Kernel.GEMV, "matmul", (1, 32, 32), (512, 512), setting).cycles
    assert found == pytest.approx(whole, rel=0.01)


def test_where_long_streams_meet_one_ramp_takes_one_after_the_other() -> None:
    step = 2 * TR + 2
    assert collectives.two_level(100, 2, WSE_2) == step + 100  # a single message has no rival
    assert collectives.two_level(100, 3, WSE_2) == step + 2 * 100  # both come at once
    assert collectives.two_level(100, 4, WSE_2) == 2 * step + 2 * 100 - step  # one has a step less to go
    assert collectives.two_level(step, 4, WSE_2) == 2 * step + step


def test_sums_of_published_kernels_may_travel_in_the_element_type() -> None:
    narrow = replace(at(F16), sum_bytes=2)
    assert [at(F16).sums(count) for count in (1, 3)] == [1, 3]
    assert [narrow.sums(count) for count in (1, 3)] == [1, 2]


@pytest.mark.parametrize(("grid", "tile"), [(1, 46), (32, 16), (512, 4), (750, 46)])
def test_summa_is_the_published_formula_and_what_comes_down_the_ramp(grid: int, tile: int) -> None:
    received = (
        tile * tile + 2 * WSE_2.dsd_setup_cycles.value
    )  # the second block, and both operations that store one
    published = grid * (tile * tile * (18 + 2.5 * tile) + tile * tile + 400 + received)
    setting = at(F32, alone=True, loop_element=18.0, loop_fma=2.5, step=400.0, launch=0.0)
    found = terms(Kernel.SUMMA, "matmul", (tile, tile, tile), (grid, grid), setting)
    assert found.cycles == pytest.approx(published)


@pytest.mark.parametrize("name", ["star", "chain", "tree", "two_phase", "ring", "broadcast", "two_level"])
def test_a_line_of_one_element_moves_nothing_and_slow_hops_cost_more(name: str) -> None:
    function = getattr(collectives, name)
    assert function(100, 1, WSE_2) == 0
    assert function(4, 700, WSE_3) > function(4, 700, WSE_2)
    assert function(8, 700, WSE_2) > function(4, 700, WSE_2)
    assert function(4, 701, WSE_2) >= function(4, 700, WSE_2)


def test_other_collectives_of_one_element_and_unknown_names() -> None:
    assert collectives.broadcast_2d(100, 1, 1, WSE_2) == collectives.allreduce_line(100, 1, WSE_2) == 0
    with pytest.raises(KeyError):
        collectives.reduce_line("guess", 1, 8, WSE_2)


def test_terms_add_up_cause_by_cause() -> None:
    found = Terms(1.5, 2, 3, 4) + Terms(1, 1, 1, 1).times(2)
    assert found == Terms(3.5, 4, 5, 6)
    assert found.cycles == 18.5
    assert found.whole() == {"compute": 4, "memory": 4, "fabric": 5, "launch": 6}
    assert Terms(compute=3 + 1e-12).whole()["compute"] == 3
    for large in (3e9, 3e12):
        assert Terms(compute=nextafter(large, inf)).whole()["compute"] == large
    assert Terms(compute=3e9 + 0.5).whole()["compute"] == 3e9 + 1


def test_spans_keep_their_ends_in_order() -> None:
    span = Span(2.0, 1.0, 4.0) + Span(1.0, 1.0, 1.0)
    assert span == Span(3.0, 2.0, 5.0)
    assert span.times(2) == Span(6.0, 4.0, 10.0)
    assert span.inverse(30) == Span(10.0, 6.0, 15.0)
