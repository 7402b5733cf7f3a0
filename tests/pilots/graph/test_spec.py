from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.errors import GraphError
from pilots.graph.ir import (
    SHAPE_ONLY,
    DType,
    Graph,
    Node,
    Shape,
    Tensor,
    Weights,
    array_sha256,
    canonical_form,
    graph_signature,
    model_digest,
    rounded,
)
from pilots.graph.spec import MAX_ELEMENTS, OPS, flops_per_sample, verify

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
        builder.op(op, *[x] * (OPS[op].arity[1] + 1))
    assert caught.value.code == "ARITY"


@pytest.mark.parametrize(
    "shape", [(), (0,), (3, 0), (-1, 3), (3, None), (True, 3), (2.0, 3), ("3",), (1,) * 9]
)
def test_verify_refuses_illegal_shapes(shape: tuple[object, ...]) -> None:
    graph, _ = small()
    error = refused(replace(graph, inputs=(("x", Tensor(shape, F32)),)))  # type: ignore[arg-type]
    assert (error.code, error.position) == ("SHAPE", "input x")


@pytest.mark.parametrize(
    ("shape", "legal"),
    [((MAX_ELEMENTS,), True), ((None, MAX_ELEMENTS), True), ((MAX_ELEMENTS, 2), False), ((2**4000,), False)],
)
def test_verify_refuses_tensors_no_machine_can_hold(shape: Shape, *, legal: bool) -> None:
    graph = Graph((("x", Tensor(shape, F32)),), (), (), ("x",))
    if legal:
        verify(graph)
    else:
        assert refused(graph).code == "SIZE"


def test_verify_refuses_a_type_that_is_none() -> None:
    assert refused(Graph((("x", Tensor((1,), "int64")),), (), (), ("x",))).code == "DTYPE"  # type: ignore[arg-type]


def test_verify_refuses_constants_with_a_batch() -> None:
    graph, _ = small()
    constant = replace(graph.constants[0], tensor=Tensor((None, 2), F32))
    assert refused(replace(graph, constants=(constant,))).position == "constant w"


@pytest.mark.parametrize("attrs", [(("b", 1), ("a", 1)), (("axis", 1), ("axis", 1))])
def test_verify_refuses_attributes_out_of_order_or_twice(attrs: tuple[tuple[str, int], ...]) -> None:
    node = Node("slice", ("x",), "y", Tensor((1,), F32), attrs)
    assert refused(Graph((("x", Tensor((1,), F32)),), (), (node,), ("y",))).code == "ATTRIBUTE_ORDER"


def test_verify_takes_constants_by_shape_alone_unless_weights_are_given() -> None:
    graph, weights = small()
    shapes = replace(graph, constants=(replace(graph.constants[0], sha256=SHAPE_ONLY),))
    verify(shapes)
    assert refused(shapes, weights).code == "WEIGHTS"


def test_concat_takes_many_inputs_but_not_one() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (2, 1), F32)
    assert builder.build(builder.op("concat", *[x] * 1024, axis=1))[0].nodes[0].tensor.shape == (2, 1024)
    for count in (1, 1025):
        with pytest.raises(GraphError) as caught:
            builder.op("concat", *[x] * count, axis=1)
        assert caught.value.expected == "2 to 1024 inputs"


def test_builder_refuses_inputs_it_does_not_know() -> None:
    with pytest.raises(GraphError) as caught:
        GraphBuilder().op("relu", "nowhere")
    assert caught.value.code == "UNDEFINED"


def test_attributes_count_in_digests_and_only_where_there_are_any() -> None:
    def cut(stop: int) -> Graph:
        builder = GraphBuilder()
        x = builder.input("x", (None, 5), F32)
        return builder.build(builder.op("relu", builder.op("slice", x, axis=1, start=0, stop=stop)))[0]

    form = canonical_form(cut(3), with_constants=True)
    assert form["nodes"][0]["attrs"] == {"axis": 1, "start": 0, "stop": 3}
    assert "attrs" not in form["nodes"][1]
    assert model_digest(cut(3)) != model_digest(cut(4))
    assert cut(3).nodes[0].attr("stop") == 3


def test_digest_of_several_outputs_does_not_depend_on_shared_work() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (None, 5), F32)
    shared = builder.op("relu", x)
    first, second = builder.op("tanh", shared), builder.op("exp", shared)
    graph, _ = builder.build(first, second)
    assert [node["op"] for node in canonical_form(graph, with_constants=True)["nodes"]] == [
        "relu",
        "tanh",
        "exp",
    ]
    assert model_digest(graph) != model_digest(replace(graph, outputs=(second, first)))


def test_bfloat16_is_rounded_to_nearest_even_and_hashed_by_its_upper_halves() -> None:
    exact = np.array([1.0, -2.5, 0.0, np.inf, 2.0**-133], dtype=np.float32)
    assert np.array_equal(rounded(exact, DType.BFLOAT16), exact)
    step = np.float32(2.0**-7)
    ties = np.array([1 + step / 2, 1 + 3 * step / 2, 1 + step / 2 + 2.0**-20, 3.4e38], dtype=np.float32)
    assert rounded(ties, DType.BFLOAT16).tolist() == [1.0, 1 + 2 * step, 1 + step, np.inf]
    odd = np.array([0x7F800001, 0xFFFFFFFF], dtype=np.uint32).view(np.float32)
    assert np.isnan(rounded(odd, DType.BFLOAT16)).all()
    one = np.array([1.0], dtype=np.float32)
    assert array_sha256(one, DType.BFLOAT16) == array_sha256(np.array([0x3F80], dtype=np.uint16))


def test_bfloat16_weights_must_be_rounded() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (None, 1), DType.BFLOAT16)
    w = builder.constant("w", np.array([[1.001]]), DType.BFLOAT16)
    graph, weights = builder.build(builder.op("matmul", x, w))
    assert weights["w"].dtype == np.float32
    verify(graph, weights)
    assert (
        refused(graph, {"w": np.array([[1.001]], dtype=np.float32)}).expected == "numbers rounded to bfloat16"
    )
    assert graph.dtype is DType.BFLOAT16


@pytest.mark.parametrize(
    ("dtype", "size"), [("float32", 4), ("float16", 2), ("bfloat16", 2), ("int32", 4), ("bool", 1)]
)
def test_types_know_their_size_and_round_trip(dtype: str, size: int) -> None:
    kind = DType(dtype)
    assert kind.item_bytes == size
    array = rounded(np.array([0, 1]), kind)
    assert array.dtype == kind.little_endian
    assert array.tolist() == [0, 1]
