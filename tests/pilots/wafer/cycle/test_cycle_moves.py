from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.ir import DType
from pilots.wafer import cycle, functional
from pilots.wafer.__main__ import main
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.costs.constants import calibrated
from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle.agreement import check
from pilots.wafer.cycle.cases_moves import MOVES, MOVES_ATTRS, MOVES_CAUSES_DE, MOVES_REST
from pilots.wafer.cycle.kernels.exchange import EVERY_ROW, Homes, plan
from pilots.wafer.cycle.kernels.owners import as_matrix
from pilots.wafer.cycle.kernels.table import PROGRAMS
from pilots.wafer.errors import ProgramError, RequestError
from pilots.wafer.handlers.table import HANDLERS, apply
from pilots.wafer.lowering import KERNEL_OF
from pilots.wafer.machine import lab_mesh
from pilots.wafer.numerics import narrowed
from pilots.wafer.program import Call, Kernel, Rect
from pilots.wafer.tiling import tile_of
from tests.pilots.wafer.hand_built import numbers

LAB = lab_mesh(16, 16)
F32 = DType.FLOAT32
FLOATS = (F32, DType.FLOAT16, DType.BFLOAT16)
GRIDS = ((1, 1), (4, 4), (8, 3), (3, 7))


def ids(limit, *shape):
    return (np.arange(np.prod(shape), dtype=np.int32) * 7 + 3).reshape(shape) % limit


def run(kernel, op, inputs, *, grid=(4, 4), dtype=F32, shape=None, attrs=MappingProxyType({})):
    """Return the result of the wavelet program, that of the handler, and what the fabric did."""
    setting = Setting(LAB, dtype, calibrated(), alone=True)
    given = tuple(narrowed(item, dtype) for item in inputs)
    shape = shape or as_matrix(apply(made(kernel, op, (1, 1), grid, attrs), given, dtype).shape)
    call = made(kernel, op, shape, grid, attrs)
    got, outcome = cycle.run_call(call, given, setting)
    return got, apply(call, given, dtype), outcome


def made(kernel, op, shape, grid, attrs):
    rect = Rect(0, 0, *grid)
    return Call(
        0,
        Kernel(kernel),
        op,
        (),
        "y",
        0,
        rect,
        shape,
        tile_of(Kernel(kernel), shape, rect),
        tuple(sorted(attrs.items())),
    )


def assert_same(got, want):
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    assert got.tobytes() == np.ascontiguousarray(want).tobytes()


