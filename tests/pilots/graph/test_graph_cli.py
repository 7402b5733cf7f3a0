from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pilots.graph.__main__ import main
from pilots.graph.capture import Captured, Lineage, from_bytes, to_bytes
from pilots.graph.cli import capture, factory, origin
from pilots.graph.frontends.errors import UnsupportedModel
from pilots.graph.ir import model_digest
from pilots.graph.mlp import mlp_from_text
from pilots.graph.trail import Adaptation, Origin, Trail
from qms.core import canonical
from tests.pilots.graph.capture.files import SMALL, WHOLE, small, whole


def ready() -> Captured:
    return small()


def with_all() -> Captured:
    return whole()


def nothing() -> int:
    return 7


def unsupported() -> Captured:
    row = Origin("aten.sort", "model.py:2", (), "dafür gibt es keine Entsprechung im Graphen")
    raise UnsupportedModel(Trail("pytorch", "2.13.0", (row,)))


def narrowed() -> Captured:
    found = whole()
    adapted = (Adaptation("ids", "int64 wird als int32 geführt."),)
    return replace(found, trail=replace(found.trail, adaptations=adapted))


def wrong() -> Captured:
    found = whole()
    outputs = {name: array * np.float32(2) for name, array in found.example.outputs.items()}
    return replace(found, example=replace(found.example, outputs=outputs))


def pair():
    return None, ()


THIS = __name__


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.setitem(sys.modules, THIS, sys.modules[THIS])
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_capture_writes_the_file_and_the_report(tmp_path, capsys):
    path, report = tmp_path / "model.wgraph", tmp_path / "report.json"
    assert main(["capture", f"{THIS}:ready", "-o", str(path), "--report", str(report)]) == 0
    found = from_bytes(path.read_bytes())
    assert to_bytes(replace(found, lineage=Lineage())) == SMALL
    assert canonical.loads(report.read_bytes())["operations"][0]["op"] == "aten.addmm.default"
    assert model_digest(small().graph) in capsys.readouterr().out


def test_capture_says_that_the_example_travels_with_the_file(tmp_path, capsys):
    path = tmp_path / "model.wgraph"
    assert main(["capture", f"{THIS}:with_all", "-o", str(path)]) == 0
    assert "Datenklasse" in capsys.readouterr().out
    assert path.read_bytes() == WHOLE  # a finished capture keeps the lineage it has
    assert main(["capture", f"{THIS}:with_all", "-o", str(path), "--no-example"]) == 0
    assert "enthält kein Beispiel" in capsys.readouterr().out
    assert from_bytes(path.read_bytes()).example is None


def test_what_the_call_states_comes_into_the_file(tmp_path):
    path, data = tmp_path / "model.wgraph", tmp_path / "data.csv"
    data.write_bytes(b"1;2\n")
    words = ["--data", str(data), "--commit", "v1", "--seed", "42", "--registry", "Modelle/Größe:3"]
    assert main(["capture", f"{THIS}:with_all", "-o", str(path), *words]) == 0
    found = from_bytes(path.read_bytes()).lineage
    assert found.data_sha256 == hashlib.sha256(b"1;2\n").hexdigest()
    assert (found.commit, found.seed, found.registry) == ("v1", "42", "Modelle/Größe:3")


def test_software_is_stated_without_names_of_people_or_machines(tmp_path):
    path = tmp_path / "model.wgraph"
    assert main(["capture", f"{THIS}:ready", "-o", str(path)]) == 0
    found = dict(from_bytes(path.read_bytes()).lineage.environment)
    assert set(found) == {"numpy", "platform", "python", "pytorch", "system"}
    assert found["pytorch"]


def test_data_set_that_is_not_there_is_one_sentence_and_leaves_no_file(tmp_path, capsys):
    path = tmp_path / "model.wgraph"
    assert main(["capture", f"{THIS}:ready", "-o", str(path), "--data", str(tmp_path / "none")]) == 2
    assert "lässt sich nicht lesen" in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.parametrize("text", ["a" * 201, "a\nb", "a\udcff"])
