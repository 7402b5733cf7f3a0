"""Broadcasting, conditions and numbers known now, against NumPy; no framework needed."""

from __future__ import annotations

import numpy as np
import pytest

from pilots.graph.evaluate import evaluate
from pilots.graph.frontends import compound, emitter
from pilots.graph.frontends.emitter import Emitter
from pilots.graph.frontends.errors import Refused
from pilots.graph.frontends.values import Value, broadcast_shape, combined, decimal, known, known_as, negated
from pilots.graph.ir import DType
from pilots.graph.rng import uniform

F32 = DType.FLOAT32
SPECIAL = np.array([[np.nan, 1.0, 2.0], [np.inf, -0.0, 0.0], [-np.inf, 2.0, 1.0]])


def run(emit, value, **inputs):
    graph, weights = emit.builder.build(emit.reference(value))
    return evaluate(graph, {**inputs, **weights})[graph.outputs[0]].reshape(value.shape)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "maximum", "minimum"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 3), (2, 1)), ((2, 1), (2, 3)), ((2, 3), ()), ((), (2, 3)),
     ((2, 1), (1, 3)), ((4, 2, 3), (2, 1)), ((4, 2, 3), (1, 2, 3)), ((), ()), ((1, 3), (1, 1)), ((4, 2, 3), (4, 1, 3))],
)  # fmt: skip
def test_broadcasting_is_that_of_numpy(op, left, right):
    emit = Emitter()
    a, b = emit.input("a", left, F32), emit.input("b", right, F32)
    x, y = uniform(1, "a", left) + np.float32(2), uniform(1, "b", right) + np.float32(2)
    found = run(emit, emit.binary(op, a, b), a=x.reshape(left or (1,)), b=y.reshape(right or (1,)))
    twin = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    twin |= {"maximum": np.maximum, "minimum": np.minimum}
    expected = twin[op](x.astype(np.float64), y.astype(np.float64))
    assert found.shape == expected.shape
    assert np.allclose(found, expected, rtol=1e-14)


KINDS = {
    "greater": np.greater,
    "less": np.less,
    "equal": np.equal,
    "greater_equal": np.greater_equal,
    "less_equal": np.less_equal,
    "not_equal": np.not_equal,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", ["where", "cast", "output"])
def test_conditions_are_exact_for_every_number(kind, use):
    emit = Emitter()
    a, b = emit.input("a", (3, 3), F32), emit.input("b", (3, 3), F32)
    condition = emit.compare(kind, a, b)
    if use == "where":
        condition = emit.where(condition, emit.scalar(1.0, a), emit.scalar(0.0, a))
    elif use == "cast":
        condition = emit.cast(condition, F32)
    found = run(emit, condition, a=SPECIAL, b=SPECIAL.T.copy())
    assert np.array_equal(found.astype(bool), KINDS[kind](SPECIAL, SPECIAL.T))


def test_conditions_of_conditions():
    emit = Emitter()
    a = emit.input("a", (3, 3), F32)
    low, high = (
        emit.compare("greater", a, emit.scalar(0.0, a)),
        emit.compare("less_equal", a, emit.scalar(1.0, a)),
    )
    inside = combined("and", (low, high), a.shape)
    outside = negated(combined("or", (negated(low), high), a.shape))
    for rule, expected in (
        (inside, (SPECIAL > 0) & (SPECIAL <= 1)),
        (outside, ~(~(SPECIAL > 0) | (SPECIAL <= 1))),
        (emit.transpose(inside, (1, 0)), ((SPECIAL > 0) & (SPECIAL <= 1)).T),
        (emit.reshape(negated(inside), (9,)), ~((SPECIAL > 0) & (SPECIAL <= 1)).reshape(9)),
    ):
        assert np.array_equal(run(emit, emit.cast(rule, F32), a=SPECIAL).astype(bool), expected)
    assert negated(negated(low)) == low


def test_numbers_known_now_are_moved_and_compared_at_once():
    emit = Emitter()
    rows, columns = known(np.arange(3)), known(np.arange(3).reshape(3, 1))
    mask = emit.compare("greater_equal", columns, rows)
    assert mask.array is not None
    assert np.array_equal(mask.array, np.tril(np.ones((3, 3), bool)))
    assert not emit.emitted


def test_one_number_becomes_a_factor_or_a_row():
    emit = Emitter()
    x = emit.input("x", (2, 3), F32)
    half = emit.binary("mul", x, emit.scalar(0.1, x))
    emit.binary("maximum", half, emit.scalar(0.0, x))
    emit.binary("div", emit.scalar(1.0, x), half)
    emit.binary("add", half, emit.scalar(2.0, x))
    assert emit.emitted == ["scale", "relu", "reciprocal", "add"]
    assert emit.binary("mul", x, emit.scalar(1.0, x)) == x
    assert emit.binary("maximum", emit.scalar(-np.inf, x), x) == x


def test_weights_are_never_taken_for_a_number():
    emit = Emitter()
    x = emit.input("x", (2, 3), F32)
    ones = known_as(np.ones(3), F32, "norm.weight")
    emit.binary("mul", x, ones)
    emit.binary("mul", x, emit.broadcast_to(emit.reshape(ones, (1, 3)), (2, 3)))
    assert emit.emitted == ["mul", "mul"]


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.5, "0.5"), (0.1, "0.1"), (1 / 3, "0.33333334"), (-2.0, "-2"), (1e-30, "0.000000000000000000000000000001"),
     (1e20, None), (1e-45, None), (np.inf, None), (np.nan, None)],
)  # fmt: skip
def test_decimal_means_the_same_number(number, text):
    assert decimal(number, F32) == text