MOVED = (
    ("MOVE", "reshape", lambda: (numbers("x", 12, 20),), {"shape": (24, 10)}),
    ("MOVE", "reshape", lambda: (numbers("x", 60),), {"shape": (3, 5, 4)}),
    ("MOVE", "slice", lambda: (numbers("x", 12, 20),), {"axis": 1, "start": 3, "stop": 17}),
    ("MOVE", "slice", lambda: (numbers("x", 12, 2, 9),), {"axis": 0, "start": 7, "stop": 8}),
    ("MOVE", "concat", lambda: (numbers("x", 12, 20), numbers("y", 12, 5)), {"axis": 1}),
    ("MOVE", "pad", lambda: (numbers("x", 12, 20),), {"before": (1, 2), "after": (3, 0)}),
    ("MOVE", "broadcast_to", lambda: (numbers("x", 20),), {"shape": (12, 20)}),
    ("MOVE", "broadcast_to", lambda: (numbers("x", 12, 1),), {"shape": (2, 12, 20)}),
    ("TRANSPOSE", "transpose", lambda: (numbers("x", 12, 20),), {}),
    ("TRANSPOSE", "transpose", lambda: (numbers("x", 3, 8, 6),), {"order": (2, 0, 1)}),
    ("GATHER", "embedding", lambda: (numbers("x", 30, 20), ids(30, 12)), {}),
    ("GATHER", "embedding", lambda: (numbers("x", 30, 20), ids(30, 2)), {}),
    ("GATHER", "gather", lambda: (numbers("x", 30, 3, 5), ids(30, 2, 4)), {}),
    ("GATHER", "gather", lambda: (numbers("x", 30), ids(30, 12)), {}),
    ("GATHER", "gather", lambda: (ids(99, 30), ids(30, 25, 3)), {}),
    ("GATHER", "scatter_add", lambda: (numbers("x", 30, 20), ids(4, 12), numbers("y", 12, 20)), {}),
    ("GATHER", "scatter_add", lambda: (numbers("x", 2, 20), ids(2, 3), numbers("y", 3, 20)), {}),
    ("CACHE_APPEND", "cache_append", lambda: (numbers("x", 2, 16, 20), numbers("y", 2, 20), ids(16, 2)), {}),
    ("CACHE_APPEND", "cache_append", lambda: (numbers("x", 9, 17, 20), numbers("y", 9, 20), ids(17, 9)), {}),
    ("CACHE_APPEND", "cache_append", lambda: (numbers("x", 3, 8, 20), numbers("y", 3, 20), ids(8, 1)), {}),
)
EACH = (
    ("ELEMENTWISE", "where", lambda: (numbers("x", 12, 20) > 0, numbers("y", 12, 20), numbers("z", 20)), {}),
    ("ELEMENTWISE", "greater", lambda: (numbers("x", 12, 20), numbers("y", 12, 20)), {}),
    ("ELEMENTWISE", "equal", lambda: (ids(3, 12, 20), ids(2, 20)), {}),
    ("ELEMENTWISE", "add", lambda: (ids(9, 12, 20), ids(9, 20)), {}),
    ("ELEMENTWISE", "neg", lambda: (ids(9, 12, 20),), {}),
    ("ELEMENTWISE", "cast", lambda: (numbers("x", 12, 20, scale=99.0),), {"dtype": "int32"}),
    ("ELEMENTWISE", "cast", lambda: (ids(2, 12, 20),), {"dtype": "bool"}),
    ("ELEMENTWISE", "one_hot", lambda: (ids(9, 12),), {"depth": 9, "dtype": "float32"}),
    ("ELEMENTWISE", "top_k_gate", lambda: (numbers("x", 12, 9),), {"k": 3}),
    ("ELEMENTWISE", "top_k_gate", lambda: (np.ones((3, 9), dtype=np.float32),), {"k": 2}),
    (
        "ELEMENTWISE",
        "rope",
        lambda: (numbers("x", 12, 24), ids(100, 12)),
        {"heads": 4, "head_dim": 6, "theta": 10_000, "rotary_dim": 4},
    ),
    (
        "ELEMENTWISE",
        "rope",
        lambda: (numbers("x", 5, 24), ids(100, 5)),
        {"heads": 2, "head_dim": 12, "theta": 10_000, "interleaved": 1},
    ),
    ("OPTIMISER", "sgd_update", lambda: (numbers("x", 12, 20), numbers("y", 12, 20)), {"rate": "0.1"}),
    ("OPTIMISER", "adam_m", lambda: (numbers("x", 20), numbers("y", 20)), {"beta1": "0.9"}),
    ("OPTIMISER", "adam_v", lambda: (numbers("x", 12, 20), numbers("y", 12, 20)), {"beta2": "0.99"}),
    (
        "OPTIMISER",
        "adamw_update",
        lambda: (numbers("x", 12, 20), numbers("y", 12, 20), numbers("z", 12, 20) ** 2, ids(9, 1)),
        dict(MOVES_ATTRS["adamw_update"](())),
    ),
)


def named(row):
    return row[1]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("row", MOVED + EACH, ids=named)
def test_moves_and_operations_equal_functional_bit_for_bit(row, grid, dtype):
    kernel, op, inputs, attrs = row
    given = inputs()
    shape = as_matrix(given[1].shape) if op == "cache_append" else None
    got, want, _ = run(kernel, op, given, grid=grid, dtype=dtype, shape=shape, attrs=attrs)
    assert_same(got, want)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("shape", [(1, 1), (5, 37), (12, 20)])
