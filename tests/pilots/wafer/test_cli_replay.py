"""`run --capture` and `replay`: from a file to a manifest, and from the manifest to the same digest, without Django."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pilots.graph.capture import to_bytes
from pilots.wafer import __main__ as main
from pilots.wafer import emulator
from pilots.wafer.cli import replay as command
from pilots.wafer.facts import ev16
from pilots.wafer.machine import lab_mesh
from pilots.wafer.replaying import ReplayVerdict
from qms.core import canonical
from tests.pilots.graph import captures
from tests.pilots.wafer import captured_graphs

ROOT = Path(main.__file__).parents[2]
LAB = ["--machine", "lab-16x16"]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "model.wgraph"
    path.write_bytes(to_bytes(captured_graphs.every_type()))
    return path


def written(capture: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Run the capture and return the file of its manifest."""
    target = capture.with_name("manifest.json")
    assert main.main(["run", "--capture", str(capture), *LAB, "--manifest", str(target)]) == 0
    capsys.readouterr()
    return target


def changed(manifest: Path, **parts: Any) -> None:
    manifest.write_bytes(canonical.dumps(canonical.loads(manifest.read_bytes()) | parts))


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main.main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    sentence = shown.err.splitlines()[-1]
    assert sentence.endswith(".")
    return sentence


def test_a_capture_is_run_and_compared_with_its_framework(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["run", "--capture", str(capture), *LAB]) == 0
    shown = capsys.readouterr().out
    assert "Verglichen mit PyTorch 2.13.0 (laut Aufzeichnung des Einreichers):" in shown
    assert shown.count("innerhalb der Toleranz") == len(captured_graphs.every_type().graph.outputs)
    assert "(bool)" in shown
    assert "mit Emulatornumerik berechnet" in shown


