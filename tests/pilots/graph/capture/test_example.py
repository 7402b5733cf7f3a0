"""Example and lineage of a capture: kept exactly, and refused where they do not belong to the graph."""

from __future__ import annotations

import gzip
import hashlib
import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.capture import Captured, CaptureError, Example, Lineage, from_bytes, to_bytes
from pilots.graph.capture.example import index_limits
from pilots.graph.decoder import decoder_graph
from pilots.graph.ir import DType, rounded
from pilots.graph.known_models import find
from qms.core import canonical
from tests.pilots.graph.capture.files import WHOLE, joined, parts, whole
from tests.pilots.graph.captures import CAPTURES, evaluated_example

F32, I32 = DType.FLOAT32, DType.INT32


def refused(data: bytes) -> CaptureError:
    with pytest.raises(CaptureError) as caught:
        from_bytes(data)
    assert caught.value.message_de.endswith(".")
    return caught.value


def unwritable(captured: Captured) -> CaptureError:
    with pytest.raises(CaptureError) as caught:
        to_bytes(captured)
    assert caught.value.message_de.endswith(".")
    return caught.value


@pytest.mark.parametrize("name", CAPTURES)
def test_example_and_lineage_are_kept_to_the_bit(name):
    captured = CAPTURES[name]()
    data = to_bytes(captured)
    found = from_bytes(data)
    assert found.lineage == captured.lineage
    assert found.example.inputs_sha256 == captured.example.inputs_sha256
    for own, again in (
        (captured.example.inputs, found.example.inputs),
        (captured.example.outputs, found.example.outputs),
    ):
        assert list(own) == list(again)
        assert all(np.array_equal(own[key], again[key]) and own[key].dtype == again[key].dtype for key in own)
    assert to_bytes(found) == data


def test_digest_of_the_file_with_an_example_is_fixed():
    assert (
        hashlib.sha256(WHOLE).hexdigest()
        == "50317905a44f16aea1ba620fb5a0c395ef1e6ad1b97252fc939271c4ad3b6d41"
    )


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BFLOAT16])
def test_short_floats_are_kept_rounded(dtype):
    on = GraphBuilder()
    graph, weights = on.build(on.op("square", on.input("x", (3,), dtype)))
    x = rounded(np.array([1.0, 2.5, -0.3], np.float32), dtype)
    example = evaluated_example(graph, weights, {"x": x})
    found = from_bytes(to_bytes(Captured(graph, weights, example=example)))
    assert np.array_equal(found.example.inputs["x"], x)
    beyond = np.full(3, 1.1 if dtype is DType.BFLOAT16 else np.inf, x.dtype)  # 1.1 is no bfloat16
    exact = Example({"x": beyond}, example.outputs)
    assert unwritable(Captured(graph, weights, example=exact)).code == "NOT_FINITE"


def test_one_digest_covers_names_shapes_types_and_numbers_but_no_order():
    a, b = np.arange(4, dtype=np.float32), np.arange(2, dtype=np.int32)
    digest = Example({"a": a, "b": b}, {}).inputs_sha256
    assert Example({"b": b, "a": a}, {"y": a}).inputs_sha256 == digest
    others = [
        {"a": a, "c": b},
        {"a": a.reshape(2, 2), "b": b},
        {"a": a.view(np.int32), "b": b},
        {"a": a + 1, "b": b},
        {"a": a},
    ]
    assert digest not in {Example(inputs, {}).inputs_sha256 for inputs in others}


def test_graph_known_by_shapes_alone_may_go_without_an_example():
    graph = decoder_graph(find("LLaMA3-8B"), phase="decode", batch=1, context=128)
    assert from_bytes(to_bytes(Captured(graph, {}, lineage=Lineage(seed="1")))).example is None


def test_value_that_is_output_twice_or_input_too_is_kept_once():
    on = GraphBuilder()
    x = on.input("x", (2,), F32)
    y = on.op("neg", x)
    graph, weights = on.build(y, x, y)
    captured = Captured(
        graph, weights, example=evaluated_example(graph, weights, {"x": np.ones(2, np.float32)})
    )
    assert list(from_bytes(to_bytes(captured)).example.outputs) == ["v0", "x"]


@pytest.mark.parametrize("samples", [1, 7])
def test_open_batch_may_have_any_size(samples):
    captured = whole()
    x = np.ones((samples, 3), np.float32)
    example = evaluated_example(captured.graph, captured.weights, {"x": x})
    found = from_bytes(to_bytes(replace(captured, example=example)))
    assert [item.shape for item in found.example.outputs.values()] == [(samples, 2)]


