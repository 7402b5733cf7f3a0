from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pilots.graph.attributes import Given
from pilots.graph.ir import DType
from pilots.graph.ops import OPS
from pilots.graph.rng import uniform, words
from pilots.graph.twins import TWINS
from pilots.wafer.errors import RequestError, UnsupportedOps
from pilots.wafer.functional.counting import multiply_adds_of
from pilots.wafer.handlers import attention as attention_handlers
from pilots.wafer.handlers import grids
from pilots.wafer.handlers.base import decimal, number, numbers, text
from pilots.wafer.handlers.rows import frequencies
from pilots.wafer.handlers.table import HANDLERS, apply, require_handlers
from pilots.wafer.lowering import KERNEL_OF, PRODUCT_OPS
from pilots.wafer.numerics import narrowed
from pilots.wafer.program import PRODUCTS, Kernel
from qms.core import canonical
from tests.pilots.graph.samples import ADAM, BOOL, F32, I32, SAMPLES, Sample, floats
from tests.pilots.wafer.hand_built import call, program

TOLERANCES = {DType.FLOAT32: 1e-5, DType.FLOAT16: 1e-2, DType.BFLOAT16: 1e-2}
POSITIVE = {"log", "sqrt", "rsqrt", "reciprocal", "div", "adam_v", "adamw_update"}
WIDE_HEADS = {"heads": 6, "kv_heads": 3, "head_dim": 5}
ODD: list[tuple[str, Sample]] = [
    *((op, floats((1, 1), (1, 1))) for op in ("add", "div", "maximum", "equal")),
    *(
        (op, floats((1, 1)))
        for op in ("softmax", "log_softmax", "reduce_sum", "reduce_mean", "argmax", "neg")
    ),
    *(
        (op, floats((7, 13)))
        for op in ("softmax", "log_softmax", "reduce_sum", "reduce_mean", "argmax", "gelu")
    ),
    *((op, floats((3, 1))) for op in ("reduce_max", "reduce_min", "sin", "cos", "exp")),
    ("add", floats((5, 7), (5, 1))),
    ("matmul", floats((1, 1), (1, 1))),
    ("matmul", floats((1, 2), (2, 13))),
    ("matmul", floats((11, 17), (13, 17), transposed=1)),
    ("batch_matmul", floats((3, 1, 2), (3, 2, 7))),
    ("layer_norm", floats((2, 13), (13,), (13,), epsilon="0.00001")),
    ("layer_norm", floats((2, 1), (1,), (1,), epsilon="0.1")),
    ("rms_norm", floats((5, 17), (17,), epsilon="0.000001")),
    ("transpose", floats((3, 5))),
    ("slice", floats((3, 5, 2), axis=0, start=2, stop=3)),
    ("concat", floats((2, 3), (5, 3), axis=0)),
    ("cast", floats((3, 5), dtype="int32")),
    ("cast", ([((3, 5), I32)], {"dtype": "float16"})),
    ("add", ([((3, 5), I32), ((5,), I32)], {})),
    ("maximum", ([((3, 5), I32), ((5,), I32)], {})),
    ("square", ([((3, 5), I32)], {})),
    ("where", ([((3, 5), BOOL), ((3, 5), I32), ((3, 5), I32)], {})),
    ("rope", ([((5, 24), F32), ((5,), I32)], {"heads": 3, "head_dim": 8, "theta": 500, "rotary_dim": 6})),
    ("rope", ([((5, 24), F32), ((5,), I32)], {"heads": 3, "head_dim": 8, "theta": 500, "interleaved": 1})),
    ("attention", floats((7, 30), (7, 15), (7, 15), batch=1, causal=0, **WIDE_HEADS)),
    ("attention", floats((14, 30), (14, 15), (14, 15), batch=2, causal=1, window=3, **WIDE_HEADS)),
    ("attention", floats((14, 30), (14, 15), (14, 15), batch=2, causal=0, window=2, **WIDE_HEADS)),
    ("attention", floats((1, 4), (1, 4), (1, 4), batch=1, causal=1, heads=1, kv_heads=1, head_dim=4)),
    (
        "attention_cached",
        ([((2, 30), F32), ((2, 7, 15), F32), ((2, 7, 15), F32), ((2,), I32)], WIDE_HEADS | {"window": 2}),
    ),
    ("top_k_gate", floats((7, 5), k=5)),
    ("top_k_gate", floats((7, 1), k=1)),
    ("expert_ffn", floats((5, 7), (5, 3), (3, 7, 11), (3, 7, 11), (3, 11, 7), k=2, activation="gelu")),
    ("expert_ffn", floats((5, 7), (5, 3), (3, 7, 11), (3, 7, 11), (3, 11, 7), k=2, activation="relu")),
    ("conv2d", floats((1, 1, 1, 1), (1, 1, 1, 1), stride=1, padding=0)),
    ("conv2d", floats((3, 2, 7, 5), (5, 2, 3, 3), stride=1, padding=2)),
    ("max_pool2d", floats((1, 2, 4, 6), size=2, stride=2)),
    ("avg_pool2d", floats((1, 2, 7, 7), size=1, stride=3)),
    ("stencil", floats((1, 1, 1), points=7, coefficients="1 2 3 4 5 6 7")),
    ("stencil", floats((5, 7, 3), points=25, coefficients=" ".join(f"{i / 8}" for i in range(-12, 13)))),
    ("cross_entropy", ([((3, 11), F32), ((3,), I32)], {})),
    ("adamw_update", ([((3, 5), F32)] * 3 + [((1,), I32)], ADAM | {"weight_decay": "0"})),
]
CASES = [*SAMPLES.items(), *ODD]
IDS = [f"{index}-{op}" for index, (op, _) in enumerate(CASES)]


