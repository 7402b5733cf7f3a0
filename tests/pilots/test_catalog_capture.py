"""What the server reads of a capture that shall be a workload's model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pilots.catalog.capture import porting_of, read_model_file
from pilots.graph.builder import GraphBuilder
from pilots.graph.capture import Captured, Lineage, to_bytes
from pilots.graph.ir import DType, Graph, model_digest
from pilots.graph.trail import Origin, Trail
from qms.core import canonical
from qms.core.errors import CriterionNotMet
from tests.pilots.graph.captures import LINEAGE, evaluated_example, perceptron, uniform

NAME = "modell.wgraph"


def refused(data: bytes, name: str = NAME) -> str:
    with pytest.raises(CriterionNotMet) as caught:
        read_model_file(data, name)
    assert caught.value.id == "G0-5"
    return caught.value.message


def test_facts_name_framework_values_digests_and_lineage():
    found = read_model_file(to_bytes(perceptron()), NAME)
    graph = perceptron().graph
    assert found.digest == found.facts["model_digest"] == model_digest(graph)
    assert found.facts["kind"] == "capture"
    assert (found.facts["framework"], found.facts["version"]) == ("pytorch", "2.13.0")
    assert found.facts["inputs"] == [{"name": "x", "shape": [None, 8], "dtype": "float32"}]
    assert [row["shape"] for row in found.facts["outputs"]] == [[None, 4]]
    assert (found.facts["params"], found.facts["weight_bytes"]) == (212, 848)
    assert found.facts["dtype"] == "float32"
    assert found.facts["ops"] == {"add": 2, "matmul": 2, "relu": 1}
    assert found.facts["example"]["batch"] == 4
    assert found.facts["lineage"] == LINEAGE.to_json()
    assert found.facts["open_links"] == []
    canonical.dumps(found.facts)


def test_links_that_were_not_given_are_named():
    bare = replace(perceptron(), lineage=Lineage(commit="0123abc"))
    found = read_model_file(to_bytes(bare), NAME)
    assert found.facts["open_links"] == ["data_sha256", "seed", "registry", "environment"]


def test_report_leads_from_the_framework_to_the_kernel():
    report = read_model_file(to_bytes(perceptron()), NAME).report
    assert report == porting_of(to_bytes(perceptron())).to_json()
    rows = {row["op"]: row for row in report["operations"]}
    assert rows["aten.relu"]["became"] == ["relu"]
    assert rows["aten.relu"]["kernels"]
    assert rows["aten.matmul"]["count"] == 2
    assert (report["total_ops"], report["unsupported_ops"]) == (5, 0)


def test_report_keeps_the_reason_of_an_operation_without_a_counterpart():
    odd = Trail("pytorch", "2.13.0", (Origin("mine.fft", "model.py:9", (), "gibt es nicht", custom=True),))
    report = porting_of(to_bytes(replace(perceptron(), trail=odd)))
    assert [(row.op, row.custom) for row in report.unsupported] == [("mine.fft", True)]


def test_partitioning_is_judged_where_the_memory_of_a_system_is_known():
    data = to_bytes(perceptron())
    assert porting_of(data).partitioning_required is None
    assert porting_of(data, capacity_bytes=848).partitioning_required is False
    assert porting_of(data, capacity_bytes=847).partitioning_required is True


@pytest.mark.parametrize("cut", [0, 7, 47, 100, -1])
def test_truncated_file_is_refused(cut: int):
    assert refused(to_bytes(perceptron())[:cut]).endswith(".")


def test_file_of_another_kind_is_refused():
    assert "keine Aufzeichnung" in refused(b"\x89PNG\r\n" + b"\x00" * 100)


def test_onnx_file_is_sent_to_the_command():
    sentence = refused(b"\x08\x07\x12\x04onnx", "Modell.ONNX")
    assert "python -m pilots.graph capture" in sentence
    assert read_model_file(to_bytes(perceptron()), "umbenannt.onnx").digest


def test_capture_without_example_is_sent_back():
    sentence = refused(to_bytes(replace(perceptron(), example=None)))
    assert "keine Beispieleingaben" in sentence
    assert "python -m pilots.graph capture" in sentence


def test_capture_of_shapes_alone_is_sent_back():
    builder = GraphBuilder()
    x = builder.input("x", (None, 3), DType.FLOAT32)
    weight = builder.shape_only("w", (3, 2), DType.FLOAT32)
    graph, _weights = builder.build(builder.op("matmul", x, weight))
    assert "nur die Form der Gewichte" in refused(to_bytes(Captured(graph, {})))


def test_only_the_first_inputs_are_listed():
    builder = GraphBuilder()
    names = [builder.input(f"x{index}", (2, 2), DType.FLOAT32) for index in range(25)]
    value = builder.op("concat", *names, axis=1)
    graph, weights = builder.build(value)
    given = {name: uniform(1, name, (2, 2)) for name in names}
    data = to_bytes(Captured(graph, weights, Trail("onnx"), evaluated_example(graph, weights, given)))
    facts = read_model_file(data, NAME).facts
    assert len(facts["inputs"]) == 20
    assert facts["example"]["batch"] is None
    assert isinstance(graph, Graph)
