from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilots.graph.attributes import KINDS
from pilots.graph.errors import GraphError
from pilots.graph.evaluate import evaluate
from pilots.graph.ir import Attr, DType, Shape
from pilots.graph.ops import OPS
from pilots.graph.spec import flops_per_sample
from pilots.graph.twins import TWINS
from tests.pilots.graph.samples import ADAM, BOOL, F32, HEADS, I32, SAMPLES, floats, numbers, single

EVERY_OP = sorted(OPS)
WRONG: dict[str, Attr] = {
    "count": 0,
    "index": -1,
    "flag": 2,
    "decimal": "1e-5",
    "decimals": "1  2",
    "sizes": (3, 0),
    "indices": (),
    "float": "int32",
    "dtype": "bool",
    "activation": "swish",
}


def refused(op: str, inputs: list[tuple[Shape, DType]], attrs: dict[str, Attr]) -> GraphError:
    with pytest.raises(GraphError) as caught:
        single(op, inputs, attrs)
    assert caught.value.message_de.endswith(f"(node 0 ({op}))")
    return caught.value


def test_table_twins_and_samples_name_the_same_operations() -> None:
    assert set(OPS) == set(TWINS) == set(SAMPLES)
    assert set(WRONG) == set(KINDS)


@pytest.mark.parametrize("op", EVERY_OP)
def test_every_op_has_a_twin_that_gives_the_shape_and_type_of_its_rule(op: str) -> None:
    graph = single(op, *SAMPLES[op])
    (result,) = evaluate(graph, numbers(graph)).values()
    tensor = graph.nodes[0].tensor
    assert result.shape == tensor.shape
    assert result.dtype.name == (
        "float64" if tensor.dtype.is_float else {I32: "int64"}.get(tensor.dtype, "bool")
    )
    assert np.isfinite(result).all()
    assert flops_per_sample(graph) >= 0


@pytest.mark.parametrize("op", EVERY_OP)
def test_every_op_refuses_missing_unknown_and_wrong_attributes(op: str) -> None:
    inputs, attrs = SAMPLES[op]
    schema = OPS[op].attributes
    assert refused(op, inputs, attrs | {"zeal": 1}).code == "ATTRIBUTE_UNKNOWN"
    for name, item in schema.items():
        if item.required:
            error = refused(op, inputs, {key: value for key, value in attrs.items() if key != name})
            assert (error.code, error.got) == ("ATTRIBUTE_MISSING", "nothing")
        for wrong in (WRONG[item.kind], True, 1.5, None, (1.5,), "\u0661"):
            error = refused(op, inputs, attrs | {name: wrong})  # type: ignore[dict-item]
            assert error.code == "ATTRIBUTE_VALUE"
            assert error.expected.startswith(name)


@pytest.mark.parametrize("op", EVERY_OP)
def test_every_op_refuses_a_type_its_row_does_not_name(op: str) -> None:
    inputs, attrs = SAMPLES[op]
    if "A" in OPS[op].types and len(inputs) == 1:
        return
    for index, (shape, dtype) in enumerate(inputs):
        other = BOOL if dtype is not BOOL else I32
        changed = [*inputs[:index], (shape, other), *inputs[index + 1 :]]
        if op == "gather" and index == 0:
            continue
        assert refused(op, changed, attrs).code == "DTYPE"


@pytest.mark.parametrize(
    "op", [op for op in EVERY_OP if OPS[op].arity[0] > 1 and SAMPLES[op][0][1][1] is F32]
)
def test_every_op_refuses_two_floating_types_at_once(op: str) -> None:
    (first, *others), attrs = SAMPLES[op]
    assert refused(op, [(first[0], DType.BFLOAT16), *others], attrs).code == "DTYPE"


