from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.ir import DType
from pilots.wafer import cycle, functional
from pilots.wafer.__main__ import main
from pilots.wafer.cli import validate
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.costs import collectives as formulas
from pilots.wafer.costs.constants import calibrated
from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle import lines
from pilots.wafer.cycle.agreement import CASES, CAUSES_DE, Case, check, text_de
from pilots.wafer.cycle.kernels.collectives import LINES, allreduce, broadcast_2d
from pilots.wafer.cycle.kernels.grids import ring_places
from pilots.wafer.cycle.simulate import simulate
from pilots.wafer.errors import ProgramError, RequestError, UnsupportedOps
from pilots.wafer.machine import lab_mesh
from pilots.wafer.program import Kernel
from pilots.wafer.validation.counted import FILE, Counted, name_of
from tests.pilots.wafer.hand_built import call, numbers, perceptron, program

ROOT = Path(validate.__file__).parents[3]
LAB = lab_mesh(16, 16)
FLOATS = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)
PRODUCT_KERNELS = ("STATIONARY", "GEMV", "SUMMA", "CANNON", "MESH_GEMM")
STAR = " ".join(["0.5", *(f"0.{index}" for index in range(1, 7))])
WIDE_STAR = " ".join(["-5", *(f"{index}.25" for index in range(24))])
ROW_OPS = (
    ("REDUCE", "reduce_sum", ()),
    ("REDUCE", "reduce_mean", ()),
    ("REDUCE", "reduce_max", ()),
    ("REDUCE", "reduce_min", ()),
    ("SOFTMAX", "softmax", ()),
    ("SOFTMAX", "log_softmax", ()),
    ("NORM", "layer_norm", (("epsilon", "1e-5"),)),
    ("NORM", "rms_norm", (("epsilon", "1e-5"),)),
    ("ELEMENTWISE", "silu", ()),
    ("ELEMENTWISE", "add", ()),
    ("ELEMENTWISE", "scale", (("factor", "0.3"),)),
)


@pytest.fixture(scope="module")
def kept():
    """The counts beside the validation report; `python -m pilots.wafer validate --write` counts anew."""
    return json.loads((ROOT / validate.FOLDER / FILE).read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_interpreters_agree(case, kept):
    row = check(case)
    assert row.same_bits
    assert row.agrees or case.cause, row.ratio
    assert Counted((row,), {}).to_json()["agreement"][name_of(case)] == kept["agreement"][name_of(case)]


def test_a_cause_is_declared_only_where_it_is_needed(kept):
    cases = Counted.from_json(kept).agreement
    assert [name_of(row.case) for row in cases if row.case.cause and row.agrees] == []
    assert {row.case.cause for row in cases} - {""} == set(CAUSES_DE)


def test_the_table_names_every_cause():
    rows = tuple(check(case) for case in CASES[:3])
    shown = text_de(rows)
    assert shown.count("bitgleich") == 3
    assert all(sentence in shown for sentence in CAUSES_DE.values())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kernel", PRODUCT_KERNELS)
@pytest.mark.parametrize(
    ("shape", "side"),
    [((1, 1, 1), 1), ((1, 2, 3), 2), ((3, 17, 13), 3), ((5, 7, 11), 5), ((32, 40, 24), 8), ((2, 3, 2), 6)],
)
def test_products_equal_functional_bit_for_bit(kernel, shape, side, dtype):
    assert check(Case(kernel, "matmul", shape, (side, side), dtype, LAB)).same_bits


@pytest.mark.parametrize("kernel", ["STATIONARY", "GEMV"])
@pytest.mark.parametrize("grid", [(1, 7), (7, 1), (4, 9)])
def test_products_on_grids_that_are_no_squares(kernel, grid):
    assert check(Case(kernel, "matmul", (2, 29, 31), grid, machine=LAB)).same_bits


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("row", ROW_OPS, ids=lambda row: row[1])
@pytest.mark.parametrize(("shape", "grid"), [((1, 1), (1, 1)), ((5, 37), (8, 8)), ((40, 33), (7, 3))])
def test_rows_equal_functional_bit_for_bit(row, shape, grid, dtype):
    kernel, op, attrs = row
    assert check(Case(kernel, op, shape, grid, dtype, LAB, attrs)).same_bits


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("points", "factors"), [(7, STAR), (25, WIDE_STAR)])
@pytest.mark.parametrize("size", [(1, 1, 1), (2, 3, 5), (9, 6, 19), (1, 8, 40)])
def test_stencils_equal_functional_bit_for_bit(points, factors, size, dtype):
    attrs = (("coefficients", factors), ("points", points))
    assert check(Case("STENCIL", "stencil", (*size, points), (9, 8), dtype, LAB, attrs)).same_bits