@pytest.mark.parametrize("option", ["--seed", "--commit", "--registry"])
def test_text_about_the_origin_is_short_and_printable(option, text, tmp_path, capsys):
    assert main(["capture", f"{THIS}:ready", "-o", str(tmp_path / "x"), option, text]) == 2
    assert f"Angabe zu {option} ist unzulässig" in capsys.readouterr().err


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")
def test_commit_is_that_of_the_source_and_marked_where_it_was_changed(tmp_path):
    source = tmp_path / "model.py"
    assert origin.commit_of(source) == ""
    git(tmp_path, "init", "-q")
    assert origin.commit_of(source) == ""
    source.write_text("one")
    git(tmp_path, "add", "model.py")
    git(tmp_path, "commit", "-q", "-m", "one")
    head = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "model.wgraph").write_text("what was captured before is no change")
    assert origin.commit_of(source) == head
    assert origin.commit_of(tmp_path / "other.py") == head + "+geaendert"  # not in the tree at all
    source.write_text("two")
    assert origin.commit_of(source) == head + "+geaendert"
    assert origin.commit_of(None) == ""


def test_commit_is_left_open_without_git(tmp_path, monkeypatch):
    def missing(*_words, **_options):
        raise FileNotFoundError("git")

    monkeypatch.setattr(origin.subprocess, "run", missing)
    assert origin.commit_of(tmp_path / "model.py") == ""


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

    monkeypatch.setattr(factory.importlib, "import_module", missing)
    with pytest.raises(ValueError, match="EXTRA") as caught:
        factory.front_end(name)
    assert f"[{name}]" in caught.value.message_de