def kernels(op: str) -> tuple[Kernel, ...]:
    return tuple(PRODUCTS) if op in PRODUCT_OPS else tuple(kernel for kernel, name in HANDLERS if name == op)


def inputs_of(op: str, sample: Sample, dtype: DType) -> tuple[Any, ...]:
    """Return seeded inputs: numbers of `dtype` over +-2 (above zero where needed), indices 1 and 2, flags."""
    found = []
    for index, (shape, kind) in enumerate(sample[0]):
        values = uniform(5, f"{op} {index}", shape, 2.0)
        whole = words(5, f"{op} {index}", values.size).reshape(shape)
        if kind.is_float:
            values = np.abs(values) + np.float32(0.125) if op in POSITIVE else values
            found.append(narrowed(values, dtype))
        else:
            found.append(whole % 2 == 0 if kind is BOOL else (whole % 2 + 1).astype(np.int32))
    if op == "expert_ffn":
        found[1] = found[1] * (words(6, "gates", found[1].size).reshape(found[1].shape) % 2)
        found[1] = found[1].astype(np.float32)
    return tuple(found)


def in_double(inputs: tuple[Any, ...]) -> list[Any]:
    return [item.astype({"f": np.float64, "b": np.bool_}.get(item.dtype.kind, np.int64)) for item in inputs]