def test_odd_numbers_travel_unchanged():
    values = np.float32([[np.inf, -np.inf, 1e-45, -0.0, 65504.0, np.nan, 3.0, -1e38]])
    setting = Setting(LAB, DType.FLOAT32, calibrated())
    for op, kernel, cut in (("softmax", Kernel.SOFTMAX, (1, 3)), ("reduce_max", Kernel.REDUCE, (1, 2))):
        made = call(kernel, op, tile=cut, shape=values.shape)
        got, _ = cycle.run_call(made, (values,), setting)
        assert np.isnan(got).all()


@pytest.mark.parametrize(
    ("name", "length"),
    [(name, length) for name in LINES for length in (1, 2, 3, 5, 8, 13) if (name, length) != ("star", 1)],
)
def test_collectives_of_any_length(name, length):
    assert check(Case(name, "", (7,), (length, 1), machine=LAB)).same_bits


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 5), (5, 1), (2, 2), (9, 7), (16, 16)])
def test_allreduce_over_a_rectangle_reaches_every_element(width, height):
    made = allreduce(LAB, width, height, 3)
    made.load(np.ones((height, width, 3), dtype=np.float32))
    assert (simulate(made.image).memory[..., made.address : made.address + 3] == width * height).all()


@pytest.mark.parametrize(("width", "height", "words"), [(2, 2, 1), (8, 8, 4), (16, 3, 30)])
def test_broadcast_over_a_rectangle_takes_what_its_formula_says(width, height, words):
    made = broadcast_2d(LAB, width, height, words)
    values = numbers("x", height, width, words)
    made.load(values)
    outcome = simulate(made.image)
    assert outcome.cycles == formulas.broadcast_2d(words, width, height, LAB)
    assert (outcome.memory[..., made.address : made.address + words] == values[0, 0]).all()


@pytest.mark.parametrize("length", range(1, 30))
def test_every_element_is_summed_once(length):
    shapes = [lines.chain(length), lines.tree(length), lines.two_sided(length), lines.two_level(length, 4)]
    for messages in shapes:
        assert len({source for source, _ in messages}) == length - 1 == len(messages)
        assert lines.root_of(messages) not in {source for source, _ in messages}


@pytest.mark.parametrize("side", range(2, 20))
def test_a_folded_ring_has_no_step_longer_than_two(side):
    places = ring_places(Kernel.MESH_GEMM, side)
    assert sorted(places) == list(range(side))
    assert max(abs(places[index] - places[index - 1]) for index in range(side)) <= 2


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_perceptron_runs_call_by_call(dtype):
    made, weights = perceptron(7, 11, 5, 9, 6, dtype=dtype)
    flat = [
        replace(item, tile=item.tile[:2]) if item.kernel is Kernel.ELEMENTWISE else item
        for item in made.calls
    ]
    made = replace(made, calls=tuple(flat))
    inputs = numbers("x", 4, 7)
    done = cycle.run(made, weights, {"x": inputs}, LAB)
    want = functional.run(made, weights, {"x": inputs})
    assert done.outputs[made.outputs[0]].tobytes() == want.outputs.tobytes()
    assert done.cycles == sum(item.counted for item in done.calls)
    assert len(done.calls) == len(made.calls)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_compiled_block_without_attention_runs(dtype):
    builder = GraphBuilder()
    x = builder.input("x", (12, 32), dtype)
    value = builder.op("rms_norm", x, builder.constant("g", numbers("g", 32), dtype), epsilon="0.00001")
    value = builder.op("matmul", value, builder.constant("u", numbers("u", 32, 48, scale=0.2), dtype))
    value = builder.op("gelu", value)
    value = builder.op("matmul", value, builder.constant("d", numbers("d", 48, 32, scale=0.2), dtype))
    value = builder.op("softmax", builder.op("add", value, x))
    graph, weights = builder.build(value)
    machine = lab_mesh(8, 8)
    made = compile_graph(graph, machine, Request(rect=(4, 4)))
    inputs = {"x": numbers("x", 12, 32)}
    done, want = cycle.run(made, weights, inputs, machine), functional.run(made, weights, inputs)
    assert done.outputs[made.outputs[0]].tobytes() == want.outputs.tobytes()


