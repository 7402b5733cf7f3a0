"""The rules of the simple form need no framework."""

from __future__ import annotations

import numpy as np
import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.evaluate import evaluate
from pilots.graph.frontends.simplify import simplify
from pilots.graph.ir import DType, graph_signature
from pilots.graph.rng import uniform

F32 = DType.FLOAT32


class Case:
    """A builder with two inputs x, y [2, 3, 4], a weight w [4] and literals."""

    def __init__(self) -> None:
        self.builder = GraphBuilder()
        self.x = self.builder.input("x", (2, 3, 4), F32)
        self.y = self.builder.input("y", (2, 3, 4), F32)
        self.w = self.builder.constant("w", uniform(3, "w", (4,)))
        self.b = self.builder.constant("b", uniform(4, "b", (4,)))
        self.literals: dict[str, float] = {}

    def __call__(self, op, *values, **attrs):
        return self.builder.op(op, *values, **attrs)

    def number(self, value, width=4):
        name = self.builder.constant(f"c{len(self.literals)}", np.full(width, value, np.float32))
        self.literals[name] = value
        return name

    def simple(self, *outputs):
        """Return the graph in its simple form, after comparing all results with those of the graph as it was."""
        graph, weights = self.builder.build(*outputs)
        origins = {name: "" if name in self.literals else name for name in weights}
        found, kept, _ = simplify(graph, weights, self.literals, origins)
        values = {name: uniform(1, name, (2, 3, 4)) for name in ("x", "y")}
        before = evaluate(graph, values | weights)
        after = evaluate(found, values | kept)
        for old, new in zip(graph.outputs, found.outputs, strict=True):
            assert np.allclose(before[old], after[new], rtol=1e-12, atol=1e-12)
        return found

    def ops(self, *outputs):
        return [node.op for node in self.simple(*outputs).nodes]


def test_moves_that_change_nothing_are_left_out():
    on = Case()
    value = on("reshape", on.x, shape=(2, 3, 4))
    value = on("transpose", value, order=(0, 1, 2))
    value = on("slice", on("cast", value, dtype="float32"), axis=1, start=0, stop=3)
    value = on("transpose", on("transpose", value, order=(2, 0, 1)), order=(1, 2, 0))
    assert on.ops(on("relu", on("broadcast_to", value, shape=(2, 3, 4)))) == ["relu"]


def test_transposes_and_reshapes_are_joined():
    on = Case()
    value = on("transpose", on("transpose", on.x, order=(1, 0, 2)), order=(0, 2, 1))
    (node,) = on.simple(value).nodes
    assert node.attr("order") == (1, 2, 0)
    on = Case()
    value = on("transpose", on("reshape", on.x, shape=(6, 1, 4)), order=(1, 0, 2))
    (node,) = on.simple(on("reshape", value, shape=(24,))).nodes
    assert (node.op, node.attr("shape")) == ("reshape", (24,))


@pytest.mark.parametrize("op", ["add", "mul", "maximum", "minimum"])
def test_operands_that_may_change_places_have_one_order(op):
    left, right = Case(), Case()
    first = left.simple(left(op, left.x, left.y))
    assert graph_signature(first) == graph_signature(right.simple(right(op, right.y, right.x)))
    assert len(left.simple(left(op, left.x, left.y), left(op, left.y, left.x)).nodes) == 1


@pytest.mark.parametrize("op", ["sub", "div"])
def test_operands_that_may_not_change_places_keep_theirs(op):
    left, right = Case(), Case()
    first = left.simple(left(op, left.x, left.y))
    assert graph_signature(first) != graph_signature(right.simple(right(op, right.y, right.x)))


def test_value_made_twice_is_made_once_and_unused_ones_are_left_out():
    on = Case()
    on("exp", on.y)
    assert on.ops(on("add", on("exp", on.x), on("exp", on.x))) == ["exp", "add"]


def test_reshape_sinks_below_what_computes_on_each_number():
    on = Case()
    flat = on("reshape", on.x, shape=(6, 4))
    value = on("softmax", on("relu", on("add", flat, on.w)))
    assert on.ops(on("reshape", value, shape=(2, 3, 4))) == ["add", "relu", "softmax"]


def test_reshape_that_parts_rows_stays_above_what_needs_them():
    on = Case()
    flat = on("reshape", on.x, shape=(4, 6))
    assert on.ops(on("softmax", flat)) == ["reshape", "softmax"]
    assert (
        on.ops(on("add", on("reshape", on.x, shape=(8, 3)), on("slice", on.w, axis=0, start=0, stop=3)))[0]
        != "add"
    )


def test_product_reads_its_right_side_transposed():
    on = Case()
    left, right = on("reshape", on.x, shape=(6, 4)), on("reshape", on.y, shape=(6, 4))
    found = on.simple(on("matmul", left, on("transpose", right)))
    assert [node.op for node in found.nodes] == ["reshape", "reshape", "matmul"]
    assert found.nodes[-1].attr("transposed") == 1


def test_equal_weights_stay_apart_and_equal_literals_do_not():
    on = Case()
    other = on.builder.constant("other", on.builder.build(on("relu", on.x))[1]["w"])
    found = on.simple(on("add", on("add", on.x, on.w), other))
    assert [item.name for item in found.constants] == ["w", "other"]
    on = Case()
    found = on.simple(on("add", on("add", on.x, on.number(2.0)), on.number(2.0)))
    assert len(found.constants) == 1