def test_picks_equal_functional_bit_for_bit(shape, grid, dtype):
    values = np.rint(numbers("x", *shape))  # many equal ones
    for op, inputs in (("argmax", (values,)), ("cross_entropy", (values, ids(shape[1], shape[0])))):
        got, want, _ = run("REDUCE", op, inputs, grid=grid, dtype=dtype, shape=shape)
        assert_same(got, want)


def test_every_handler_has_a_wavelet_program():
    assert not HANDLERS.keys() - PROGRAMS.keys()


def test_odd_numbers_are_picked_as_functional_does():
    rows = np.float32([
        [1, np.nan, 9, np.nan],
        [-np.inf] * 4,
        [-0.0, 0.0, -1, -0.0],
        [np.inf, 1, np.inf, 2],
    ])  # fmt: skip
    for op, inputs in (("argmax", (rows,)), ("cross_entropy", (rows, np.array([0, 1, 2, 3], np.int32)))):
        got, want, _ = run("REDUCE", op, inputs, grid=(3, 2), shape=rows.shape)
        assert np.array_equal(got, want, equal_nan=True)
    got, want, _ = run(
        "REDUCE", "cross_entropy", (np.float32([[-0.0]]), np.array([0], np.int32)), grid=(2, 1), shape=(1, 1)
    )
    assert_same(got, want)


def test_whole_numbers_travel_whose_bits_are_no_number():
    values = np.array([*range(0x7F800001, 0x7F80000D), -1, -(2**31), 2**31 - 1, 0], dtype=np.int32)
    got, want, outcome = run("TRANSPOSE", "transpose", (values.reshape(4, 4),))
    assert_same(got, want)
    assert outcome.hops


def test_truth_values_travel():
    got, want, _ = run("TRANSPOSE", "transpose", (numbers("x", 9, 5) > 0,))
    assert_same(got, want)


def test_whole_numbers_beyond_32_bits_are_refused():
    with pytest.raises(RequestError) as caught:
        run("TRANSPOSE", "transpose", (np.array([[2**31]]),))
    assert "höchstens 32 Bit" in caught.value.message_de


@pytest.mark.parametrize(
    ("kernel", "op", "inputs"),
    [
        ("GATHER", "embedding", (numbers("x", 4, 3), np.array([4], np.int32))),
        ("GATHER", "scatter_add", (numbers("x", 4, 3), np.array([-1], np.int32), numbers("y", 1, 3))),
        ("REDUCE", "cross_entropy", (numbers("x", 1, 3), np.array([3], np.int32))),
        (
            "CACHE_APPEND",
            "cache_append",
            (numbers("x", 1, 4, 3), numbers("y", 1, 3), np.array([4], np.int32)),
        ),
    ],
)
def test_an_index_outside_is_refused(kernel, op, inputs):
    call = made(kernel, op, (1, 3), (2, 2), {})
    with pytest.raises(RequestError, match="is outside"):
        cycle.run_call(call, inputs, Setting(LAB, F32, calibrated()))


def test_tiles_that_do_not_cover_a_move_are_refused():
    call = made("MOVE", "reshape", (4, 4), (2, 2), {"shape": (16, 4)})
    with pytest.raises(ProgramError, match="TILES_COVER"):
        cycle.run_call(call, (numbers("x", 8, 8),), Setting(LAB, F32, calibrated()))


def test_numbers_that_keep_their_element_cross_no_link():
    _, _, outcome = run("MOVE", "slice", (numbers("x", 8, 8),), attrs={"axis": 1, "start": 0, "stop": 8})
    assert outcome.hops == 0


