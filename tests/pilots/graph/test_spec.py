from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.errors import GraphError
from pilots.graph.ir import DType, Graph, Node, Tensor, Weights, graph_signature, model_digest
from pilots.graph.spec import OPS, flops_per_sample, verify

F32 = DType.FLOAT32


def small() -> tuple[Graph, Weights]:
    builder = GraphBuilder()
    x = builder.input("x", (None, 3), F32)
    w = builder.constant("w", np.ones((3, 2), dtype=np.float32))
    return builder.build(builder.op("relu", builder.op("matmul", x, w)))


def refused(graph: Graph, weights: Weights | None = None) -> GraphError:
    with pytest.raises(GraphError) as caught:
        verify(graph, weights)
    return caught.value


def test_verify_accepts_a_built_graph() -> None:
    verify(*small())


def test_verify_names_op_position_dtype_and_rule_when_shapes_differ() -> None:
    graph, _ = small()
    bad = replace(graph, constants=(replace(graph.constants[0], tensor=Tensor((4, 2), F32)),))
    error = refused(bad)
    assert error.code == "SHAPE"
    assert error.position == "node 0 (matmul)"
    assert "equal k" in error.expected
    assert "float32" in error.got


def test_verify_refuses_mixed_dtypes() -> None:
    graph, _ = small()
    tensor = Tensor((3, 2), DType.FLOAT16)
    assert refused(replace(graph, constants=(replace(graph.constants[0], tensor=tensor),))).code == "DTYPE"


def test_verify_refuses_unknown_op_wrong_arity_and_wrong_type() -> None:
    graph, _ = small()
    first, second = graph.nodes
    assert refused(replace(graph, nodes=(first, replace(second, op="warp")))).code == "UNKNOWN_OP"
    assert refused(replace(graph, nodes=(first, replace(second, inputs=("v0", "v0"))))).code == "ARITY"
    assert (
        refused(replace(graph, nodes=(first, replace(second, tensor=Tensor((None, 9), F32))))).code == "TYPE"
    )


def test_verify_refuses_use_before_definition_and_double_assignment() -> None:
    graph, _ = small()
    assert refused(replace(graph, nodes=graph.nodes[::-1])).code == "UNDEFINED"
    assert refused(replace(graph, nodes=(*graph.nodes, graph.nodes[0]))).code == "REASSIGNED"
    assert refused(replace(graph, outputs=("nowhere",))).code == "UNDEFINED"
    assert refused(replace(graph, outputs=())).code == "EMPTY"


def test_verify_refuses_weights_that_are_missing_changed_or_misshapen() -> None:
    graph, weights = small()
    assert refused(graph, {}).code == "WEIGHTS"
    assert refused(graph, {"w": weights["w"] + 1}).code == "WEIGHTS"
    assert refused(graph, {"w": weights["w"].T.copy()}).code == "WEIGHTS"


def test_constant_refuses_nan_and_double_precision() -> None:
    for array in (np.array([np.nan], dtype=np.float32), np.ones(1)):
        with pytest.raises(GraphError):
            GraphBuilder().constant("c", array)


def test_digest_ignores_names_and_dead_nodes() -> None:
    graph, _ = small()
    renamed = replace(
        graph,
        inputs=(("input", graph.inputs[0][1]),),
        nodes=(
            replace(graph.nodes[0], inputs=("input", "w"), output="a"),
            Node("tanh", ("a",), "dead", graph.nodes[1].tensor),
            replace(graph.nodes[1], inputs=("a",), output="b"),
        ),
        outputs=("b",),
    )
    assert model_digest(renamed) == model_digest(graph)
    assert graph_signature(renamed) == graph_signature(graph)


def test_digest_depends_on_weights_and_signature_does_not() -> None:
    graph, _ = small()
    other = replace(graph, constants=(replace(graph.constants[0], sha256="0" * 64),))
    assert model_digest(other) != model_digest(graph)
    assert graph_signature(other) == graph_signature(graph)


def test_flops_count_products_twice_and_elements_once() -> None:
    assert flops_per_sample(small()[0]) == 2 * 3 * 2 + 2


@pytest.mark.parametrize("op", sorted(OPS))
def test_every_op_refuses_another_number_of_inputs(op: str) -> None:
    builder = GraphBuilder()
    x = builder.input("x", (None, 3), F32)
    with pytest.raises(GraphError) as caught:
        builder.op(op, *[x] * (OPS[op].arity + 1))
    assert caught.value.code == "ARITY"
