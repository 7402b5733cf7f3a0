from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilots.graph.mlp import mlp_from_text
from pilots.graph.porting import EFFORT_CATEGORIES, MAX_PLACES, byte_text, porting_report, weight_bytes
from pilots.graph.trail import MAX_TEXT, Adaptation, Origin, Trail, plain
from pilots.wafer.lowering import kernel_name
from qms.core import canonical

GRAPH, _ = mlp_from_text("8-16-4")
KERNELS = {"matmul": "PRODUCT", "add": "ELEMENTWISE", "relu": ""}


def report(*rows, **options):
    return porting_report(Trail("pytorch", "2.13.0", rows), GRAPH, **options)


def test_operations_are_counted_with_kernels_and_places():
    found = report(
        Origin("aten.addmm", "model.py:3", ("matmul", "add")),
        Origin("aten.addmm", "model.py:5", ("matmul", "add")),
        Origin("aten.view", "model.py:5"),
        kernels=KERNELS,
    )
    addmm, view = found.operations
    assert (addmm.count, addmm.kernels, addmm.places) == (
        2,
        ("ELEMENTWISE", "PRODUCT"),
        ("model.py:3", "model.py:5"),
    )
    assert (view.became, view.kernels, view.reason) == ((), (), "")
    assert found.total == 3
    assert found.unsupported_ratio == "0"


def test_missing_kernel_and_missing_operation_are_both_unsupported():
    found = report(
        Origin("aten.relu", "model.py:1", ("relu",)),
        Origin("aten.sort", "model.py:2", (), "dafür gibt es keine Entsprechung"),
        Origin("my.op", "model.py:3", (), "dafür gibt es keine Entsprechung", custom=True),
        *[Origin("aten.add", "", ("add",))] * 4,
        kernels=KERNELS,
    )
    assert {item.op for item in found.unsupported} == {"aten.relu", "aten.sort", "my.op"}
    assert "Kernel: relu" in next(item.reason for item in found.unsupported if item.op == "aten.relu")
    assert found.unsupported_ratio == "0.428572"  # rounded up: nobody slips below a limit
    assert found.to_json()["custom_ops"] == 1
    assert report(Origin("aten.relu", "", ("relu",))).unsupported == ()  # kernels were not asked for


@pytest.mark.parametrize(("more", "needed"), [(0, False), (-1, True)])
def test_partitioning_is_decided_at_the_capacity(more, needed):
    size = weight_bytes(GRAPH)
    found = report(capacity_bytes=size + more)
    assert found.partitioning_required is needed
    assert str(size) in found.partitioning_reason_de


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0\u00a0Byte"),
        (999, "999\u00a0Byte"),
        (2**20 - 1, "1.048.575\u00a0Byte"),
        (2**20, "1.048.576\u00a0Byte (1,0\u00a0MiB)"),
        (36_642_816_000, "36.642.816.000\u00a0Byte (34.945,3\u00a0MiB)"),
    ],
)
def test_bytes_are_read_in_groups_and_from_one_mebibyte_on_in_mebibytes(size, text):
    assert byte_text(size) == text


def test_what_was_adapted_is_in_the_evidence_file():
    trail = Trail("pytorch", "2.13.0", (), (Adaptation("ids", "int64 wird als int32 geführt."),))
    found = porting_report(trail, GRAPH).to_json()
    assert found["adaptations"] == [{"what": "ids", "reason": "int64 wird als int32 geführt."}]
    assert report().to_json()["adaptations"] == []


def test_partitioning_stays_open_where_sizes_are_not_known():
    assert report().partitioning_required is None
    assert porting_report(Trail(), None, capacity_bytes=1).partitioning_required is None
    assert report().partitioning_reason_de.startswith("Nicht geprüft")


def test_graph_without_a_trail_is_reported_by_its_own_operations():
    found = porting_report(Trail(), GRAPH, kernels={op: kernel_name(op) for op in ("matmul", "add", "relu")})
    assert {item.op: item.count for item in found.operations} == {"matmul": 2, "add": 2, "relu": 1}
    assert found.unsupported == ()
    assert found.operations[0].places


def test_evidence_file_is_canonical_and_leaves_effort_to_people():
    found = report(*[Origin("aten.add", f"model.py:{line}", ("add",)) for line in range(50)]).to_json()
    assert canonical.loads(canonical.dumps(found)) == found
    assert found["porting_effort_pt"] == dict.fromkeys(EFFORT_CATEGORIES)
    assert len(found["operations"][0]["places"]) == MAX_PLACES
    assert porting_report(Trail(), None).to_json()["unsupported_ratio"] == "0"


def test_effort_is_asked_for_in_the_categories_of_s086():
    assert list(EFFORT_CATEGORIES) == [
        "MODELLCODE",
        "DATENPIPELINE",
        "PLATTFORMBETRIEB",
        "SICHERHEIT_DATENSCHUTZ",
        "TESTS",
    ]
    assert all(label[0].isupper() for label in EFFORT_CATEGORIES.values())


@pytest.mark.parametrize(
    ("framework", "label"), [("jax", "eigene Brücke (Emulator)"), ("pytorch", ""), ("onnx", ""), ("", "")]
)
def test_bridge_of_our_own_is_called_so(framework, label):
    """S024: the vendor documents no front end for JAX."""
    assert porting_report(Trail(framework, "1", ()), GRAPH).to_json()["provenance"] == label


def test_texts_of_the_trail_are_short_and_plain():
    assert plain("a\nb\x00ä") == "a?b??"
    assert len(plain("a" * 1000)) == MAX_TEXT


def test_kernels_come_from_outside():
    """The graph never imports the emulator."""
    source = Path(__file__).parents[3] / "pilots" / "graph" / "porting.py"
    assert "pilots.wafer" not in source.read_text()
    assert json.dumps(EFFORT_CATEGORIES)
