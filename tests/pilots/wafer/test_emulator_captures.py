"""Captures on their example inputs: named outputs of every type, what the figures count, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.capture import Captured, CaptureError, Example
from pilots.graph.fingerprint import batch_of
from pilots.graph.ir import DType
from pilots.graph.trail import Trail
from pilots.wafer import emulator, limits, lowering
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.equivalence import compare_outputs
from pilots.wafer.errors import DoesNotFit, RequestError
from pilots.wafer.facts import ev06, ev16, reference_of
from pilots.wafer.machine import WSE_2, lab_mesh
from pilots.wafer.memory import region_bytes
from pilots.wafer.program import Kernel
from qms.core import canonical
from tests.pilots.graph import captures
from tests.pilots.wafer import captured_graphs

EVERY = captures.CAPTURES | captured_graphs.CAPTURES
POLICY = {"fp32_rtol": 1e-5, "bit16_rtol": 1e-2, "bit16_cosine_min": 0.999}
SHA = "ab" * 32


def run(found: Captured, machine: Any = WSE_2, **more: Any) -> emulator.EmulationResult:
    assert found.example is not None
    return emulator.run_example(
        found.graph, found.weights, found.example, file_sha256=SHA, machine=machine, **more
    )


@pytest.mark.parametrize("machine", [WSE_2, lab_mesh(32, 32)], ids=lambda item: item.id)
@pytest.mark.parametrize("name", EVERY)
def test_every_output_is_that_of_the_example(name: str, machine: Any) -> None:
    found = EVERY[name]()
    assert found.example is not None
    result = run(found, machine)
    assert list(result.outputs) == list(dict.fromkeys(found.graph.outputs))
    for key, expected in found.example.outputs.items():
        assert (result.outputs[key].shape, result.outputs[key].dtype) == (expected.shape, expected.dtype)
    rows = compare_outputs(found.graph, result.outputs, found.example.outputs, **POLICY)
    assert [row.name for row in rows if not row.within] == []
    assert result.validity == "GUELTIG"


def test_types_of_outputs_decide_what_is_equal() -> None:
    found = captured_graphs.every_type()
    assert found.example is not None
    expected = dict(found.example.outputs)
    rows = compare_outputs(found.graph, expected, expected, **POLICY)
    assert [(row.dtype, row.rtol) for row in rows] == [
        ("float32", 1e-5),
        ("int32", 0.0),
        ("bool", 0.0),
        ("int32", 0.0),
    ]
    for name, row in zip(found.graph.outputs[1:], rows[1:], strict=True):
        changed = expected[name].copy()
        changed.flat[0] = not changed.flat[0] if changed.dtype == bool else changed.flat[0] + 1
        verdicts = compare_outputs(found.graph, expected | {name: changed}, expected, **POLICY)
        assert [item.name for item in verdicts if not item.within] == [row.name]


def test_bfloat16_is_held_as_float32_and_judged_as_16_bit() -> None:
    found = captured_graphs.two_precisions()
    assert found.example is not None
    result = run(found)
    rows = compare_outputs(found.graph, result.outputs, found.example.outputs, **POLICY)
    assert [(row.dtype, row.rtol) for row in rows] == [("bfloat16", 1e-2), ("float32", 1e-5)]
    half, whole = (found.example.outputs[name] for name in found.graph.outputs)
    turned = {found.graph.outputs[0]: np.ascontiguousarray(half[:, ::-1]), found.graph.outputs[1]: whole}
    loose = POLICY | {"bit16_rtol": 2.0}
    (first, second) = compare_outputs(found.graph, turned, found.example.outputs, **loose)
    assert (first.within, second.within) == (False, True)  # the direction is wrong


def test_a_value_of_another_precision_keeps_it() -> None:
    found = captured_graphs.two_precisions()
    result = run(found)
    program = result.program
    assert program.dtype is DType.BFLOAT16
    assert {name for name, dtype in program.types if dtype is DType.FLOAT32} == {
        node.output for node in found.graph.nodes if node.tensor.dtype is DType.FLOAT32
    }
    shares = result.outputs[found.graph.outputs[1]]
    assert np.abs(shares.sum(axis=1) - 1).max() < 1e-6  # bfloat16 would be off by 1e-3
    assert "types" in program.to_json()
    assert "types" not in run(captures.perceptron()).program.to_json()


def test_samples_are_counted_where_the_batch_is_open() -> None:
    opened, fixed = captured_graphs.every_type(), captures.pictures()
    assert opened.example is not None
    assert fixed.example is not None
    assert batch_of(opened.graph, opened.example.inputs) == 3
    assert batch_of(fixed.graph, fixed.example.inputs) == 1
    assert run(opened).manifest["inputs"]["batch"] == 3
    assert run(fixed).prediction.passes == 1


def test_bytes_between_host_and_wafer_are_those_of_all_inputs_and_outputs() -> None:
    prediction = run(captured_graphs.every_type()).prediction
    inputs, outputs = 3 * 6 * (4 + 1 + 4), 3 * (4 * 4 + 4 + 4 + 6 * 4)
    assert prediction.off_wafer_bytes == inputs + outputs


def test_parameters_and_moments_of_a_training_step_take_sram() -> None:
    result = run(captured_graphs.training_step())
    assert {item.name for item in result.program.residents} >= {"w", "m", "v"}
    on = GraphBuilder()
    w, gradient = on.input("w", (4096, 4096), DType.FLOAT32), on.input("g", (4096, 4096), DType.FLOAT32)
    graph, weights = on.build(on.op("sgd_update", w, gradient, rate="0.1"))
    zeros = np.zeros((4096, 4096), np.float32)
    example = Example({"w": zeros, "g": zeros}, {graph.outputs[0]: zeros})
    with pytest.raises(DoesNotFit):
        emulator.run_example(graph, weights, example, file_sha256=SHA, machine=lab_mesh(8, 8))


def test_the_manifest_names_file_inputs_and_every_output() -> None:
    found = captured_graphs.every_type()
    assert found.example is not None
    manifest = run(found).manifest
    assert canonical.loads(canonical.dumps(manifest)) == manifest
    assert manifest["format"] == "wafer-manifest-3"
    assert manifest["model"] == {"kind": "capture", "file_sha256": SHA}
    assert manifest["inputs"] == {"kind": "example", "batch": 3, "sha256": found.example.inputs_sha256}
    rows = manifest["result"]["outputs"]
    assert [(row["name"], row["dtype"], row["shape"]) for row in rows] == [
        (name, dtype, shape)
        for name, dtype, shape in zip(
            found.graph.outputs,
            ("float32", "int32", "bool", "int32"),
            ([3, 4], [3, 1], [3, 4], [3, 6]),
            strict=True,
        )
    ]
    other = replace(
        found.example, inputs=found.example.inputs | {"ids": found.example.inputs["ids"] + np.int32(1)}
    )
    changed = run(replace(found, example=other)).manifest
    assert changed["result_digest"] != manifest["result_digest"]
    assert changed["program_digest"] == manifest["program_digest"]


def test_the_outputs_of_the_example_do_not_change_what_is_computed() -> None:
    found = captures.perceptron()
    assert found.example is not None
    zeros = {name: np.zeros_like(array) for name, array in found.example.outputs.items()}
    assert run(replace(found, example=replace(found.example, outputs=zeros))).manifest == run(found).manifest


def test_progress_and_cancel_come_with_every_call() -> None:
    found = captures.decoder()
    seen: list[tuple[int, int]] = []
    run(found, on_progress=lambda *pair: seen.append(pair))
    calls = len(found.graph.nodes)
    assert seen == [(done, calls) for done in range(1, calls + 1)]

    class Stopped(Exception):
        pass

    asked: list[int] = []

    def stop() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise Stopped

    seen.clear()
    with pytest.raises(Stopped):
        run(found, on_progress=lambda *pair: seen.append(pair), check_cancelled=stop)
    assert len(seen) == 2


def test_an_example_that_does_not_belong_to_the_graph_is_refused() -> None:
    found = captures.perceptron()
    assert found.example is not None
    for inputs in ({}, {"x": np.zeros((4, 7), np.float32)}, {"x": np.zeros((4, 8), np.int32)}):
        with pytest.raises(CaptureError):
            run(replace(found, example=replace(found.example, inputs=inputs)))


def test_the_kernels_may_be_limited() -> None:
    result = run(captures.decoder(), lab_mesh(32, 32), kernels=(Kernel.SUMMA,))
    assert result.manifest["kernels"] == ["SUMMA"]
    with pytest.raises(RequestError):
        run(captures.decoder(), kernels=())


def test_not_finite_samples_count_once_whichever_output_they_are_in() -> None:
    on = GraphBuilder()
    x = on.input("x", (None, 2), DType.FLOAT32)
    graph, weights = on.build(on.op("log", x), on.op("reciprocal", x))
    x_values = np.array([[1, 1], [-1, 1], [0, 0], [2, 3]], np.float32)
    outputs = {name: np.ones((4, 2), np.float32) for name in graph.outputs}
    found = Captured(graph, weights, Trail(), Example({"x": x_values}, outputs))
    (rate,) = (item for item in run(found).metrics if item.key == "error_rate")
    assert float(rate.value) == 0.5


def test_what_would_take_hours_or_all_memory_is_refused_before_it_starts() -> None:
    on = GraphBuilder()
    x = on.input("x", (1, 1), DType.FLOAT32)
    graph, weights = on.build(on.op("reduce_sum", on.op("broadcast_to", x, shape=(2**15, 2**14))))
    one = np.ones((1, 1), np.float32)
    example = Example({"x": one}, {graph.outputs[0]: np.ones((2**15, 1), np.float32)})
    with pytest.raises(RequestError, match="values"):
        emulator.run_example(graph, weights, example, file_sha256=SHA, machine=WSE_2)


def test_living_values_end_with_their_last_use() -> None:
    on = GraphBuilder()
    x = on.input("x", (None, 10), DType.FLOAT32)
    a = on.op("neg", x)
    b = on.op("neg", a)
    graph, _ = on.build(on.op("reduce_sum", b))
    assert limits.living_values(graph, 3) == 60  # two of the wide values at a time
    kept, _ = on.build(on.op("neg", b), a)
    assert limits.living_values(kept, 3) == 90  # an output stays


def test_facts_say_who_computed_the_other_side_and_which_links_are_missing() -> None:
    found = captures.decoder()
    assert found.example is not None
    result = run(found)
    rows = compare_outputs(found.graph, result.outputs, found.example.outputs, **POLICY)
    proof = ev06(rows, run_id="r", reference=reference_of(found.trail))
    assert proof["reference"] == "PyTorch 2.13.0 (laut Aufzeichnung des Einreichers)"
    assert [row["name"] for row in proof["outputs"]] == list(found.graph.outputs)
    assert reference_of(Trail()) == "das Framework (laut Aufzeichnung des Einreichers)"
    given = {"run_id": "r", "fingerprint": "f", "criteria_sha256": "c"}
    facts = ev16(result, **given, lineage=found.lineage, artefact=SHA)
    assert canonical.loads(canonical.dumps(facts)) == facts
    assert facts["open_links"] == []
    assert facts["lineage"]["artefact"] == SHA
    assert facts["lineage"]["inputs_sha256"] == found.example.inputs_sha256
    bare = ev16(result, **given)
    assert bare["open_links"] == ["artefact", "commit", "data_sha256", "environment", "registry", "seed"]
    assert set(bare["lineage"]) == set(facts["lineage"])


def test_the_type_of_a_program_is_that_of_most_of_its_numbers() -> None:
    on = GraphBuilder()
    x = on.input("x", (None, 4), DType.FLOAT32)  # 4 numbers
    table = on.constant("table", np.zeros((4, 2), np.float32), DType.BFLOAT16)  # 8 numbers
    graph, _ = on.build(on.op("matmul", on.op("cast", x, dtype="bfloat16"), table))
    assert lowering.element_type(graph) is DType.BFLOAT16
    assert lowering.other_types(graph, DType.BFLOAT16) == (("x", DType.FLOAT32),)
    even = GraphBuilder()
    scale = even.constant("scale", np.ones(2, np.float32), DType.FLOAT16)
    even.input("x", (None, 2), DType.FLOAT32)
    graph, _ = even.build(even.op("cast", scale, dtype="float32"))
    assert lowering.element_type(graph) is DType.FLOAT16  # of equally many, the first constant


def test_wider_numbers_take_more_sram_than_those_of_the_program() -> None:
    def used(dtype: DType) -> tuple[int, int]:
        on = GraphBuilder()
        x = on.input("x", (16, 64), DType.BFLOAT16)
        value = on.op("matmul", x, on.constant("w", np.zeros((64, 64), np.float32), DType.BFLOAT16))
        shift = on.constant("shift", np.zeros(64, np.float32), dtype)
        graph, _ = on.build(on.op("add", on.op("cast", value, dtype=dtype.value), shift))
        program = compile_graph(graph, lab_mesh(8, 8), Request(batch=1, grid=4))
        (kept,) = {item.bytes_per_pe for item in program.residents if item.name == "shift"}
        return kept, max(region_bytes(program, lab_mesh(8, 8)))

    (narrow, low), (wide, high) = used(DType.BFLOAT16), used(DType.FLOAT32)
    assert wide == 2 * narrow
    assert high > low