OUT = np.zeros((2, 2), np.float32)
IN = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("inputs", "outputs", "code", "named"),
    [
        ({}, {"v2": OUT}, "EXAMPLE_NAMES", "x"),
        ({"x": IN, "w": IN}, {"v2": OUT}, "EXAMPLE_NAMES", "w"),
        ({"x": IN}, {}, "EXAMPLE_NAMES", "v2"),
        ({"x": IN}, {"v1": OUT}, "EXAMPLE_NAMES", "v1"),
        ({"x": IN[:0]}, {"v2": OUT[:0]}, "EXAMPLE_SHAPE", "x"),
        ({"x": IN.T}, {"v2": OUT}, "EXAMPLE_SHAPE", "x"),
        ({"x": IN[0]}, {"v2": OUT}, "EXAMPLE_SHAPE", "x"),
        ({"x": np.float32(1)}, {"v2": OUT}, "EXAMPLE_SHAPE", "x"),
        ({"x": IN}, {"v2": OUT[:1]}, "EXAMPLE_SHAPE", "v2"),
        ({"x": IN.astype(np.float64)}, {"v2": OUT}, "EXAMPLE_SHAPE", "x"),
        ({"x": IN}, {"v2": OUT.astype(np.int32)}, "EXAMPLE_SHAPE", "v2"),
        ({"x": IN * np.float32(np.nan)}, {"v2": OUT}, "NOT_FINITE", "x"),
        ({"x": IN}, {"v2": OUT + np.float32(np.inf)}, "NOT_FINITE", "v2"),
    ],
)
def test_example_of_another_graph_is_not_written(inputs, outputs, code, named):
    error = unwritable(replace(whole(), example=Example(inputs, outputs)))
    assert error.code == code
    assert f" {named} " in error.message_de


def indexed(build, rows, dtype=I32):
    """Return a graph of `rows` indices and what `build` makes of them."""
    on = GraphBuilder()
    ids = on.input("ids", (rows,), dtype)
    return on.build(build(on, ids))


TABLE = np.ones((5, 4), np.float32)
INDEXED = {
    "embedding": lambda on, ids: on.op("embedding", on.constant("t", TABLE), ids),
    "gather": lambda on, ids: on.op("gather", on.constant("t", TABLE), ids),
    "moved": lambda on, ids: on.op(
        "gather", on.constant("t", TABLE), on.op("transpose", on.op("reshape", ids, shape=(1, 4)), order=(1, 0))
    ),
    "one_hot": lambda on, ids: on.op("one_hot", ids, depth=5, dtype="float32"),
    "cross_entropy": lambda on, ids: on.op("cross_entropy", on.constant("t", TABLE.T), ids),
    "scatter_add": lambda on, ids: on.op("scatter_add", on.constant("t", TABLE), ids, on.constant("u", TABLE[:4])),
    "cache_append": lambda on, ids: on.op(
        "cache_append", on.constant("c", np.ones((4, 5, 2), np.float32)), on.constant("n", TABLE[:4, :2]), ids
    ),
}  # fmt: skip


@pytest.mark.parametrize("op", INDEXED)
def test_index_is_inside_its_table_to_the_last_entry(op):
    graph, weights = indexed(INDEXED[op], 4)
    assert index_limits(graph) == {"ids": 5}
    example = evaluated_example(graph, weights, {"ids": np.array([0, 4, 1, 2], np.int32)})
    data = to_bytes(Captured(graph, weights, example=example))
    assert from_bytes(data).example is not None
    for wrong in (-1, 5):
        ids = np.array([0, wrong, 1, 2], np.int32)
        error = unwritable(Captured(graph, weights, example=Example({"ids": ids}, example.outputs)))
        assert error.code == "EXAMPLE_INDEX"
        assert "0 bis 4" in error.message_de


def test_smallest_table_of_several_decides():
    def build(on, ids):
        wide = on.op("embedding", on.constant("a", TABLE), ids)
        return on.op("add", wide, on.op("embedding", on.constant("b", TABLE[:3]), ids))

    assert index_limits(indexed(build, 4)[0]) == {"ids": 3}


def changed(change) -> bytes:
    graph, header, body = parts(WHOLE)
    new = change(graph, header, body)
    return joined(graph, header, body if new is None else new)


def entry(side, **fields):
    return lambda graph, header, body: graph["example"][side][0].update(fields)


def stored(name, **fields):
    return lambda graph, header, body: header[name].update(fields)


def lineage(**fields):
    return lambda graph, header, body: graph["lineage"].update(fields)


