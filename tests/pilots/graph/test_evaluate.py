from __future__ import annotations

from itertools import product
from math import exp, log, sqrt

import numpy as np
import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.errors import GraphError
from pilots.graph.evaluate import evaluate
from pilots.graph.ir import Array, Attr, DType
from pilots.graph.twins_composite import stencil_offsets
from tests.pilots.graph.samples import ADAM, F32, HEADS, I32, SAMPLES, floats, numbers, single


def result_of(op: str, seed: int = 1, **changed: Attr) -> tuple[Array, list[Array]]:
    inputs, attrs = SAMPLES[op]
    graph = single(op, inputs, attrs | changed)
    values = numbers(graph, seed)
    return evaluate(graph, values)["v0"], [values[name].astype(np.float64) for name, _ in graph.inputs]


def on(op: str, *arrays: object, **attrs: Attr) -> list[object]:
    given = [np.asarray(array) for array in arrays]
    types = [F32 if array.dtype.kind == "f" else I32 for array in given]
    graph = single(op, [(array.shape, kind) for array, kind in zip(given, types, strict=True)], attrs)
    values = {name: array for (name, _), array in zip(graph.inputs, given, strict=True)}
    found: list[object] = evaluate(graph, values)["v0"].tolist()
    return found


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("neg", lambda x: -x),
        ("abs", abs),
        ("relu", lambda x: max(x, 0.0)),
        ("square", lambda x: x * x),
        ("sigmoid", lambda x: 1 / (1 + exp(-x))),
        ("silu", lambda x: x / (1 + exp(-x))),
        ("gelu", lambda x: 0.5 * x * (1 + np.tanh(sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
    ],
)
def test_elementwise_twins_follow_their_formulas(op: str, expected) -> None:
    points = [-3.0, -0.5, 0.0, 0.25, 4.0]
    assert on(op, points) == pytest.approx([expected(item) for item in points])


def test_sigmoid_and_softmax_neither_overflow_nor_underflow() -> None:
    assert on("sigmoid", [-1e4, 1e4]) == [0.0, 1.0]
    assert on("softmax", [[1e4, -1e4]]) == [[1.0, 0.0]]
    assert on("log_softmax", [[1e4, 0.0]]) == [[0.0, -1e4]]


def test_division_by_zero_gives_infinity_and_nan() -> None:
    assert on("div", [[1.0, -1.0]], [[0.0, 0.0]]) == [[np.inf, -np.inf]]
    assert np.isnan(on("log", [-1.0])).all()


def test_comparisons_give_flags_and_argmax_the_first_of_equal_ones() -> None:
    assert on("greater", [[1.0, 2.0]], [2.0, 1.0]) == [[False, True]]
    assert on("equal", [[1, 2]], [[1, 1]]) == [[True, False]]
    assert on("argmax", [[3.0, 7.0, 7.0]]) == [[1]]


def test_cast_rounds_to_its_type_and_cuts_towards_zero() -> None:
    assert on("cast", [1.001, -2.5], dtype="bfloat16") == [1.0, -2.5]
    assert on("cast", [1.0001], dtype="float16") == [1.0]
    assert on("cast", [1.9, -1.9], dtype="int32") == [1, -1]


def test_norms_have_mean_zero_and_unit_square() -> None:
    x = [[1.0, 2.0, 6.0]]
    assert on("layer_norm", x, [1.0] * 3, [0.5] * 3, epsilon="0") == [
        pytest.approx([(item - 3) / sqrt(14 / 3) + 0.5 for item in x[0]])
    ]
    assert on("rms_norm", x, [2.0] * 3, epsilon="1") == [
        pytest.approx([2 * item / sqrt(41 / 3 + 1) for item in x[0]])
    ]


def test_moves_put_every_element_where_they_say() -> None:
    assert on("pad", [[1.0]], before=(1, 0), after=(0, 2)) == [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert on("slice", [[1.0, 2.0, 3.0]], axis=1, start=1, stop=3) == [[2.0, 3.0]]
    assert on("concat", [[1.0]], [[2.0, 3.0]], axis=1) == [[1.0, 2.0, 3.0]]
    assert on("transpose", [[1.0, 2.0]]) == [[1.0], [2.0]]
    assert on("broadcast_to", [[1.0], [2.0]], shape=(2, 2)) == [[1.0, 1.0], [2.0, 2.0]]
    assert on("gather", [[1.0], [2.0]], [[1, 0]]) == [[[2.0], [1.0]]]
    assert on("scatter_add", [[1.0], [2.0]], [1, 1], [[10.0], [20.0]]) == [[1.0], [32.0]]
    assert on("one_hot", [2, 0], depth=3, dtype="float32") == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]


def test_attention_is_the_weighted_mean_over_what_a_row_may_see() -> None:
    for causal, window in product((0, 1), (1, 2, 3)):
        result, (query, keys, values) = result_of("attention", causal=causal, window=window)
        for sequence, row, head in product(range(2), range(3), range(4)):
            mine, other = slice(6 * head, 6 * head + 6), slice(6 * (head // 2), 6 * (head // 2) + 6)
            seen = [c for c in range(3) if abs(row - c) < window and (c <= row or not causal)]
            scores = [
                exp(query[3 * sequence + row, mine] @ keys[3 * sequence + c, other] / sqrt(6)) for c in seen
            ]
            mean = sum(s * values[3 * sequence + c, other] for s, c in zip(scores, seen, strict=True)) / sum(
                scores
            )
            assert result[3 * sequence + row, mine] == pytest.approx(mean)


@pytest.mark.parametrize("window", [0, 1, 2])
def test_attention_with_a_cache_equals_the_last_row_of_attention_without(window: int) -> None:
    attrs: dict[str, Attr] = HEADS | ({"window": window} if window else {})
    whole = single("attention", *floats((3, 24), (3, 12), (3, 12), batch=1, causal=1, **attrs))
    values = numbers(whole)
    shapes = [((1, 24), F32), ((1, 5, 12), F32), ((1, 5, 12), F32), ((1,), I32)]
    cached = single("attention_cached", shapes, attrs)
    caches = {name: np.pad(values[name], ((0, 2), (0, 0)), constant_values=9)[None] for name in "bc"}
    last = evaluate(cached, {"a": values["a"][2:], **caches, "d": np.array([2])})["v0"]
    assert last[0] == pytest.approx(evaluate(whole, values)["v0"][2])


def test_cache_append_writes_one_row_per_sequence_and_keeps_the_rest() -> None:
    cache = np.zeros((2, 3, 1))
    found = on("cache_append", cache, [[5.0], [6.0]], [0, 2])
    assert found == [[[5.0], [0.0], [0.0]], [[0.0], [0.0], [6.0]]]
    assert not cache.any()


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("turning", [2, 4, 6])
def test_rope_turns_pairs_as_complex_numbers_and_leaves_the_rest(interleaved: int, turning: int) -> None:
    attrs: dict[str, Attr] = {"interleaved": interleaved, "rotary_dim": turning, "theta": 100}
    result, (data, positions) = result_of("rope", **attrs)
    half = turning // 2
    for row, head, pair in product(range(3), range(4), range(half)):
        first, second = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + half)
        at = 6 * head
        turn = np.exp(1j * positions[row] * 100.0 ** (-2 * pair / turning))
        expected = (data[row, at + first] + 1j * data[row, at + second]) * turn
        assert result[row, at + first] + 1j * result[row, at + second] == pytest.approx(expected)
    rest = [column for column in range(24) if column % 6 >= turning]
    assert np.array_equal(result[:, rest], data[:, rest])


def test_top_k_gate_chooses_the_first_of_equal_ones_and_sums_to_one() -> None:
    assert on("top_k_gate", [[1.0, 3.0, 3.0, 3.0]], k=2) == [[0.0, 0.5, 0.5, 0.0]]
    (row,) = on("top_k_gate", [[log(3.0), 0.0, -9.0]], k=2)
    assert row == pytest.approx([0.75, 0.25, 0.0])


@pytest.mark.parametrize("activation", ["silu", "gelu", "relu"])
def test_expert_ffn_is_the_gated_sum_of_its_experts(activation: str) -> None:
    result, (x, gates, w_gate, w_up, w_down) = result_of("expert_ffn", activation=activation)
    curve = {"silu": lambda v: v / (1 + exp(-v)), "relu": lambda v: max(v, 0)}
    curve["gelu"] = lambda v: 0.5 * v * (1 + np.tanh(sqrt(2 / np.pi) * (v + 0.044715 * v**3)))
    act = np.vectorize(curve[activation])
    dense = sum(gates[:, [e]] * ((act(x @ w_gate[e]) * (x @ w_up[e])) @ w_down[e]) for e in range(2))
    assert result == pytest.approx(dense)


def test_conv2d_sums_products_under_every_window() -> None:
    result, (data, kernel) = result_of("conv2d")
    padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for b, o, i, j in product(range(2), range(4), range(3), range(4)):
        window = padded[b, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 2]
        assert result[b, o, i, j] == pytest.approx((window * kernel[o]).sum())


@pytest.mark.parametrize(("op", "reduce"), [("max_pool2d", np.max), ("avg_pool2d", np.mean)])
def test_pools_reduce_every_window(op: str, reduce) -> None:
    result, (data,) = result_of(op)
    for b, c, i, j in product(range(2), range(3), range(2), range(3)):
        assert result[b, c, i, j] == pytest.approx(reduce(data[b, c, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]))


@pytest.mark.parametrize("points", [7, 25])
def test_stencil_weighs_its_star_and_sees_zero_outside(points: int) -> None:
    weights = [f"{index}.5" for index in range(points)]
    graph = single("stencil", *floats((3, 4, 9), points=points, coefficients=" ".join(weights)))
    values = numbers(graph)
    result, grid = evaluate(graph, values)["v0"], values["a"]
    offsets = stencil_offsets(points)
    assert len(set(offsets)) == points
    for cell in product(range(3), range(4), range(9)):
        total = 0.0
        for weight, offset in zip(weights, offsets, strict=True):
            at = tuple(c + o for c, o in zip(cell, offset, strict=True))
            inside = all(0 <= a < n for a, n in zip(at, grid.shape, strict=True))
            total += float(weight) * grid[at] if inside else 0.0
        assert result[cell] == pytest.approx(total)


def test_cross_entropy_is_minus_the_log_of_the_chosen_probability() -> None:
    (row,) = on("cross_entropy", [[log(1.0), log(3.0)]], [1])
    assert row == pytest.approx([log(4 / 3)])


def test_two_steps_of_adamw_match_the_published_algorithm() -> None:
    param, first, second = 1.0, 0.0, 0.0
    expected = param
    m = v = 0.0
    for step, gradient in ((1, 0.5), (2, -0.25)):
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        ((first,),) = on("adam_m", [[first]], [[gradient]], beta1="0.9")
        ((second,),) = on("adam_v", [[second]], [[gradient]], beta2="0.999")
        expected *= 1 - 0.001 * 0.01
        expected -= 0.001 * (m / (1 - 0.9**step)) / (sqrt(v / (1 - 0.999**step)) + 1e-8)
        ((param,),) = on("adamw_update", [[param]], [[first]], [[second]], [step], **ADAM)
    assert param == pytest.approx(expected, rel=1e-12)
    assert on("sgd_update", [1.0], [0.5], rate="0.1") == pytest.approx([0.95])


@pytest.mark.parametrize("step", [0, -1])
def test_adamw_refuses_a_step_that_is_none(step: int) -> None:
    with pytest.raises(GraphError) as caught:
        on("adamw_update", [1.0], [0.0], [0.0], [step], **ADAM)
    assert (caught.value.code, caught.value.message_de) == ("STEP", "Der Schritt des Optimierers zählt ab 1.")


@pytest.mark.parametrize(
    ("op", "ids"),
    [("embedding", [3]), ("embedding", [-1]), ("gather", [3]), ("one_hot", [3]), ("cross_entropy", [3])],
)
def test_an_index_outside_its_table_is_refused(op: str, ids: list[int]) -> None:
    arguments = {
        "one_hot": ([ids], {"depth": 3, "dtype": "float32"}),
        "cross_entropy": ([[[0.0] * 3], ids], {}),
    }
    arrays, attrs = arguments.get(op, ([[[0.0]] * 3, ids], {}))
    with pytest.raises(GraphError) as caught:
        on(op, *arrays, **attrs)
    assert (caught.value.code, caught.value.expected) == ("INDEX", "0..2")


@pytest.mark.parametrize("position", [-1, 3])
def test_a_position_outside_the_cache_is_refused(position: int) -> None:
    with pytest.raises(GraphError) as caught:
        on("cache_append", np.zeros((1, 3, 1)), [[1.0]], [position])
    assert caught.value.message_de == "Eine Position liegt außerhalb des Zwischenspeichers (0 bis 2)."


@pytest.mark.parametrize(
    "value",
    [None, np.zeros((2, 4)), np.zeros(3), np.zeros((0, 3)), np.zeros((2, 3), dtype=np.int32), np.float64(1)],
)
def test_values_that_are_missing_or_misshapen_are_refused(value: Array | None) -> None:
    graph = single("relu", [((None, 3), F32)], {})
    with pytest.raises(GraphError) as caught:
        evaluate(graph, {} if value is None else {"a": np.asarray(value)})
    assert caught.value.code == "VALUES"


def test_two_inputs_must_have_the_same_batch() -> None:
    graph = single("add", [((None, 3), F32), ((None, 3), F32)], {})
    assert evaluate(graph, {"a": np.ones((4, 3)), "b": np.ones((4, 3))})["v0"].shape == (4, 3)
    with pytest.raises(GraphError):
        evaluate(graph, {"a": np.ones((4, 3)), "b": np.ones((5, 3))})


def test_precision_is_the_one_asked_for_and_inputs_stay_as_they_were() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (None, 2), DType.FLOAT16)
    graph, _ = builder.build(builder.op("exp", x), x)
    data = np.ones((1, 2), dtype=np.float16)
    found = evaluate(graph, {"x": data}, dtype=np.float32)
    assert {array.dtype.name for array in found.values()} == {"float32"}
    assert data.dtype == np.float16
    assert list(found) == ["v0", "x"]
