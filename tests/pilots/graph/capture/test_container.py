from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.capture import Captured, CaptureError, from_bytes, read, to_bytes
from pilots.graph.capture.limits import LIMITS, Limit
from pilots.graph.decoder import decoder_graph
from pilots.graph.ir import DType, model_digest
from pilots.graph.known_models import find
from pilots.graph.mlp import mlp_from_text
from pilots.graph.trail import Adaptation, Trail
from qms.core import canonical
from tests.pilots.graph.capture.files import SMALL, WHOLE, joined, parts, small


def refused(data: bytes) -> CaptureError:
    with pytest.raises(CaptureError) as caught:
        from_bytes(data)
    sentence = caught.value.message_de
    assert sentence.endswith(".")
    assert sentence[0].isupper()
    assert len(sentence) < 500
    return caught.value


def changed(part: str, **fields) -> bytes:
    graph, header, body = parts(SMALL)
    target = {"graph": graph, "w": header["w"], "x": graph["inputs"][0], "c": graph["constants"][0]}
    target |= {"node": graph["nodes"][0], "row": graph["trail"]["rows"][0], "scale": graph["nodes"][2]}
    target[part].update(fields)
    return joined(graph, header, body)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_round_trip_is_exact_and_the_file_is_always_the_same(dtype, tmp_path):
    graph, weights = mlp_from_text("8-16-4", dtype=dtype)
    data = to_bytes(Captured(graph, weights))
    path = tmp_path / "model.wgraph"
    path.write_bytes(data)
    found = read(path)
    assert found.graph == graph
    assert found.trail == Trail()
    assert list(found.weights) == list(weights)
    assert all(np.array_equal(found.weights[name], weights[name]) for name in weights)
    assert to_bytes(found) == data


def test_digest_of_the_file_is_fixed():
    assert (
        hashlib.sha256(SMALL).hexdigest()
        == "b04415143469266137b55e0e4b3554efd49ed0f5cbe85c575480d9e8311370c1"
    )
    assert from_bytes(SMALL).trail == small().trail
    assert np.signbit(from_bytes(SMALL).weights["b"][1])


def test_whole_numbers_and_flags_are_kept():
    builder = GraphBuilder()
    x = builder.input("x", (3,), DType.FLOAT32)
    ids = builder.constant("ids", np.array([2, 0, -1], dtype=np.int32))
    mask = builder.constant("mask", np.array([True, False, True]))
    graph, weights = builder.build(builder.op("where", mask, x, builder.op("cast", ids, dtype="float32")))
    found = from_bytes(to_bytes(Captured(graph, weights)))
    assert found.graph == graph
    assert found.weights["ids"].tolist() == [2, 0, -1]
    assert found.weights["mask"].tolist() == [True, False, True]


def test_graph_known_by_shapes_alone_has_no_weights():
    graph = decoder_graph(find("LLaMA3-8B"), phase="decode", batch=1, context=128)
    found = from_bytes(to_bytes(Captured(graph, {})))
    assert found.graph == graph
    assert found.weights == {}


@pytest.mark.parametrize("size", range(0, len(WHOLE), 7))
def test_truncated_file_is_refused(size):
    refused(WHOLE[:size])