MODULES = {
    "syntax": ("def made(:\n", "Das Modul syntax lässt sich nicht laden (syntax.py:1): SyntaxError: invalid syntax"),
    "divides": ("x = 1\ny = x / 0\n", "Das Modul divides lässt sich nicht laden (divides.py:2): ZeroDivisionError: division by zero"),
    "leaves": ("raise SystemExit('Ende')\n", "(leaves.py:1): SystemExit: Ende"),
    "lacks": ("import no_such_package.part\n", "Das Paket no_such_package fehlt (lacks.py:1); bitte richten Sie es ein."),
    "later": ("def made():\n    import no_such_package\n", "Das Paket no_such_package fehlt (later.py:2); bitte"),
    "empty": ("x = 1\n", "das Modul hat keine Funktion dieses Namens"),
    "wants": ("def made(width, *, depth, other=1, **rest): pass\n", "braucht Argumente (width, depth)"),
    "breaks": ("def made():\n    raise ValueError('größer\\nals erlaubt.')\n", "Die Funktion breaks:made bricht ab (breaks.py:2): ValueError: als erlaubt."),
    "silent": ("def made():\n    raise KeyError\n", "(silent.py:2): KeyError."),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_fault_in_the_module_of_the_user_is_one_sentence_with_its_line(name, tmp_path, capsys, monkeypatch):
    code, words = MODULES[name]
    (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["capture", f"{name}:made", "-o", str(tmp_path / "model.wgraph")]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert said.endswith(".\n")
    assert not (tmp_path / "model.wgraph").exists()


def test_missing_framework_names_the_extra(tmp_path, capsys, monkeypatch):
    (tmp_path / "wanting.py").write_text("import torch\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not there
    assert main(["capture", "wanting:made", "-o", str(tmp_path / "x")]) == 2
    assert (
        "Das Paket torch fehlt (wanting.py:1); bitte richten Sie es ein (Zusatz [pytorch])."
        in capsys.readouterr().err
    )


def test_refusal_says_that_a_file_of_that_name_is_the_older_one(tmp_path, capsys):
    path = tmp_path / "model.wgraph"
    path.write_bytes(b"older")
    assert main(["capture", f"{THIS}:unsupported", "-o", str(path)]) == 2
    assert f"Die Datei {path} ist die ältere; sie wurde nicht geändert." in capsys.readouterr().err
    assert path.read_bytes() == b"older"


def test_capture_says_how_far_graph_and_framework_are_apart_and_what_was_adapted(tmp_path, capsys):
    assert main(["capture", f"{THIS}:narrowed", "-o", str(tmp_path / "x")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "Abweichung     v2: 0, erlaubt 1e-05 (gemessen am größten Wert des Frameworks)"
    assert lines[2] == "Angepasst      ids: int64 wird als int32 geführt."
    assert main(["inspect", str(tmp_path / "x")]) == 0
    assert lines[2] in capsys.readouterr().out.splitlines()


def test_graph_that_computes_something_else_is_not_written(tmp_path, capsys):
    path = tmp_path / "model.wgraph"
    assert main(["capture", f"{THIS}:wrong", "-o", str(path)]) == 2
    said = capsys.readouterr().err
    assert (
        "Der Ausgang v2 des Graphen weicht um 0,5 vom Ergebnis des Frameworks ab, erlaubt ist 1e-05" in said
    )
    assert not path.exists()


class FixedOnly:
    """A front end that takes no open batch."""

    @staticmethod
    def capture(*_made, open_batch=False, example=True):
        return unsupported() if open_batch else small()


class Nothing:
    """A front end that takes nothing."""

    @staticmethod
    def capture(*_made, **_options):
        return unsupported()


@pytest.mark.parametrize(("chosen", "helps"), [(FixedOnly, True), (Nothing, False)])
def test_open_batch_that_does_not_work_says_whether_a_fixed_one_does(
    chosen, helps, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(capture, "front_end", lambda name: chosen)
    assert main(["capture", f"{THIS}:pair", "-o", str(tmp_path / "x"), "--open-batch"]) == 2
    assert ("bitte ohne --open-batch aufzeichnen." in capsys.readouterr().err) is helps


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


def test_inspect_shows_example_origin_and_coverage(tmp_path, capsys):
    path = tmp_path / "model.wgraph"
    path.write_bytes(WHOLE)
    assert main(["inspect", str(path)]) == 0
    shown = capsys.readouterr().out
    for line in (
        "Beispiel       x 2 × 3 float32",
        "Beispiel       v2 2 × 2 float32",
        f"Beispiel       Prüfsumme der Eingaben {whole().example.inputs_sha256}",
        "Abdeckung      1 von 1 Operationen des Frameworks übersetzt",
        "Quellstand     abc",
        f"Datensatz      {'5e' * 32}",
        "Startwert      7",
        "Verzeichnis    register",
        "Software       python 3.11, torch 2.13.0",
    ):
        assert f"{line}\n" in shown
    assert main(["inspect", str(path), "--json"]) == 0
    found = canonical.loads(capsys.readouterr().out)
    assert found["example"]["inputs_sha256"] == whole().example.inputs_sha256
    assert found["example"]["inputs"] == [{"name": "x", "shape": [2, 3], "dtype": "float32"}]
    assert found["lineage"]["seed"] == "7"
    assert found["lineage"]["open_links"] == []


def test_inspect_says_what_is_missing(tmp_path, capsys):
    path = tmp_path / "model.wgraph"
    path.write_bytes(SMALL)
    assert main(["inspect", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "Beispiel       fehlt; " in shown
    assert shown.count("nicht angegeben") == 5
    assert main(["inspect", str(path), "--json"]) == 0
    found = canonical.loads(capsys.readouterr().out)
    assert found["example"] is None
    assert len(found["lineage"]["open_links"]) == 5


def test_inspect_of_an_unsupported_model_lists_every_operation_with_place_and_reason(capsys, monkeypatch):
    class FrontEnd:
        @staticmethod
        def capture(path, *, example):
            assert not example
            rows = [Origin("Relu", f"relu_{index}", ("relu",)) for index in range(2)]
            rows += [Origin("Erf", f"erf_{index}", (), "gibt es nicht") for index in range(9)]
            rows.append(Origin("com.example.Own", "", (), "gehört keinem Standard", custom=True))
            raise UnsupportedModel(Trail("onnx", "opset 23", tuple(rows)))

    monkeypatch.setattr("pilots.graph.cli.inspect.front_end", lambda name: FrontEnd)
    assert main(["inspect", "model.onnx"]) == 2
    shown = capsys.readouterr().out
    assert "Abdeckung      2 von 12 Operationen des Frameworks übersetzt\n" in shown
    assert f"  Erf ({', '.join(f'erf_{index}' for index in range(9))}), 9-mal: gibt es nicht\n" in shown
    assert "  com.example.Own (ohne Ort), 1-mal: gehört keinem Standard\n" in shown
    assert main(["inspect", "model.onnx", "--json"]) == 2
    assert canonical.loads(capsys.readouterr().out)["porting_report"]["unsupported_ops"] == 10


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