def test_a_call_without_a_wavelet_program_is_named():
    made = program(call(Kernel.GATHER, "lookup"), call(Kernel.SUMMA, "outer", ("y",), "z"))
    with pytest.raises(UnsupportedOps) as caught:
        cycle.run(made, {}, {"x": numbers("x", 2, 2)}, LAB)
    assert caught.value.ops == (("lookup (GATHER)", "call 0"), ("outer (SUMMA)", "call 1"))


def test_a_missing_input_is_named():
    made, weights = perceptron(4, 4)
    with pytest.raises(RequestError) as caught:
        cycle.run(made, weights, {}, LAB)
    assert "Es fehlen Eingaben für das Programm: x" in caught.value.message_de


@pytest.mark.parametrize(
    ("kernel", "shape", "tile"),
    [
        (Kernel.STATIONARY, (4, 13, 20), (4, 3, 5)),
        (Kernel.GEMV, (4, 12, 21), (4, 3, 5)),
        (Kernel.STATIONARY, (5, 12, 20), (4, 3, 5)),
    ],
)
def test_tiles_that_do_not_cover_are_refused(kernel, shape, tile):
    made = call(kernel, "matmul", ("x", "w"), tile=tile, shape=shape)
    inputs = (numbers("x", *shape[:2]), numbers("w", *shape[1:]))
    with pytest.raises(ProgramError, match="TILES_COVER"):
        cycle.run_call(made, inputs, Setting(LAB, DType.FLOAT32, calibrated()))


def test_shapes_that_do_not_fit_are_refused():
    made = call(Kernel.SUMMA, "matmul", ("x", "w"), shape=(2, 3, 4))
    with pytest.raises(RequestError, match="no product"):
        cycle.run_call(
            made, (numbers("x", 2, 3), numbers("w", 4, 4)), Setting(LAB, DType.FLOAT32, calibrated())
        )


@pytest.mark.parametrize("size", [(17, 4), (4, 17)])
def test_a_stencil_with_several_columns_per_element_is_refused(size):
    case = Case("STENCIL", "stencil", (*size, 2, 7), (16, 16), machine=LAB)
    with pytest.raises(ProgramError, match="one column per element"):
        check(
            Case(
                case.kernel,
                case.op,
                case.shape,
                case.grid,
                machine=LAB,
                attrs=(("coefficients", STAR), ("points", 7)),
            )
        )


def test_the_command_prints_both_counts_and_writes_frames(tmp_path, capsys):
    target = tmp_path / "frames.json"
    assert main(["cycle", "--kernel", "chain", "--grid", "8x1", "--shape", "4", "--trace", str(target)]) == 0
    assert "gezählt      46 Takte" in capsys.readouterr().out
    frames = json.loads(target.read_text())
    assert frames[0] == {"cycle": 0, "doing": "swwwwwww", "moves": []}
    assert sum(move[2] == "E" for frame in frames for move in frame["moves"]) == 7 * 4


@pytest.mark.parametrize("kernel", ["SUMMA", "GEMV", "NORM", "STENCIL", "ELEMENTWISE"])
def test_the_command_knows_a_usual_task(kernel, capsys):
    assert main(["cycle", "--kernel", kernel, "--grid", "4x4", "--machine", "lab-8x8"]) == 0
    assert "bitgleich" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--grid", "0x1"], "Das Gitter braucht"),
        (["--grid", "4"], "Das Gitter braucht"),
        (["--grid", "9x8", "--machine", "lab-8x8"], "passt nicht"),
        (["--shape", "4x4"], "Die Form braucht"),
        (["--shape", "4x4x999999999"], "Die Form braucht"),
        (["--op", "conv2d"], "es gibt: matmul"),
        (["--kernel", "chain", "--grid", "4x2"], "auf einer Zeile"),
    ],
)
def test_the_command_refuses_in_one_sentence(options, sentence, capsys):
    assert main(["cycle", "--kernel", "SUMMA", *options]) == 2
    assert sentence in capsys.readouterr().err