def applied(op: str, sample: Sample, dtype: DType, inputs: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the result of every kernel that knows the operation."""
    for kernel in kernels(op):
        made = call(kernel, op, tuple("abcdef"[: len(inputs)]), tile=(4, 3, 5), attrs=sample[1])
        yield made, apply(made, inputs, dtype)


def test_every_operation_has_a_handler_under_the_kernel_the_compiler_gives_it() -> None:
    assert {op for _, op in HANDLERS} == set(OPS)
    assert {(kernel, op) for op, kernel in KERNEL_OF.items()} <= set(HANDLERS)


def test_a_call_without_a_handler_is_named_and_nothing_falls_back() -> None:
    made = program(
        call(Kernel.ELEMENTWISE, "relu", output="a"),
        call(Kernel.ELEMENTWISE, "fft", ("a",), "b"),
        call(Kernel.REDUCE, "relu", ("b",), "y"),
    )
    with pytest.raises(UnsupportedOps) as caught:
        require_handlers(made)
    assert caught.value.ops == (("fft (ELEMENTWISE)", "call 1"), ("relu (REDUCE)", "call 2"))
    assert "fft (ELEMENTWISE) (call 1)" in caught.value.message_de


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("op", "sample"), CASES, ids=IDS)
def test_result_agrees_with_the_double_precision_twin(op: str, sample: Sample, dtype: DType) -> None:
    inputs = inputs_of(op, sample, dtype)
    with np.errstate(all="ignore"):
        twin = TWINS[op](in_double(inputs), Given(sample[1]))
    for made, result in applied(op, sample, dtype, inputs):
        assert result.shape == twin.shape
        assert result.dtype == (
            np.bool_ if twin.dtype == bool else np.int32 if twin.dtype.kind == "i" else np.float32
        )
        if twin.dtype.kind != "f":
            assert np.array_equal(result, twin)
        else:
            assert np.max(np.abs(result - twin)) <= TOLERANCES[dtype] * np.max(np.abs(twin)), made.kernel
            assert np.array_equal(result, narrowed(result, dtype))


FLOATING = [(op, sample) for op, sample in CASES if sample[0][0][1].is_float and op not in {"cast", "argmax"}]
LEAKS = {
    "attention",
    "attention_cached",
    "expert_ffn",
}  # the twin touches what the handler does not; tested below


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("op", "sample"), FLOATING, ids=[f"{i}-{op}" for i, (op, _) in enumerate(FLOATING)])
def test_what_is_not_finite_flows_through_without_a_warning(op: str, sample: Sample, value: float) -> None:
    inputs = inputs_of(op, sample, DType.FLOAT32)
    inputs[0].reshape(-1)[-1] = value
    with np.errstate(all="ignore"):
        twin = TWINS[op](in_double(inputs), Given(sample[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _, result in applied(op, sample, DType.FLOAT32, inputs):
            if op not in LEAKS:
                assert np.array_equal(np.isnan(result), np.isnan(twin))
                known = ~np.isnan(twin)
                assert np.allclose(result[known], twin[known], rtol=1e-4, atol=1e-5)


def test_cast_to_whole_numbers_is_defined_for_every_number() -> None:
    made = call(Kernel.ELEMENTWISE, "cast", attrs={"dtype": "int32"})
    x = np.array([1.9, -1.9, np.nan, np.inf, -np.inf, 3e9, -0.0], dtype=np.float32)
    expected = [1, -1, 0, 2**31 - 1, -(2**31), 2**31 - 1, 0]
    assert apply(made, (x,), DType.FLOAT32).tolist() == expected
    flags = call(Kernel.ELEMENTWISE, "cast", attrs={"dtype": "bool"})
    assert apply(flags, (x,), DType.FLOAT32).tolist() == [True] * 6 + [False]
    whole = np.array([7, -3], dtype=np.int32)
    assert apply(made, (whole,), DType.FLOAT32).tolist() == [7, -3]


def test_argmax_takes_the_lowest_of_equal_ones() -> None:
    made = call(Kernel.REDUCE, "argmax")
    x = np.array([[1, 3, 3], [np.nan, 5, np.nan], [-np.inf] * 3], dtype=np.float32)
    assert apply(made, (x,), DType.FLOAT32).tolist() == [[1], [0], [0]]


def test_gate_prefers_the_first_of_equal_logits() -> None:
    made = call(Kernel.ELEMENTWISE, "top_k_gate", attrs={"k": 2})
    gates = apply(made, (np.array([[1, 2, 2, 2]], dtype=np.float32),), DType.FLOAT32)
    assert gates.tolist() == [[0, 0.5, 0.5, 0]]


@pytest.mark.parametrize("op", ["gather", "embedding", "one_hot", "scatter_add", "cross_entropy"])
@pytest.mark.parametrize("wrong", [-1, 99])
def test_index_outside_its_table_is_refused(op: str, wrong: int) -> None:
    sample = SAMPLES[op]
    inputs = list(inputs_of(op, sample, DType.FLOAT32))
    index = next(i for i, (_, kind) in enumerate(sample[0]) if kind is I32)
    inputs[index].reshape(-1)[-1] = wrong
    with pytest.raises(RequestError, match=f"index {wrong}") as caught:
        list(applied(op, sample, DType.FLOAT32, tuple(inputs)))
    assert caught.value.message_de.endswith(".")


@pytest.mark.parametrize("op", ["cache_append", "attention_cached"])
@pytest.mark.parametrize("wrong", [-1, 3])
def test_position_outside_the_cache_is_refused(op: str, wrong: int) -> None:
    inputs = inputs_of(op, SAMPLES[op], DType.FLOAT32)
    inputs[-1][1] = wrong
    with pytest.raises(RequestError, match=f"position {wrong}"):
        list(applied(op, SAMPLES[op], DType.FLOAT32, inputs))


def test_attention_never_sees_later_tokens() -> None:
    attrs = {"batch": 1, "causal": 1, "heads": 2, "kv_heads": 1, "head_dim": 4}
    sample = floats((5, 8), (5, 4), (5, 4), **attrs)
    inputs = inputs_of("attention", sample, DType.FLOAT32)
    ((_, whole),) = applied("attention", sample, DType.FLOAT32, inputs)
    inputs[1][3:], inputs[2][3:] = np.nan, np.inf
    ((_, spoilt),) = applied("attention", sample, DType.FLOAT32, inputs)
    assert np.array_equal(whole[:3], spoilt[:3])
    assert not np.isfinite(spoilt[3:]).any()


@pytest.mark.parametrize("positions", [(0, 0), (2, 5), (6, 1)])
def test_attention_over_a_cache_sees_its_position_and_nothing_behind(positions: tuple[int, int]) -> None:
    op, (shapes, attrs) = next(case for case in ODD if case[0] == "attention_cached")
    sample = (shapes, {name: value for name, value in attrs.items() if name != "window"})
    inputs = inputs_of(op, sample, DType.FLOAT32)
    inputs[3][:] = positions
    ((_, whole),) = applied(op, sample, DType.FLOAT32, inputs)
    twin = TWINS[op](in_double(inputs), Given(sample[1]))
    assert np.max(np.abs(whole - twin)) < 1e-5
    for item, position in enumerate(positions):
        inputs[1][item, position + 1 :], inputs[2][item, position + 1 :] = np.nan, np.inf
    ((_, spoilt),) = applied(op, sample, DType.FLOAT32, inputs)
    assert np.array_equal(whole, spoilt)


def test_attention_over_a_cache_equals_attention_over_the_sequence() -> None:
    """The last token of a causal sequence sees what a query sees over a full cache, in the same order."""
    heads = {"heads": 4, "kv_heads": 2, "head_dim": 6}
    sample = floats((9, 24), (9, 12), (9, 12), batch=1, causal=1, **heads)
    query, keys, values = inputs_of("attention", sample, DType.FLOAT32)
    ((_, whole),) = applied("attention", sample, DType.FLOAT32, (query, keys, values))
    padded = [np.pad(item, ((0, 4), (0, 0)))[None] for item in (keys, values)]
    inputs = (query[-1:], *padded, np.array([8], dtype=np.int32))
    ((_, cached),) = applied("attention_cached", ([], heads), DType.FLOAT32, inputs)
    assert np.array_equal(whole[-1:], cached)


def test_attention_does_not_depend_on_its_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = floats((14, 30), (14, 15), (14, 15), batch=2, causal=1, **WIDE_HEADS)
    inputs = inputs_of("attention", sample, DType.FLOAT32)
    ((_, whole),) = applied("attention", sample, DType.FLOAT32, inputs)
    for size in (1, 20, 100):
        monkeypatch.setattr(attention_handlers, "SCORES", size)
        ((_, again),) = applied("attention", sample, DType.FLOAT32, inputs)
        assert np.array_equal(whole, again)


def test_convolution_does_not_depend_on_its_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = inputs_of("conv2d", SAMPLES["conv2d"], DType.FLOAT32)
    ((_, whole),) = applied("conv2d", SAMPLES["conv2d"], DType.FLOAT32, inputs)
    monkeypatch.setattr(grids, "MAX_WINDOWS", 1)
    ((_, again),) = applied("conv2d", SAMPLES["conv2d"], DType.FLOAT32, inputs)
    assert np.array_equal(whole, again)


def test_cache_append_leaves_its_input_alone() -> None:
    cache, new, position = inputs_of("cache_append", SAMPLES["cache_append"], DType.FLOAT32)
    before = cache.copy()
    made = call(Kernel.CACHE_APPEND, "cache_append")
    after = apply(made, (cache, new, position), DType.FLOAT32)
    assert np.array_equal(cache, before)
    assert [np.array_equal(after[i, position[i]], new[i]) for i in range(2)] == [True, True]


def test_only_chosen_experts_are_computed() -> None:
    sample = SAMPLES["expert_ffn"]
    x, gates, w_gate, w_up, w_down = inputs_of("expert_ffn", sample, DType.FLOAT32)
    gates[:] = [[0.5, 0], [1, 0], [0, 0]]
    w_gate[1] = np.nan
    ((made, result),) = applied("expert_ffn", sample, DType.FLOAT32, (x, gates, w_gate, w_up, w_down))
    assert np.isfinite(result).all()
    assert not result[2].any()
    assert multiply_adds_of(made, (x, gates, w_gate, w_up, w_down), result) == 2 * 3 * 4 * 5


def test_sums_follow_the_tile_of_the_call() -> None:
    x = uniform(5, "order", (1, 64), 3.0)
    ones = np.ones(64, dtype=np.float32)
    for op, kernel, inputs, attrs in (
        ("reduce_sum", Kernel.REDUCE, (x,), {}),
        ("softmax", Kernel.SOFTMAX, (x,), {}),
        ("rms_norm", Kernel.NORM, (x, ones), {"epsilon": "0.00001"}),
        ("layer_norm", Kernel.NORM, (x, ones, ones), {"epsilon": "0.00001"}),
    ):
        results = {
            apply(call(kernel, op, tile=(1, tile), attrs=attrs), inputs, DType.FLOAT32).tobytes()
            for tile in (1, 4, 8, 16, 64)
        }
        assert len(results) > 1, op


def test_rms_norm_equals_the_scalar_loop() -> None:
    x, weight = uniform(5, "x", (2, 11)), uniform(5, "w", (11,))
    made = call(Kernel.NORM, "rms_norm", tile=(2, 4), attrs={"epsilon": "0.00001"})
    result = apply(made, (x, weight), DType.FLOAT32)
    for row, ours in zip(x, result, strict=True):
        total = None
        for start in range(0, 11, 4):
            part = np.float32(0)
            for value in row[start : start + 4]:
                part = np.float32(part + np.float32(value * value))
            total = part if total is None else np.float32(total + part)
        root = np.float32(
            np.float32(1) / np.sqrt(np.float32(np.float32(total / np.float32(11)) + np.float32("0.00001")))
        )
        assert ours.tolist() == [
            np.float32(np.float32(value * root) * w) for value, w in zip(row, weight, strict=True)
        ]


@pytest.mark.parametrize(("theta", "width"), [(10_000, 2), (10_000, 128), (500_000, 96), (1, 6)])
def test_frequencies_are_correct_in_double_precision(theta: int, width: int) -> None:
    twin = float(theta) ** (-np.arange(0, width, 2) / width)
    assert np.max(np.abs(frequencies(theta, width) - twin) / twin) < 1e-14


def test_rope_is_correct_at_long_positions() -> None:
    sample: Sample = ([((2, 128), F32), ((2,), I32)], {"heads": 1, "head_dim": 128, "theta": 10_000})
    x, positions = inputs_of("rope", sample, DType.FLOAT32)
    positions[:] = (99_999, 131_071)
    ((_, result),) = applied("rope", sample, DType.FLOAT32, (x, positions))
    assert np.max(np.abs(result - TWINS["rope"](in_double((x, positions)), Given(sample[1])))) < 1e-6


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("window", [None, 1, 2, 5, 9])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_attention_is_counted_pair_by_pair(causal: int, window: int | None, length: int) -> None:
    attrs = {"batch": 2, "causal": causal, **WIDE_HEADS} | ({} if window is None else {"window": window})
    near = length if window is None else window
    pairs = sum(abs(i - j) < near and (not causal or j <= i) for i in range(length) for j in range(length))
    made = call(Kernel.ATTENTION, "attention", attrs=attrs)
    query = np.zeros((2 * length, 30), dtype=np.float32)
    assert multiply_adds_of(made, (query,), query) == 2 * 2 * pairs * 6 * 5


def test_multiply_adds_are_counted_from_what_was_done() -> None:
    counted = {}
    for op in ("matmul", "batch_matmul", "attention_cached", "conv2d", "stencil", "max_pool2d", "softmax"):
        inputs = inputs_of(op, SAMPLES[op], DType.FLOAT32)
        for made, result in applied(op, SAMPLES[op], DType.FLOAT32, inputs):
            counted[op] = multiply_adds_of(made, inputs, result)
    positions = inputs_of("attention_cached", SAMPLES["attention_cached"], DType.FLOAT32)[3]
    assert counted == {
        "matmul": 3 * 5 * 7,
        "batch_matmul": 2 * 3 * 5 * 7,
        "attention_cached": 2 * int((positions + 1).sum()) * 4 * 6,
        "conv2d": 2 * 4 * 3 * 4 * (3 * 3 * 2),
        "stencil": 3 * 4 * 5 * 7,
        "max_pool2d": 0,
        "softmax": 0,
    }


def handler_digests() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for op, sample in CASES:
        inputs = inputs_of(op, sample, DType.FLOAT32)
        for made, result in applied(op, sample, DType.FLOAT32, inputs):
            digest = canonical.sha256_hex(np.ascontiguousarray(result).tobytes())
            found.setdefault(f"{op} {made.kernel}", []).append(digest[:16])
    return found


def test_bits_of_every_handler_are_the_recorded_ones() -> None:
    """Bits never change by accident: another order, polynomial or rounding shows here."""
    recorded = json.loads((Path(__file__).parent / "golden_functional.json").read_text(encoding="utf-8"))
    assert handler_digests() == recorded["handlers"]


def test_attributes_are_read_by_their_kind() -> None:
    made = call(Kernel.MOVE, "reshape", attrs={"shape": (2, 3), "size": 4, "name": "a", "rate": "0.5"})
    assert (number(made, "size"), numbers(made, "shape"), numbers(made, "size")) == (4, (2, 3), (4,))
    assert (text(made, "name"), decimal(made, "rate"), decimal(made, "size")) == ("a", 0.5, 4)
    assert (number(made, "absent", 7), text(made, "absent", "b"), numbers(made, "absent", (1,))) == (
        7,
        "b",
        (1,),
    )
    for read, name in ((number, "name"), (text, "size"), (numbers, "name"), (decimal, "shape")):
        with pytest.raises(TypeError, match=name):
            read(made, name)
        with pytest.raises(KeyError):
            read(made, "absent")