MISFITS: list[tuple[str, list[Shape], dict[str, Attr]]] = [
    ("matmul", [(3, 5), (4, 7)], {}),
    ("matmul", [(3, 5), (5, 7)], {"transposed": 1}),
    ("matmul", [(3, 5), (None, 7)], {}),
    ("matmul", [(2, 3, 5), (5, 7)], {}),
    ("batch_matmul", [(2, 3, 5), (3, 5, 7)], {}),
    ("batch_matmul", [(None, 3, 5), (None, 5, 7)], {}),
    ("add", [(3, 5), (3,)], {}),
    ("add", [(5,), (3, 5)], {}),
    ("add", [(3, 5), (1, 5)], {}),
    ("reduce_max", [(5,)], {}),
    ("layer_norm", [(3, 5), (5,), (1,)], {"epsilon": "0"}),
    ("rms_norm", [(3, 5), (3,)], {"epsilon": "0"}),
    ("reshape", [(3, 5)], {"shape": (4, 4)}),
    ("reshape", [(None, 5)], {"shape": (5,)}),
    ("transpose", [(2, 3, 5)], {}),
    ("transpose", [(2, 3)], {"order": (0, 0)}),
    ("transpose", [(2, 3)], {"order": (0, 2)}),
    ("transpose", [(2, 3)], {"order": (0,)}),
    ("slice", [(3, 5)], {"axis": 2, "start": 0, "stop": 1}),
    ("slice", [(3, 5)], {"axis": 1, "start": 2, "stop": 2}),
    ("slice", [(3, 5)], {"axis": 1, "start": 0, "stop": 6}),
    ("slice", [(None, 5)], {"axis": 0, "start": 0, "stop": 1}),
    ("concat", [(3, 5), (4, 5)], {"axis": 1}),
    ("concat", [(3, 5), (3, 5, 1)], {"axis": 1}),
    ("concat", [(3, 5), (3, 5)], {"axis": 2}),
    ("concat", [(None, 5), (None, 5)], {"axis": 0}),
    ("pad", [(3, 5)], {"before": (1,), "after": (1, 1)}),
    ("broadcast_to", [(3, 2)], {"shape": (3, 5)}),
    ("broadcast_to", [(3, 5)], {"shape": (5,)}),
    ("top_k_gate", [(3, 5)], {"k": 6}),
    ("top_k_gate", [(5,)], {"k": 1}),
    ("attention", [(6, 24), (6, 12), (6, 12)], {"batch": 4, "causal": 1, **HEADS}),
    ("attention", [(6, 24), (6, 12), (5, 12)], {"batch": 1, "causal": 1, **HEADS}),
    ("attention", [(6, 24), (6, 24), (6, 24)], {"batch": 1, "causal": 1, **HEADS}),
    ("attention", [(6, 24), (6, 18), (6, 18)], {"batch": 1, "causal": 1, **HEADS, "kv_heads": 3}),
    ("conv2d", [(2, 3, 5, 7), (4, 2, 3, 3)], {"stride": 1, "padding": 0}),
    ("conv2d", [(2, 3, 5, 7), (4, 3, 6, 3)], {"stride": 1, "padding": 0}),
    ("conv2d", [(2, 3, 5, 7), (4, 3, 2, 3)], {"stride": 1, "padding": 2}),
    ("max_pool2d", [(2, 3, 5, 7)], {"size": 6, "stride": 1}),
    ("avg_pool2d", [(2, 3, 5)], {"size": 1, "stride": 1}),
    ("stencil", [(3, 4, 5)], {"points": 7, "coefficients": "1 1 1"}),
    ("stencil", [(3, 4, 5)], {"points": 9, "coefficients": " ".join("1" * 9)}),
    ("stencil", [(3, 4)], {"points": 7, "coefficients": " ".join("1" * 7)}),
    ("expert_ffn", [(3, 4), (3, 2), (2, 4, 5), (2, 4, 5), (2, 4, 5)], {"k": 1, "activation": "relu"}),
    ("expert_ffn", [(3, 4), (3, 2), (2, 4, 5), (2, 4, 5), (2, 5, 4)], {"k": 3, "activation": "relu"}),
    ("sgd_update", [(3, 5), (5,)], {"rate": "0.1"}),
]


@pytest.mark.parametrize(("op", "shapes", "attrs"), MISFITS)
def test_shapes_that_do_not_fit_are_refused_with_rule_and_type(
    op: str, shapes: list[Shape], attrs: dict[str, Attr]
) -> None:
    error = refused(op, [(shape, F32) for shape in shapes], attrs)
    assert error.code == "SHAPE"
    assert error.expected == OPS[op].rule
    assert "float32" in error.got


INDEX_MISFITS: list[tuple[str, list[tuple[Shape, DType]], dict[str, Attr]]] = [
    ("gather", [((3,), F32), ((2,), I32)], {}),
    ("embedding", [((3, 5), F32), ((2, 2), I32)], {}),
    ("scatter_add", [((3, 5), F32), ((7,), I32), ((6, 5), F32)], {}),
    ("one_hot", [((7, 1), I32)], {"depth": 3, "dtype": "float16"}),
    ("rope", [((3, 24), F32), ((2,), I32)], {"heads": 4, "head_dim": 6, "theta": 1}),
    ("rope", [((3, 24), F32), ((3,), I32)], {"heads": 8, "head_dim": 3, "theta": 1}),
    ("rope", [((3, 24), F32), ((3,), I32)], {"heads": 4, "head_dim": 6, "theta": 1, "rotary_dim": 8}),
    ("cache_append", [((2, 3, 12), F32), ((2, 11), F32), ((2,), I32)], {}),
    ("attention_cached", [((2, 24), F32), ((2, 3, 12), F32), ((2, 4, 12), F32), ((2,), I32)], HEADS),
    ("attention_cached", [((2, 24), F32), ((3, 3, 12), F32), ((3, 3, 12), F32), ((2,), I32)], HEADS),
    ("cross_entropy", [((7, 3), F32), ((6,), I32)], {}),
    ("adamw_update", [((3, 5), F32)] * 3 + [((2,), I32)], ADAM),
]


@pytest.mark.parametrize(("op", "inputs", "attrs"), INDEX_MISFITS)
def test_shapes_of_indexed_operations_are_refused_when_they_do_not_fit(
    op: str, inputs: list[tuple[Shape, DType]], attrs: dict[str, Attr]
) -> None:
    assert refused(op, inputs, attrs).code == "SHAPE"