@pytest.mark.parametrize("place", range(0, len(WHOLE), 5))
def test_every_changed_byte_is_noticed(place):
    data = bytearray(WHOLE)
    data[place] ^= 0x20
    refused(bytes(data))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "MAGIC"),
        (b"PK\x03\x04" + SMALL, "MAGIC"),
        (SMALL + b"\0", "TRAILING"),
        (SMALL[:8] + (2**63).to_bytes(8, "little") + SMALL[16:], "LIMIT"),
        (SMALL[:16] + bytes(32) + SMALL[48:], "GRAPH_HASH"),
        (joined(b"{", {}, b""), "NOT_JSON"),
        (joined(b'{"a":1,"a":1}', {}, b""), "NOT_JSON"),
        (joined(b"[" * 100_000, {}, b""), "NOT_JSON"),
        (joined(b"1" * 100_000, {}, b""), "NOT_JSON"),
        (joined(b'{"a":1.5}', {}, b""), "NOT_JSON"),
        (joined(b'{ "a":1}', {}, b""), "NOT_CANONICAL"),
        (joined({"format": "wgraph-1"}, {}, b""), "FIELD"),
        (joined([], {}, b""), "FIELD"),
        (changed("graph", format="wgraph-9"), "FORMAT"),
        (changed("graph", model_digest="0" * 64), "DIGEST"),
        (changed("graph", extra=1), "FIELD"),
        (changed("graph", nodes={}), "FIELD"),
        (changed("graph", outputs=[]), "GRAPH"),
        (changed("graph", outputs=["nowhere"]), "GRAPH"),
        (changed("graph", outputs=[1]), "NAME"),
        (changed("graph", recipe=[["a", 1.0 and 1, 2]]), "FIELD"),
        (changed("x", shape=[3, None]), "DYNAMIC"),
        (changed("x", shape=[0]), "SHAPE"),
        (changed("x", shape=[True]), "SHAPE"),
        (changed("x", shape=[1] * 9), "LIMIT"),
        (changed("x", shape=[2**50]), "GRAPH"),
        (changed("x", dtype="float64"), "DTYPE"),
        (changed("x", dtype=[]), "DTYPE"),
        (changed("x", name="a b"), "NAME"),
        (changed("x", name="a" * 201), "LIMIT"),
        (changed("x", name="w"), "GRAPH"),
        (changed("c", shape=[None, 2]), "DYNAMIC"),
        (changed("c", sha256="ABC"), "FIELD"),
        (changed("c", sha256="0" * 64), "DIGEST"),
        (changed("c", sha256=""), "WEIGHTS"),
        (changed("c", shape=[2, 3]), "GRAPH"),
        (changed("node", op="eval"), "GRAPH"),
        (changed("node", op=7), "FIELD"),
        (changed("node", op="a" * 50_000), "GRAPH"),
        (changed("node", op="a\nb"), "GRAPH"),
        (changed("node", attrs={"a" * 50_000: 1}), "GRAPH"),
        (changed("node", attrs={"transposed": "\t" * 50_000}), "GRAPH"),
        (changed("node", attrs={"name": "v9"}), "FIELD"),
        (changed("node", attrs={"order": [[1]]}), "GRAPH"),
        (changed("node", attrs={"transposed": [1]}), "GRAPH"),
        (changed("scale", attrs={"factor": "1e9"}), "GRAPH"),
        (changed("scale", attrs={"factor": {"a": {}}}), "GRAPH"),
        (changed("node", **{"in": ["x", "later"]}), "GRAPH"),
        (changed("node", **{"in": ["x"] * 1025}), "LIMIT"),
        (changed("node", out="x"), "GRAPH"),
        (changed("row", custom=1), "FIELD"),
        (changed("row", place="a\nb"), "FIELD"),
        (changed("row", op="a" * 301), "FIELD"),
        (changed("w", dtype="F64"), "DTYPE"),
        (changed("w", dtype=["F32"]), "DTYPE"),
        (changed("w", shape=[]), "SHAPE"),
        (changed("w", shape=[6, 0]), "SHAPE"),
        (changed("w", shape=[1] * 9), "LIMIT"),
        (changed("w", shape=[2**40, 2**40]), "LIMIT"),
        (changed("w", shape=[3, 3]), "LENGTH"),
        (changed("w", shape=[2, 3]), "WEIGHTS"),
        (changed("w", dtype="I32"), "WEIGHTS"),
        (changed("w", data_offsets=[0, 2**52]), "LENGTH"),
        (changed("w", data_offsets=[8, 32]), "OFFSETS"),
        (changed("w", data_offsets=[24, 0]), "ENTRY"),
        (changed("w", data_offsets=[0, 24, 24]), "ENTRY"),
        (changed("w", data_offsets=[0, True]), "ENTRY"),
        (changed("w", more=1), "ENTRY"),
    ],
)  # fmt: skip
def test_hostile_file_gives_one_sentence(data, code):
    assert refused(data).code == code