def _mean(on, value):
    return on("div", on("reduce_sum", value), on.number(4.0, 1))


def _normed(on, value, root="rsqrt", scale="w"):
    total = on("add", _mean(on, on("square", value)), on.number(0.25, 1))
    quotient = on("mul", value, on(root, total)) if root == "rsqrt" else on("div", value, on(root, total))
    return on("mul", quotient, getattr(on, scale))


def _softmax(on, grown):
    return on("div", grown, on("reduce_sum", grown))


def _gelu(on):
    cube = on("mul", on("mul", on.x, on.x), on.x)
    inner = on("add", on.x, on("scale", cube, factor="0.044715"))
    return on("add", on("tanh", on("scale", inner, factor="0.7978846")), on.number(1.0))


def _centred(on):
    return on("sub", on.x, _mean(on, on.x))


def _shifted(on):
    return on("sub", on.x, on("reduce_max", on.x))


FORMULAS = {
    "square": lambda on: on("mul", on.x, on.x),
    "silu": lambda on: on("mul", on("sigmoid", on.x), on.x),
    "reduce_mean": lambda on: _mean(on, on.x),
    "softmax": lambda on: _softmax(on, on("exp", _shifted(on))),
    "log_softmax": lambda on: on("sub", _shifted(on), on("log", on("reduce_sum", on("exp", _shifted(on))))),
    "rms_norm": lambda on: _normed(on, on.x),
    "layer_norm": lambda on: on("add", _normed(on, _centred(on)), on.b),
}


@pytest.mark.parametrize("op", FORMULAS)
def test_formula_gets_its_name(op):
    on = Case()
    assert on.ops(FORMULAS[op](on)) == [op]


def test_norms_are_known_with_a_division_too():
    on = Case()
    assert on.ops(_normed(on, on.x, "sqrt")) == ["rms_norm"]


@pytest.mark.parametrize("halved", ["x", "gate", "product"])
def test_gelu_gets_its_name(halved):
    """The rounded root of the formula is another number in the twin's last digits, so results are compared loosely."""
    on = Case()
    gate = _gelu(on)
    if halved == "x":
        value = on("mul", on("scale", on.x, factor="0.5"), gate)
    elif halved == "gate":
        value = on("mul", on.x, on("scale", gate, factor="0.5"))
    else:
        value = on("scale", on("mul", on.x, gate), factor="0.5")
    graph, weights = on.builder.build(value)
    found, kept, _ = simplify(graph, weights, on.literals, dict.fromkeys(weights, ""))
    x = {"x": uniform(1, "x", (2, 3, 4)), "y": uniform(1, "y", (2, 3, 4))}
    (before,), (after,) = evaluate(graph, x | weights).values(), evaluate(found, x | kept).values()
    assert np.allclose(before, after, atol=1e-7)
    assert ([node.op for node in found.nodes] == ["gelu"]) is (halved != "product")


@pytest.mark.parametrize(
    "build",
    [
        lambda on: on("mul", on("sigmoid", on.x), on.y),
        lambda on: on("div", on("reduce_sum", on.x), on.number(3.0, 1)),
        lambda on: _softmax(on, on("exp", on.x)),
        lambda on: on("div", on("exp", _shifted(on)), on("reduce_sum", on("exp", on.y))),
        lambda on: on("sub", _shifted(on), on("log", on("reduce_sum", on("exp", on.y)))),
        lambda on: on(
            "mul",
            on("mul", on.y, on("rsqrt", on("add", _mean(on, on("square", on.x)), on.number(1.0, 1)))),
            on.w,
        ),
        lambda on: on("mul", on.x, on("scale", _gelu(on), factor="0.25")),
    ],
)
def test_formula_that_differs_keeps_its_operations(build):
    on = Case()
    assert not {"silu", "softmax", "log_softmax", "rms_norm", "gelu"} & set(on.ops(build(on)))


def test_weights_of_one_never_shape_a_graph():
    """A fresh norm has a scale of 1 and looks the same as a trained one."""
    signatures = set()
    for number in (1.0, 1.5):
        builder = GraphBuilder()
        x = builder.input("x", (3, 4), F32)
        w = builder.constant("w", np.full(4, number, np.float32))
        graph, weights = builder.build(
            builder.op("add", builder.op("mul", x, w), builder.constant("c", np.ones(4, np.float32)))
        )
        signatures.add(graph_signature(simplify(graph, weights, {"c": 1.0}, {"w": "w", "c": ""})[0]))
    assert len(signatures) == 1


def test_table_that_is_also_there_transposed_is_kept_once():
    builder = GraphBuilder()
    ids = builder.input("ids", (3,), DType.INT32)
    table = uniform(1, "t", (5, 4))
    t = builder.constant("t", table)
    turned = builder.constant("t_1", np.ascontiguousarray(table.T))
    rows = builder.op("embedding", t, ids)
    graph, weights = builder.build(builder.op("matmul", rows, turned))
    found, kept, _ = simplify(graph, weights, {}, {"t": "t", "t_1": "t"})
    assert list(kept) == ["t"]
    ids_now = {"ids": np.array([1, 0, 4])}
    (before,), (after,) = (
        evaluate(graph, ids_now | weights).values(),
        evaluate(found, ids_now | kept).values(),
    )
    assert np.array_equal(before, after)
    apart, _, _ = simplify(graph, weights, {}, {"t": "t", "t_1": "other"})
    assert len(apart.constants) == 2