FITS: list[tuple[str, list[Shape], dict[str, Attr], Shape]] = [
    ("matmul", [(None, 5), (7, 5)], {"transposed": 1}, (None, 7)),
    ("add", [(None, 5), (None, 1)], {}, (None, 5)),
    ("add", [(2, 3, 5), (3, 5)], {}, (2, 3, 5)),
    ("softmax", [(None, 5)], {}, (None, 5)),
    ("layer_norm", [(None, 5), (5,), (5,)], {"epsilon": "0.1"}, (None, 5)),
    ("transpose", [(2, 3)], {}, (3, 2)),
    ("slice", [(None, 5)], {"axis": 1, "start": 4, "stop": 5}, (None, 1)),
    ("concat", [(None, 5), (None, 2)], {"axis": 1}, (None, 7)),
    ("conv2d", [(None, 1, 1, 1), (1, 1, 1, 1)], {"stride": 1, "padding": 0}, (None, 1, 1, 1)),
    ("conv2d", [(1, 1, 224, 224), (64, 1, 7, 7)], {"stride": 2, "padding": 3}, (1, 64, 112, 112)),
    ("max_pool2d", [(None, 3, 2, 2)], {"size": 2, "stride": 7}, (None, 3, 1, 1)),
    ("top_k_gate", [(None, 5)], {"k": 5}, (None, 5)),
    ("stencil", [(1, 1, 1)], {"points": 25, "coefficients": " ".join(["-0.5"] * 25)}, (1, 1, 1)),
]


@pytest.mark.parametrize(("op", "shapes", "attrs", "result"), FITS)
def test_shapes_at_the_edge_of_a_rule_are_accepted(
    op: str, shapes: list[Shape], attrs: dict[str, Attr], result: Shape
) -> None:
    assert single(op, [(shape, F32) for shape in shapes], attrs).nodes[0].tensor.shape == result


@given(st.lists(st.integers(1, 13), min_size=1, max_size=4), st.data())
def test_reshape_and_transpose_keep_every_element(dims: list[int], data: st.DataObject) -> None:
    shape = tuple(dims)
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    graph = single("transpose", *floats(shape, order=order))
    values = numbers(graph)
    (turned,) = evaluate(graph, values).values()
    assert turned.shape == graph.nodes[0].tensor.shape
    flat = single("reshape", *floats(shape, shape=(prod(shape),)))
    (line,) = evaluate(flat, values).values()
    assert sorted(turned.ravel()) == sorted(line)


@given(
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.integers(1, 3),
    st.integers(0, 2),
)
def test_conv2d_rule_and_twin_agree_wherever_the_rule_accepts(
    picture: tuple[int, int], kernel: tuple[int, int], stride: int, padding: int
) -> None:
    sample = floats((1, 2, *picture), (3, 2, *kernel), stride=stride, padding=padding)
    fits = all(size + 2 * padding >= window for size, window in zip(picture, kernel, strict=True))
    if not fits or padding >= min(kernel):
        assert refused("conv2d", *sample).code == "SHAPE"
        return
    graph = single("conv2d", *sample)
    (result,) = evaluate(graph, numbers(graph)).values()
    assert result.shape == graph.nodes[0].tensor.shape


FLOPS: list[tuple[str, int]] = [
    ("matmul", 2 * 3 * 5 * 7),
    ("batch_matmul", 2 * 2 * 3 * 5 * 7),
    ("conv2d", 2 * (2 * 4 * 3 * 4) * (3 * 3 * 2)),
    ("max_pool2d", 2 * 3 * 2 * 3 * 9),
    ("stencil", 2 * 7 * 60),
    ("rope", 3 * 3 * 24),
    ("attention", 2 * (1 + 2 + 3) * 4 * (4 * 6 + 5)),
    ("attention_cached", 2 * 3 * 4 * (4 * 6 + 5)),
    ("expert_ffn", 3 * 1 * (6 * 4 * 5 + 6 * 5 + 2 * 4)),
    ("scatter_add", 35),
    ("reshape", 0),
    ("embedding", 0),
    ("softmax", 75),
]


@pytest.mark.parametrize(("op", "count"), FLOPS)
def test_flops_are_counted_by_hand(op: str, count: int) -> None:
    assert flops_per_sample(single(op, *SAMPLES[op])) == count


def test_attention_flops_follow_window_and_mask() -> None:
    shapes = ((6, 24), (6, 12), (6, 12))
    counts = {}
    for causal, window in product((0, 1), (0, 2, 9)):
        attrs: dict[str, Attr] = {"window": window} if window else {}
        graph = single("attention", *floats(*shapes, batch=1, causal=causal, **attrs, **HEADS))
        counts[causal, window] = flops_per_sample(graph) // (4 * 29)
    assert counts == {(0, 0): 36, (0, 2): 16, (0, 9): 36, (1, 0): 21, (1, 2): 11, (1, 9): 21}