def dropped(*names):
    def change(graph, header, body):
        for name in names:
            header.pop(name)
        return body[: max(item["data_offsets"][1] for item in header.values())]

    return change


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (entry("inputs", name="y"), "EXAMPLE_NAMES"),
        (entry("inputs", name="@x"), "NAME"),
        (entry("inputs", shape=[3, 2]), "EXAMPLE_SHAPE"),
        (entry("inputs", shape=[None, 3]), "EXAMPLE_SHAPE"),
        (entry("inputs", dtype="int32"), "EXAMPLE_SHAPE"),
        (entry("inputs", sha256="0" * 64), "EXAMPLE_HASH"),
        (entry("outputs", sha256=""), "EXAMPLE_HASH"),
        (entry("outputs", more=1), "FIELD"),
        (lambda graph, header, body: graph["example"].update(inputs_sha256="0" * 64), "DATA_HASH"),
        (lambda graph, header, body: graph["example"].update(inputs_sha256=None), "DATA_HASH"),
        (lambda graph, header, body: graph["example"].update(inputs=[]), "EXAMPLE_NAMES"),
        (lambda graph, header, body: graph["example"].update(outputs={}), "FIELD"),
        (lambda graph, header, body: graph["example"]["inputs"].extend([{}] * 20_001), "LIMIT"),
        (lambda graph, header, body: graph.update(example=None), "EXAMPLE_NAMES"),
        (lambda graph, header, body: graph.update(example=[]), "FIELD"),
        (lambda graph, header, body: graph.pop("example") and None, "FIELD"),
        (lambda graph, header, body: graph.pop("lineage") and None, "FIELD"),
        (dropped("@out.0"), "EXAMPLE_NAMES"),
        (dropped("@out.0", "@in.0"), "EXAMPLE_NAMES"),
        (stored("@in.0", shape=[3, 2]), "EXAMPLE_SHAPE"),
        (stored("@in.0", shape=[2**40]), "LIMIT"),
        (stored("@in.0", dtype="I32"), "EXAMPLE_SHAPE"),
        (stored("@in.0", data_offsets=[0, 24]), "OFFSETS"),
        (lambda graph, header, body: header.update({"@in.1": header.pop("@in.0")}), "EXAMPLE_NAMES"),
        (lambda graph, header, body: body[:-4] + b"\0\0\xc0\x7f", "NOT_FINITE"),
        (lambda graph, header, body: body[:-1] + b"\xc1", "EXAMPLE_HASH"),
        (lineage(commit=1), "FIELD"),
        (lineage(commit="a\nb"), "FIELD"),
        (lineage(commit="a" * 201), "FIELD"),
        (lineage(data_sha256="AB"), "FIELD"),
        (lineage(more=""), "FIELD"),
        (lineage(environment={}), "FIELD"),
        (lineage(environment=[["a"]]), "FIELD"),
        (lineage(environment=[["b", "1"], ["a", "1"]]), "FIELD"),
        (lineage(environment=[["a", "1"], ["a", "2"]]), "FIELD"),
        (lineage(environment=[["a", 1]]), "FIELD"),
        (lineage(environment=[[f"a{index:02}", ""] for index in range(33)]), "LIMIT"),
    ],
)  # fmt: skip
def test_hostile_example_or_lineage_gives_one_sentence(change, code):
    assert refused(changed(change)).code == code


def test_lineage_holds_to_the_limits():
    pairs = tuple((f"a{index:02}", "1" * 200) for index in range(32))
    longest = Lineage("c" * 200, "0" * 64, "s" * 200, "r" * 200, pairs)
    assert from_bytes(to_bytes(replace(whole(), lineage=longest))).lineage == longest
    assert unwritable(replace(whole(), lineage=replace(longest, seed="s" * 201))).code == "FIELD"
    assert unwritable(replace(whole(), lineage=replace(longest, environment=pairs[::-1]))).code == "FIELD"
    assert longest.open_links == ()
    assert Lineage(seed="1").open_links == ("commit", "data_sha256", "registry", "environment")


def test_arrays_of_an_example_stand_after_the_weights_in_the_order_of_the_graph():
    graph, header, body = parts(WHOLE)
    sizes = {name: item["data_offsets"][1] - item["data_offsets"][0] for name, item in header.items()}
    pieces = {name: body[item["data_offsets"][0] : item["data_offsets"][1]] for name, item in header.items()}
    start = 0
    for name in ("@in.0", "w", "b", "@out.0"):
        header[name]["data_offsets"] = [start, start + sizes[name]]
        start += sizes[name]
    mixed = b"".join(pieces[name] for name in ("@in.0", "w", "b", "@out.0"))
    assert refused(joined(graph, header, mixed)).code == "ORDER"


def test_file_packed_by_another_program_is_no_capture():
    assert refused(gzip.compress(WHOLE)).code == "MAGIC"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("model.wgraph", WHOLE)
    assert refused(packed.getvalue()).code == "MAGIC"


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"1e3", b"9" * 5000, b"9007199254740993"])
def test_numbers_json_should_not_have_are_refused(number):
    graph, header, body = parts(WHOLE)
    text = canonical.dumps(graph).replace(b'"seed":"7"', b'"seed":' + number)
    assert refused(joined(text, header, body)).code == "NOT_JSON"
