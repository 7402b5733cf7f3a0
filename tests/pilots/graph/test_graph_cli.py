from __future__ import annotations

import sys

import pytest

from pilots.graph.__main__ import main
from pilots.graph.capture import Captured, from_bytes
from pilots.graph.cli import capture
from pilots.graph.frontends.errors import UnsupportedModel
from pilots.graph.ir import model_digest
from pilots.graph.mlp import mlp_from_text
from pilots.graph.trail import Origin, Trail
from qms.core import canonical
from tests.pilots.graph.capture.files import SMALL, small


def ready() -> Captured:
    return small()


def nothing() -> int:
    return 7


def unsupported() -> Captured:
    row = Origin("aten.sort", "model.py:2", (), "dafür gibt es keine Entsprechung im Graphen")
    raise UnsupportedModel(Trail("pytorch", "2.13.0", (row,)))


THIS = __name__


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.setitem(sys.modules, THIS, sys.modules[THIS])
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_capture_writes_the_file_and_the_report(tmp_path, capsys):
    path, report = tmp_path / "model.wgraph", tmp_path / "report.json"
    assert main(["capture", f"{THIS}:ready", "-o", str(path), "--report", str(report)]) == 0
    assert path.read_bytes() == SMALL
    assert canonical.loads(report.read_bytes())["operations"][0]["op"] == "aten.addmm.default"
    assert model_digest(small().graph) in capsys.readouterr().out


def test_unsupported_model_leaves_a_report_and_no_file(tmp_path, capsys):
    path, report = tmp_path / "model.wgraph", tmp_path / "report.json"
    assert main(["capture", f"{THIS}:unsupported", "-o", str(path), "--report", str(report)]) == 2
    assert not path.exists()
    assert canonical.loads(report.read_bytes())["unsupported_ops"] == 1
    assert "aten.sort (model.py:2)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (f"{THIS}:missing", "lässt sich nicht laden"),
        (f"{THIS}:THIS", "lässt sich nicht laden"),
        ("no_such_module_at_all:make", "lässt sich nicht laden"),
        ("no_colon", "lässt sich nicht laden"),
        (":make", "lässt sich nicht laden"),
    ],
)
def test_capture_that_cannot_start_says_why(model, words, tmp_path, capsys):
    assert main(["capture", model, "-o", str(tmp_path / "model.wgraph")]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("name", ["pytorch", "jax", "onnx"])
def test_missing_extra_is_named(name, monkeypatch):
    def missing(module):
        raise ModuleNotFoundError(f"No module named {module}")

    monkeypatch.setattr(capture.importlib, "import_module", missing)
    with pytest.raises(ValueError, match="EXTRA") as caught:
        capture.front_end(name)
    assert f"[{name}]" in caught.value.message_de


def test_factory_must_return_something_to_capture(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(capture, "front_end", lambda name: None)
    assert main(["capture", f"{THIS}:nothing", "-o", str(tmp_path / "x"), "--from", "jax"]) == 2
    assert "(Funktion, Gewichte, Beispiele)" in capsys.readouterr().err


def test_inspect_shows_what_a_file_holds(tmp_path, capsys):
    path = tmp_path / "model.wgraph"
    path.write_bytes(SMALL)
    assert main(["inspect", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "Stapel × 3 float32" in shown
    assert "pytorch 2.13.0" in shown
    assert model_digest(small().graph) in shown
    assert main(["inspect", str(path), "--json"]) == 0
    found = canonical.loads(capsys.readouterr().out)
    assert found["ops"] == {"add": 1, "matmul": 1, "scale": 1}
    assert found["weight_bytes"] == 32
    assert found["porting_report"]["total_ops"] == 1


def test_inspect_of_a_bad_or_missing_file_is_one_sentence(tmp_path, capsys):
    path = tmp_path / "model.wgraph"
    path.write_bytes(SMALL[:-1])
    assert main(["inspect", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["inspect", str(tmp_path / "none.wgraph")]) == 2
    assert "lässt sich nicht lesen" in capsys.readouterr().err


def test_wrong_call_is_one_sentence(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["capture"])
    assert caught.value.code == 2
    assert "unvollständig" in capsys.readouterr().err


def test_file_of_our_own_model_can_be_inspected(tmp_path, capsys):
    graph, weights = mlp_from_text("8-16-4", dtype="bfloat16")
    path = tmp_path / "model.wgraph"
    path.write_bytes(capture.to_bytes(Captured(graph, weights)))
    assert main(["inspect", str(path)]) == 0
    assert "nicht angegeben" in capsys.readouterr().out
    assert from_bytes(path.read_bytes()).graph == graph
