"""Kernels of several stages: results bit for bit as in the functional interpreter, cycles as their formulas say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pilots.graph.ir import DType
from pilots.wafer import cycle
from pilots.wafer.costs.constants import calibrated
from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle.agreement import call_of, check, inputs_of
from pilots.wafer.cycle.case import Case
from pilots.wafer.cycle.cases_composite import COMPOSITE
from pilots.wafer.cycle.image import EVERYWHERE, Image
from pilots.wafer.cycle.instructions import receive, send
from pilots.wafer.cycle.sequence import sequence
from pilots.wafer.cycle.simulate import simulate
from pilots.wafer.errors import ProgramError, RequestError
from pilots.wafer.handlers.table import apply
from pilots.wafer.machine import lab_mesh
from tests.pilots.wafer.hand_built import numbers

LAB = lab_mesh(16, 16)
FLOATS = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)
PRODUCTS = ("STATIONARY", "GEMV", "SUMMA", "CANNON", "MESH_GEMM", "STREAMED")


def heads(shape: tuple[int, ...], **more: int) -> tuple[tuple[str, int], ...]:
    return tuple(sorted({"heads": shape[3], "kv_heads": shape[4], "head_dim": shape[5], **more}.items()))


def same(case: Case, inputs: tuple[Any, ...]) -> bool:
    """Say whether both interpreters make the same bits of these inputs."""
    call = call_of(case)
    got, _ = cycle.run_call(call, inputs, Setting(LAB, case.dtype, calibrated()))
    want = np.ascontiguousarray(apply(call, inputs, case.dtype))
    return got.shape == want.shape and got.tobytes() == want.tobytes()


@pytest.mark.parametrize(
    "case", COMPOSITE, ids=lambda case: f"{case.kernel}-{case.op}-{case.shape}-{case.dtype}"
)
def test_composite_kernels_agree(case: Case) -> None:
    row = check(case)
    assert row.same_bits
    assert row.agrees or case.cause, row.ratio


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize(
    ("shape", "grid"),
    [
        ((1, 1, 1, 1, 1, 1), (1, 1)),
        ((1, 4, 4, 2, 2, 4), (1, 1)),
        ((2, 7, 7, 4, 2, 6), (3, 3)),  # more heads than columns
        ((2, 3, 3, 4, 2, 6), (8, 4)),  # the square is smaller than the rectangle
        ((2, 9, 9, 4, 2, 6), (3, 7)),  # several tiles of the context in one column
        ((1, 16, 16, 3, 1, 8), (7, 4)),  # heads that do not go into the columns
    ],
)
def test_attention_equals_functional_bit_for_bit(shape: Any, grid: Any, causal: int, dtype: DType) -> None:
    attrs = heads(shape, batch=shape[0], causal=causal)
    case = Case("ATTENTION", "attention", shape, grid, dtype, LAB, attrs)
    assert check(case).same_bits


@pytest.mark.parametrize("window", [1, 3, 9])
def test_attention_sees_no_farther_than_its_window(window: int) -> None:
    shape = (2, 5, 5, 2, 1, 4)
    attrs = heads(shape, batch=2, causal=1, window=window)
    assert check(Case("ATTENTION", "attention", shape, (4, 4), machine=LAB, attrs=attrs)).same_bits


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("shape", "grid"),
    [
        ((1, 1, 1, 1, 1, 1), (1, 1)),
        ((2, 1, 7, 4, 2, 6), (3, 3)),
        ((2, 1, 7, 4, 2, 6), (8, 4)),  # two columns share a head
        ((1, 1, 32, 3, 1, 8), (7, 4)),
        ((3, 1, 9, 2, 1, 8), (16, 2)),
    ],
)
def test_cached_attention_equals_functional_bit_for_bit(shape: Any, grid: Any, dtype: DType) -> None:
    case = Case("ATTENTION_CACHED", "attention_cached", shape, grid, dtype, LAB, heads(shape))
    assert check(case).same_bits


@pytest.mark.parametrize("window", [0, 1, 4])
@pytest.mark.parametrize("position", [0, 3, 8])
def test_what_a_cache_holds_behind_the_position_reaches_no_result(position: int, window: int) -> None:
    shape = (2, 1, 9, 2, 2, 4)
    more = {"window": window} if window else {}
    case = Case(
        "ATTENTION_CACHED", "attention_cached", shape, (4, 4), machine=LAB, attrs=heads(shape, **more)
    )
    query, keys, values, _ = inputs_of(case)
    for cache in (keys, values):
        cache[:, position + 1 :] = np.nan
    assert same(case, (query, keys, values, np.array([position, position // 2], dtype=np.int32)))


def test_a_position_outside_the_cache_is_refused() -> None:
    shape = (1, 1, 4, 1, 1, 2)
    case = Case("ATTENTION_CACHED", "attention_cached", shape, (2, 2), machine=LAB, attrs=heads(shape))
    inputs = (*inputs_of(case)[:3], np.array([4], dtype=np.int32))
    with pytest.raises(RequestError, match="position 4"):
        cycle.run_call(call_of(case), inputs, Setting(LAB, DType.FLOAT32, calibrated()))


def test_context_that_tiles_do_not_cover_is_refused() -> None:
    shape = (1, 8, 8, 1, 1, 2)
    case = Case("ATTENTION", "attention", shape, (2, 2), machine=LAB, attrs=heads(shape, batch=1, causal=1))
    call = replace(call_of(case), tile=(4, 3, 1))
    with pytest.raises(ProgramError, match="TILES_COVER"):
        cycle.run_call(call, inputs_of(case), Setting(LAB, DType.FLOAT32, calibrated()))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("activation", ["silu", "gelu", "relu"])
@pytest.mark.parametrize(
    ("shape", "grid"),
    [
        ((1, 4, 4, 2, 1), (1, 1)),
        ((3, 4, 5, 2, 1), (4, 4)),
        ((3, 9, 5, 4, 2), (4, 3)),
        ((3, 5, 13, 4, 2), (3, 5)),
    ],
)
def test_experts_equal_functional_bit_for_bit(shape: Any, grid: Any, activation: str, dtype: DType) -> None:
    attrs = (("activation", activation), ("k", shape[4]))
    assert check(Case("EXPERTS", "expert_ffn", shape, grid, dtype, LAB, attrs)).same_bits


def test_a_row_no_expert_was_sent_takes_no_cycles_and_stays_zero() -> None:
    case = Case(
        "EXPERTS", "expert_ffn", (2, 4, 4, 2, 1), (2, 2), machine=LAB, attrs=(("activation", "relu"),)
    )
    x, gates, *weights = inputs_of(case)
    one, none = gates.copy(), np.zeros_like(gates)
    one[0] = 0
    setting = Setting(LAB, DType.FLOAT32, calibrated())
    got, outcome = cycle.run_call(call_of(case), (x, one, *weights), setting)
    assert not got[0].any()
    assert got[1].any()
    _, both = cycle.run_call(call_of(case), (x, gates, *weights), setting)
    assert both.cycles > outcome.cycles
    assert not cycle.run_call(call_of(case), (x, none, *weights), setting)[0].any()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("stride", "padding"), [(1, 0), (1, 1), (2, 1), (3, 2)])
def test_convolution_equals_functional_bit_for_bit(stride: int, padding: int, dtype: DType) -> None:
    inputs = (numbers("x", 2, 3, 5, 7), numbers("w", 4, 3, 3, 2))
    rows, columns = (5 + 2 * padding - 3) // stride + 1, (7 + 2 * padding - 2) // stride + 1
    attrs = (("padding", padding), ("stride", stride))
    assert same(Case("CONVOLUTION", "conv2d", (2 * rows * columns, 18, 4), (4, 4), dtype, LAB, attrs), inputs)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["max_pool2d", "avg_pool2d"])
@pytest.mark.parametrize(
    ("size", "stride", "grid"),
    [(2, 2, (2, 2)), (3, 1, (2, 3)), (4, 1, (2, 16)), (2, 3, (2, 2)), (2, 1, (1, 1)), (5, 2, (7, 4))],
)
def test_pools_equal_functional_bit_for_bit(size: int, stride: int, grid: Any, op: str, dtype: DType) -> None:
    inputs = (numbers("x", 1, 3, 11, 7),)
    shape = (3, (11 - size) // stride + 1, (7 - size) // stride + 1, size**2)
    assert same(Case("STENCIL", op, shape, grid, dtype, LAB, (("size", size), ("stride", stride))), inputs)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kernel", PRODUCTS)
def test_products_of_a_batch_equal_functional_bit_for_bit(kernel: str, dtype: DType) -> None:
    inputs = (numbers("x", 3, 5, 7), numbers("w", 3, 7, 6))
    assert same(Case(kernel, "batch_matmul", (15, 7, 6), (4, 4), dtype, LAB), inputs)
    assert same(Case(kernel, "batch_matmul", (15, 7, 6), (1, 1), dtype, LAB), inputs)


def test_factors_of_different_batches_are_refused() -> None:
    case = Case("SUMMA", "batch_matmul", (4, 2, 2), (2, 2), machine=LAB)
    inputs = (numbers("x", 2, 2, 2), numbers("w", 3, 2, 2))
    with pytest.raises(RequestError, match="no products"):
        cycle.run_call(call_of(case), inputs, Setting(LAB, DType.FLOAT32, calibrated()))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("shape", "grid"), [((4, 4, 4), (1, 1)), ((5, 7, 6), (4, 3)), ((5, 7, 1), (4, 3)), ((17, 3, 2), (2, 9))]
)
def test_streamed_products_equal_functional_bit_for_bit(shape: Any, grid: Any, dtype: DType) -> None:
    assert check(Case("STREAMED", "matmul", shape, grid, dtype, LAB)).same_bits


def line(*positions: Any) -> Image:
    """Two elements; the left one sends three numbers east."""
    image = Image(LAB, 2, 1, colors=1)
    address = image.allot(3, numbers("x", 1, 2, 3))
    image.route((0, 0), 0, *positions)
    image.route((0, 1), 0, ("W", "R", 0))
    image.program((0, 0), send(0, address, 3))
    image.program((0, 1), receive(0, address, 3))
    return image


def test_programs_in_sequence_keep_their_own_memory() -> None:
    images = [line(("R", "E", 0)), line(("R", "E", 0))]
    joined, offsets = sequence(images)
    outcome = simulate(joined)
    for image, start in zip(images, offsets, strict=True):
        alone = simulate(image).memory
        assert (outcome.memory[..., start : start + image.words] == alone).all()
    assert outcome.cycles < 2 * simulate(images[0]).cycles  # nobody waits for the other element
    assert (joined.program_of(0), joined.routes_of(0)) == ((), ())


def test_a_color_that_is_routed_for_ever_cannot_change_its_way() -> None:
    with pytest.raises(ValueError, match="for ever"):
        sequence([line(("R", "E", 0)), line(("R", "ER", 0))])


def test_turns_of_a_color_follow_one_another() -> None:
    joined, _ = sequence([line(("R", "E", 3)), line(("R", "E", 3)), line(("R", "E", 0))])
    assert simulate(joined).hops == 9
    assert joined.places[EVERYWHERE].all()