@pytest.mark.parametrize("size", [1, 4, 33, len(SMALL) // 2, 47, 49])
def test_file_that_was_not_copied_as_a_whole_says_so(size):
    assert refused(SMALL[:-size]).code == "TRUNCATED"
    assert refused(SMALL[:-1]).message_de == "Die Datei ist unvollständig; bitte neu übertragen."


def test_adaptations_are_kept_and_have_two_texts():
    adapted = (Adaptation("ids", "int64 wird als int32 geführt."), Adaptation("Modul", "Auswertungsmodus."))
    found = replace(small(), trail=replace(small().trail, adaptations=adapted))
    assert from_bytes(to_bytes(found)).trail == found.trail
    graph, header, body = parts(SMALL)
    for wrong in ([{"what": "ids"}], [{"what": "ids", "reason": 1}], ["ids"], {}):
        graph["trail"]["adaptations"] = wrong
        assert refused(joined(graph, header, body)).code


def test_offsets_may_neither_overlap_nor_leave_a_gap():
    graph, header, body = parts(SMALL)
    header["b"]["data_offsets"] = [20, 28]
    assert refused(joined(graph, header, body)).code == "OFFSETS"
    header["b"]["data_offsets"] = [28, 36]
    assert refused(joined(graph, header, body + bytes(4))).code == "OFFSETS"


def test_weights_the_graph_does_not_name_and_another_order_are_refused():
    graph, header, body = parts(SMALL)
    header["more"] = {"dtype": "F32", "shape": [1], "data_offsets": [32, 36]}
    assert refused(joined(graph, header, body + bytes(4))).code == "WEIGHTS"
    graph, header, body = parts(SMALL)
    header["b"]["data_offsets"], header["w"]["data_offsets"] = [0, 8], [8, 32]
    assert refused(joined(graph, header, body[24:] + body[:24])).code == "ORDER"


def test_header_with_a_duplicate_name_or_other_spaces_is_refused():
    graph, header, body = parts(SMALL)
    text = canonical.dumps(header)
    assert refused(joined(graph, text[:-1] + b"," + text[1:], body)).code == "NOT_JSON"
    assert refused(joined(graph, text + b" " * 8, body)).code == "NOT_CANONICAL"
    assert refused(joined(graph, b"[]", body)).code == "NOT_CANONICAL"


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(number):
    graph, header, body = parts(SMALL)
    body = np.float32(number).tobytes() + body[4:]
    assert refused(joined(graph, header, body)).code == "NOT_FINITE"


def test_wrong_numbers_are_noticed_by_their_hash():
    graph, header, body = parts(SMALL)
    assert refused(joined(graph, header, body[:-1] + b"\x40")).code == "WEIGHT_HASH"


@pytest.mark.parametrize("name", ["file_bytes", "graph_bytes", "header_bytes", "nodes", "tensors", "rows"])
def test_limits_hold_to_the_last_one(name, monkeypatch):
    graph, header, _ = parts(SMALL)
    length = len(canonical.dumps(header))
    exact = {
        "file_bytes": len(SMALL),
        "graph_bytes": len(canonical.dumps(graph)),
        "header_bytes": length + -length % 8,
        "nodes": 3,
        "tensors": 3,
        "rows": 1,
    }[name]
    monkeypatch.setitem(LIMITS, name, Limit(exact, LIMITS[name].subject_de))
    from_bytes(SMALL)
    monkeypatch.setitem(LIMITS, name, Limit(exact - 1, LIMITS[name].subject_de))
    assert refused(SMALL).code == "LIMIT"


def test_weights_that_do_not_belong_to_the_graph_are_not_written():
    captured = small()
    with pytest.raises(ValueError, match="WEIGHTS"):
        to_bytes(Captured(captured.graph, captured.weights | {"b": np.zeros(2, np.float32)}))


def test_digest_of_the_model_survives():
    assert model_digest(from_bytes(SMALL).graph) == model_digest(small().graph)