def line(length, words):
    """Every element of a line has `words` numbers for every other one."""
    number = 1 + np.arange(length * length * words).reshape(length, length, words)  # source, target
    places = number.reshape(-1) - 1
    first = np.zeros(1, dtype=np.int64)
    homes = Homes(
        np.concatenate([first, places // (length * words)]),
        np.concatenate([first, np.full(len(places), EVERY_ROW)]),
        np.concatenate([first, places % (length * words)]),
    )
    return number.transpose(1, 0, 2).reshape(1, length, -1), homes


@pytest.mark.parametrize("length", [2, 5, 8])
def test_an_exchange_loads_its_middle_link_as_the_lower_bound_says(length):
    stages = plan(*line(length, 3), 1)
    assert len(stages) == 1
    for stream in stages[0]:
        loads = [
            sum(wavelets for _, ways, wavelets in positions if set(ways) & set("EW"))
            for positions in stream.routes.values()
        ]
        assert max(loads) == 3 * (length // 2) * (length - length // 2)


def test_a_number_that_several_need_is_sent_once():
    need = np.ones((1, 6, 1), dtype=np.int64)
    zero = np.zeros(2, dtype=np.int64)
    forwards, backwards = plan(need, Homes(zero, zero, zero), 1)[0]
    assert [group.targets for groups in forwards.sent.values() for group in groups] == [(1, 2, 3, 4, 5)]
    assert not backwards.sent


def test_a_transpose_is_dealt_out_over_all_columns():
    size = 8
    number = 1 + np.arange(size * size * size).reshape(size, size, size)  # row, column, slot
    flat = np.arange(size**3)
    first = np.zeros(1, dtype=np.int64)
    parts = (flat // size % size, flat // size**2, flat % size)
    homes = Homes(*(np.concatenate([first, part]) for part in parts))
    stages = plan(number.swapaxes(0, 1), homes, 1)
    assert [stage[0].axis for stage in stages] == ["x", "y", "x"]


@pytest.mark.parametrize("case", MOVES, ids=lambda case: f"{case.op}-{case.shape}-{case.dtype}")
def test_cycles_agree_or_differ_for_a_declared_cause(case):
    row = check(case)
    assert row.same_bits
    assert row.agrees != bool(case.cause), row.ratio
    assert not case.cause or case.cause in MOVES_CAUSES_DE


@pytest.mark.parametrize("kernel", ["MOVE", "TRANSPOSE", "GATHER", "CACHE_APPEND", "OPTIMISER"])
def test_the_command_knows_a_usual_move(kernel, capsys):
    assert main(["cycle", "--kernel", kernel, "--grid", "4x4", "--machine", "lab-8x8"]) == 0
    assert "bitgleich" in capsys.readouterr().out


@pytest.mark.parametrize(("op", "kernel"), [(op, KERNEL_OF[op].value) for op in MOVES_REST])
def test_the_command_knows_the_operand_of_a_move(op, kernel, capsys):
    known = ["cycle", "--kernel", kernel, "--op", op, "--grid", "2x2", "--machine", "lab-8x8"]
    assert main(known) == 0
    assert "bitgleich" in capsys.readouterr().out
    assert main([*known, "--shape", "16x16x16x3"]) != 0
    assert "passt der Operand" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_compiled_graph_of_moves_runs(dtype):
    builder = GraphBuilder()
    x = builder.input("x", (12,), DType.INT32)
    value = builder.op("embedding", builder.constant("e", numbers("e", 20, 16), dtype), x)
    value = builder.op("transpose", value)
    value = builder.op("concat", value, builder.op("reshape", value, shape=(16, 12)), axis=1)
    value = builder.op(
        "slice", builder.op("pad", value, before=(0, 2), after=(1, 0)), axis=1, start=1, stop=22
    )
    graph, weights = builder.build(builder.op("argmax", value))
    machine = lab_mesh(8, 8)
    program = compile_graph(graph, machine, Request(rect=(4, 4)))
    done, want = (
        interpreter.run(program, weights, {"x": ids(20, 12)}, *more)
        for interpreter, more in ((cycle, (machine,)), (functional, ()))
    )
    assert done.outputs[program.outputs[0]].tobytes() == want.outputs.tobytes()
