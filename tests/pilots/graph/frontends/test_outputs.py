from __future__ import annotations

from types import SimpleNamespace

from pilots.graph.builder import GraphBuilder
from pilots.graph.frontends.outputs import named, path_label
from pilots.graph.ir import DType, model_digest
from pilots.graph.spec import verify


def graph_of(*picked):
    builder = GraphBuilder()
    x = builder.input("x", (2, 2), DType.FLOAT32)
    first = builder.op("relu", x)
    second = builder.op("add", first, first)
    graph, _ = builder.build(*({"x": x, "first": first, "second": second}[name] for name in picked))
    return graph


def test_outputs_get_the_names_of_the_framework_or_their_place():
    found = named(graph_of("first", "second"), ["kopf", ""])
    verify(found)
    assert found.outputs == ("kopf", "output_1")
    assert found.nodes[1].inputs == ("kopf", "kopf")
    assert model_digest(found) == model_digest(graph_of("first", "second"))
    assert named(graph_of("second"), []).outputs == ("output_0",)


def test_names_are_free_and_legal():
    assert named(graph_of("second"), ["x"]).outputs == ("x_1",)
    assert named(graph_of("first", "second"), ["a b", "a b"]).outputs == ("a_b", "a_b_1")


def test_input_that_is_an_output_and_a_value_given_twice_keep_one_name():
    assert named(graph_of("x", "first", "first"), ["a", "b", "c"]).outputs == ("x", "b", "b")


def test_label_of_a_path_needs_a_key():
    place, key = SimpleNamespace(idx=1), SimpleNamespace(key="kopf")
    assert path_label([key, place]) == "kopf.1"
    assert path_label([place]) == ""
    assert path_label([]) == ""
    assert path_label([SimpleNamespace(name="logits")]) == "logits"