def test_an_output_outside_the_tolerance_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = captures.perceptron()
    assert found.example is not None
    off = {name: array + 1 for name, array in found.example.outputs.items()}
    path = tmp_path / "off.wgraph"
    path.write_bytes(to_bytes(replace(found, example=replace(found.example, outputs=off))))
    assert main.main(["run", "--capture", str(path), *LAB]) == 0
    assert "außerhalb der Toleranz" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no capture", "keine Aufzeichnung"),
        (b"", "keine Aufzeichnung"),
        (to_bytes(replace(captures.perceptron(), example=None)), "keine Beispieleingaben"),
    ],
)
def test_a_file_that_cannot_be_run_is_refused(
    content: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.wgraph"
    path.write_bytes(content)
    assert words in refused(["run", "--capture", str(path), *LAB], capsys)


def test_a_capture_has_no_interim_state(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = capture.with_name("state.json")
    assert "--state" in refused(["run", "--capture", str(capture), "--state", str(state), *LAB], capsys)
    assert not state.exists()
    assert "lässt sich nicht lesen" in refused(["run", "--capture", "missing.wgraph", *LAB], capsys)


def test_the_manifest_is_written_and_computed_again(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = written(capture, capsys)
    assert main.main(["replay", str(manifest), "--evidence", str(capture.parent)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "Nachgerechnet, gleiches Ergebnis. Das belegt die Rechnung, nicht die Wirklichkeit."
    digest = canonical.loads(manifest.read_bytes())["result_digest"]
    assert [line.split()[-1] for line in shown[1:]] == [digest, digest]


def test_another_result_is_exit_code_1_and_names_the_part(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = written(capture, capsys)
    changed(manifest, program_digest="0" * 64)
    call = ["replay", str(manifest), "--evidence", str(capture.parent)]
    assert main.main(call) == 1
    shown = capsys.readouterr().out
    assert "Die Prüfsumme des Ergebnisses ist gleich, aber das Laufmanifest nennt andere Angaben" in shown
    assert "Verschieden: Programm." in shown
    assert "Wirklichkeit" not in shown
    assert main.main([*call, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["state"], found["differs"], found["meaning"]) == ("different", ["program_digest"], "")


def test_another_machine_is_another_result_told_in_words(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = written(capture, capsys)
    changed(manifest, machine={"id": "wse-2", "sha256": "0" * 64})
    assert main.main(["replay", str(manifest), "--evidence", str(capture.parent)]) == 1
    first, *digests = capsys.readouterr().out.splitlines()
    assert first == (
        "Nachgerechnet, anderes Ergebnis. Verschieden: Maschine, Programm, Prüfsumme des Ergebnisses."
    )
    assert len({line.split()[-1] for line in digests}) == 2


def test_another_model_file_in_the_folder_is_named_with_its_digest(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = written(capture, capsys)
    wanted = canonical.sha256_hex(capture.read_bytes())
    capture.write_bytes(to_bytes(captures.perceptron()))
    found = canonical.sha256_hex(capture.read_bytes())
    shown = refused(["replay", str(manifest), "--evidence", str(capture.parent)], capsys)
    assert f"{wanted[:16]}… liegt nicht vor" in shown
    assert shown.endswith(f"Im Ordner liegt mit anderer Prüfsumme: model.wgraph ({found[:16]}…).")


def test_what_cannot_be_computed_is_exit_code_2(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = written(capture, capsys)
    assert "liegt nicht vor" in refused(["replay", str(manifest)], capsys)
    assert "gibt es nicht" in refused(["replay", str(manifest), "--evidence", "missing"], capsys)
    assert "lässt sich nicht lesen" in refused(["replay", "missing.json"], capsys)
    assert main.main(["replay", str(manifest), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["state"] == "not possible"
    assert "liegt nicht vor" in found["reason"]


@pytest.mark.parametrize("content", [b"", b"[]", b'"text"', b"{", b"[" * 50_000, b'{"type": "EV-16"}'])
def test_a_file_that_is_no_manifest_is_refused(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "any.json"
    path.write_bytes(content)
    assert "weder ein Laufmanifest noch ein Nachweis EV-16" in refused(["replay", str(path)], capsys)


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """EV-16 of a capture under the name of its download, beside the capture."""
    found = captures.decoder()
    assert found.example is not None
    data = to_bytes(found)
    result = emulator.run_example(
        found.graph,
        found.weights,
        found.example,
        file_sha256=canonical.sha256_hex(data),
        machine=lab_mesh(16, 16),
    )
    raw = canonical.dumps(ev16(result, run_id="r", fingerprint="f", criteria_sha256="c"))
    path = tmp_path / f"EV-16-{canonical.sha256_hex(raw)[:12]}.json"
    path.write_bytes(raw)
    (tmp_path / "model").write_bytes(data)
    return path


def test_the_evidence_file_does_as_well_as_the_manifest(
    evidence: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["replay", str(evidence), "--evidence", str(evidence.parent), "--json"]
    assert main.main(call) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["actual"] == canonical.loads(evidence.read_bytes())["manifest"]["result_digest"]
    assert found["evidence_sha256"] == canonical.sha256_hex(evidence.read_bytes())


def test_the_digest_of_the_evidence_stands_beside_what_was_not_computed(
    evidence: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["replay", str(evidence), "--evidence", str(evidence.parent)]) == 0
    *_, digest, origin = capsys.readouterr().out.splitlines()
    assert digest.split()[-1] == canonical.sha256_hex(evidence.read_bytes())
    assert "zur Herkunft" in origin
    assert "nicht Teil der Nachrechnung" in origin


def test_changed_evidence_is_told_by_its_name(evidence: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = canonical.loads(evidence.read_bytes())
    content["lineage"]["commit"] = "f" * 40
    evidence.write_bytes(canonical.dumps(content))
    call = ["replay", str(evidence), "--evidence", str(evidence.parent)]
    assert main.main(call) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "wurde verändert" in shown.err
    assert canonical.sha256_hex(evidence.read_bytes())[:12] in shown.err
    assert main.main([*call, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["state"] == "changed"
    other = evidence.rename(evidence.with_name("EV-16.json"))  # a name without digest says nothing
    assert main.main(["replay", str(other), "--evidence", str(other.parent)]) == 0
    assert canonical.sha256_hex(other.read_bytes()) in capsys.readouterr().out


def test_a_replay_needs_neither_django_nor_settings(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = written(capture, capsys)
    code = (
        "import sys; sys.modules['django'] = None\n"
        "from pilots.wafer.__main__ import main\n"
        f"code = main(['replay', {str(manifest)!r}, '--evidence', {str(capture.parent)!r}])\n"
        "assert not [name for name in sys.modules if name.startswith(('django.', 'celery', 'sqlite3'))]\n"
        "raise SystemExit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[0][:34]) == (0, "Nachgerechnet, gleiches Ergebnis. ")


def test_the_text_of_a_verdict_says_what_it_proves_only_when_it_does() -> None:
    equal, different = ReplayVerdict(True, "a", "a"), ReplayVerdict(False, "a", "b", ("note", "result"))
    assert "nicht die Wirklichkeit" in command.text(equal)
    assert "nicht die Wirklichkeit" not in command.text(different)
    assert "Verschieden: „note“, Ausgaben." in command.text(different)
    assert "Herkunft" not in command.text(equal)