def test_number_that_is_no_decimal_becomes_a_row():
    emit = Emitter()
    x = emit.input("x", (2, 3), F32)
    emit.scale(x, 1e-42)
    assert emit.emitted == ["mul"]


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("axes", [(), (0,), (1,), (-1,), (0, 2), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("op", ["reduce_sum", "reduce_max", "reduce_min", "reduce_mean"])
def test_reductions_are_those_of_numpy(op, axes, keep):
    emit = Emitter()
    x = uniform(1, "x", (2, 3, 4))
    value = compound.reduce(emit, op, emit.input("x", (2, 3, 4), F32), axes, keep=keep)
    twin = {"reduce_sum": np.sum, "reduce_max": np.max, "reduce_min": np.min, "reduce_mean": np.mean}[op]
    expected = twin(x.astype(np.float64), axis=axes or None, keepdims=keep)
    found = run(emit, value, x=x)
    assert found.shape == expected.shape
    assert np.allclose(found, expected)


@pytest.mark.parametrize(
    ("a", "b", "spec", "contract", "batch"),
    [((2, 3), (3, 4), "ij,jk->ik", ([1], [0]), ([], [])), ((2, 3), (4, 3), "ij,kj->ik", ([1], [1]), ([], [])),
     ((3, 2), (3, 4), "ji,jk->ik", ([0], [0]), ([], [])), ((5, 2, 3), (3, 4), "bij,jk->bik", ([2], [0]), ([], [])),
     ((5, 2, 3), (5, 3, 4), "bij,bjk->bik", ([2], [1]), ([0], [0])),
     ((2, 5, 3), (4, 3, 5), "ibj,kjb->bik", ([2], [1]), ([1], [2])),
     ((2, 3, 4), (3, 4, 5), "ijk,jkl->il", ([1, 2], [0, 1]), ([], [])),
     ((1, 2, 3), (1, 3, 4), "bij,bjk->bik", ([2], [1]), ([0], [0]))],
)  # fmt: skip
def test_products_are_those_of_einsum(a, b, spec, contract, batch):
    emit = Emitter()
    x, y = uniform(1, "a", a).astype(np.float64), uniform(1, "b", b).astype(np.float64)
    value = compound.dot(emit, emit.input("a", a, F32), emit.input("b", b, F32), contract, batch)
    assert np.allclose(run(emit, value, a=x, b=y), np.einsum(spec, x, y))


@pytest.mark.parametrize("exponent", [-1.0, -0.5, 0.5, 1.0, 2.0, 3.0, 4.0])
def test_powers(exponent):
    emit = Emitter()
    x = np.abs(uniform(1, "x", (2, 3))) + np.float32(0.5)
    value = compound.power(emit, emit.input("x", (2, 3), F32), exponent)
    assert np.allclose(run(emit, value, x=x), x.astype(np.float64) ** exponent)


def test_what_cannot_be_expressed_is_refused():
    emit = Emitter()
    x, ids = emit.input("x", (2, 3), F32), emit.input("ids", (2,), DType.INT32)
    open_batch = emit.input("o", (None, 3), F32)
    for action in (
        lambda: compound.power(emit, x, 1.5),
        lambda: emit.binary("add", x, ids),
        lambda: emit.binary("add", x, emit.input("z", (4,), F32)),
        lambda: emit.cut(x, 1, 0, 3, 2),
        lambda: compound.lookup(emit, x, x),
        lambda: emit.reshape(open_batch, (3, 2)),
        lambda: compound.reduce(emit, "reduce_sum", open_batch, [0], keep=True),
        lambda: emit.reference(known(np.array([np.inf], np.float32))),
        lambda: known(np.array([1.0])),
        lambda: known(np.array([1j])),
        lambda: known(np.array([2**31])),
        lambda: known(np.array(["a"])),
        lambda: emit.cast(x, F32).sizes() and emit.op("softmax", ids),
    ):
        with pytest.raises(Refused):
            action()


def test_few_numbers_may_not_grow_into_many(monkeypatch):
    monkeypatch.setattr(emitter, "MAX_GROWN", 100)
    emit = Emitter()
    one = known(np.ones((1, 1), np.float32))
    emit.broadcast_to(one, (10, 10))
    with pytest.raises(Refused):
        emit.broadcast_to(one, (1, 2))
    with pytest.raises(Refused):
        Emitter().broadcast_to(one, (2**20, 2**20))
    with pytest.raises(Refused):
        Emitter().binary("add", known(np.ones((1, 20), np.float32)), known(np.ones((20, 1), np.float32)))


def test_open_batch_goes_with_itself_and_with_one():
    assert broadcast_shape((None, 3), (3,)) == (None, 3)
    assert broadcast_shape((None, 3), (1, 3)) == (None, 3)
    assert broadcast_shape((None, 3), (None, 1)) == (None, 3)
    with pytest.raises(Refused):
        broadcast_shape((None, 3), (2, 3))
    emit = Emitter()
    x = emit.input("x", (None, 3), F32)
    value = emit.binary("sub", emit.scalar(1.0, x), x)
    graph, weights = emit.builder.build(emit.reference(value))
    numbers = uniform(1, "x", (4, 3))
    (found,) = evaluate(graph, {"x": numbers, **weights}).values()
    assert np.allclose(found, 1 - numbers.astype(np.float64))


def test_names_are_made_legal_and_unique():
    emit = Emitter()
    names = [emit.input(label, (1,), F32).name for label in ("a b", "a b", "ä", "", "v0", "v0")]
    assert len(set(names)) == len(names)
    assert all(name.isascii() and " " not in name for name in names)
    assert Value((), F32).rank == 0
