"""`verify --replay`: the run a document rests on, computed again from EV-16; apart from the verdict on the signatures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pilots.graph.mlp import mlp_from_text
from pilots.wafer import emulator
from pilots.wafer.facts import ev16
from pilots.wafer.machine import lab_mesh
from qms.core import canonical
from qms.signing import report, verify, verify_replay
from tests.qms.signing import samples, tampering

pytestmark = pytest.mark.needs("pango")


def facts() -> dict[str, Any]:
    graph, weights = mlp_from_text("4-6-2")
    result = emulator.run(graph, weights, inputs_seed=1, batch=2, machine=lab_mesh(8, 8))
    return ev16(result, run_id="r", fingerprint="f", criteria_sha256="c")


def document(folder: Path, content: dict[str, Any]) -> samples.Chain:
    """Write EV-16 into the folder, and a document that names it."""
    raw = canonical.dumps(content)
    (folder / "lauf.json").write_bytes(raw)
    (folder / "anderes.txt").write_text("nichts")
    signers = samples.people(2)
    item = {"id": "EV-1", "type": "EV-16", "sha256": canonical.sha256_hex(raw)}
    chain = samples.make_chain(signers=signers, raw=samples.decision_bytes(signers, evidence=[item]))
    (folder / "freigabe.pdf").write_bytes(chain.final)
    (folder / "root.pem").write_bytes(chain.root_pem)
    return chain


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, samples.Chain]:
    folder = tmp_path_factory.mktemp("gut")
    return folder, document(folder, facts())


def main(
    folder: Path, capsys: pytest.CaptureFixture[str], *more: str, root: bool = True
) -> tuple[int, dict[str, Any]]:
    anchor = ["--root", str(folder / "root.pem")] if root else []
    code = verify.main([str(folder / "freigabe.pdf"), *anchor, "--json", *more])
    return code, json.loads(capsys.readouterr().out)


def test_the_same_digest_is_said_beside_the_verdict_on_the_signatures(
    good: tuple[Path, samples.Chain], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = good
    code, found = main(folder, capsys, "--replay", "--evidence", str(folder))
    assert (code, found["exit_code"]) == (report.EXIT_VALID, report.EXIT_VALID)
    (line,) = found["replay"]
    assert line["state"] == "gleich"
    assert line["expected"] == line["actual"]
    assert "Das belegt die Rechnung, nicht die Wirklichkeit." in line["reason"]
    assert line["reason"].endswith(verify_replay.PINNED)
    code, found = main(folder, capsys, "--replay", "--evidence", str(folder), root=False)
    assert (code, found["replay"][0]["state"]) == (report.EXIT_NO_ANCHOR, "gleich")


def test_another_digest_is_no_success_though_the_signatures_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = facts()
    content["manifest"]["result"]["outputs_sha256"] = "0" * 64
    document(tmp_path, content)
    code, found = main(tmp_path, capsys, "--replay", "--evidence", str(tmp_path))
    assert (code, found["exit_code"]) == (report.EXIT_INVALID, report.EXIT_VALID)
    assert found["replay"][0]["state"] == "verschieden"
    assert "Verschieden: Ausgaben." in found["replay"][0]["reason"]
    assert found["replay"][0]["reason"].endswith(verify_replay.PINNED)
    code, _ = main(tmp_path, capsys, "--replay", "--evidence", str(tmp_path), root=False)
    assert code == report.EXIT_INVALID
    assert main(tmp_path, capsys)[0] == report.EXIT_VALID


def test_a_manifest_that_cannot_be_computed_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = facts()
    content["manifest"]["machine"]["id"] = "wse-9"
    document(tmp_path, content)
    code, found = main(tmp_path, capsys, "--replay", "--evidence", str(tmp_path))
    assert code == report.EXIT_VALID
    assert found["replay"][0]["state"] == "nicht geprüft"
    assert "unbekannte Maschine" in found["replay"][0]["reason"]


def test_what_is_not_there_is_not_checked_and_changes_no_code(
    good: tuple[Path, samples.Chain],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, _ = good
    code, found = main(folder, capsys, "--replay")
    assert (code, found["replay"][0]["state"]) == (report.EXIT_VALID, "nicht geprüft")
    assert "--evidence" in found["replay"][0]["reason"]
    code, found = main(folder, capsys, "--replay", "--evidence", str(tmp_path))
    assert (code, found["replay"][0]["state"]) == (report.EXIT_VALID, "nicht geprüft")
    assert "liegt nicht im Ordner" in found["replay"][0]["reason"]
    monkeypatch.setitem(sys.modules, "pilots.replay", None)
    code, found = main(folder, capsys, "--replay", "--evidence", str(folder))
    assert (code, found["replay"][0]["state"]) == (report.EXIT_VALID, "nicht geprüft")
    assert "nicht eingerichtet" in found["replay"][0]["reason"]


def test_evidence_that_holds_no_manifest_is_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document(tmp_path, {"type": "EV-16"})
    code, found = main(tmp_path, capsys, "--replay", "--evidence", str(tmp_path))
    assert (code, found["replay"][0]["state"]) == (report.EXIT_VALID, "nicht geprüft")
    assert "enthält kein Laufmanifest" in found["replay"][0]["reason"]


def test_a_document_that_is_changed_or_names_no_run_is_not_computed(
    good: tuple[Path, samples.Chain], chain: samples.Chain
) -> None:
    folder, own = good
    broken = tampering.trailing_bytes(own)
    (line,) = verify_replay.replay(broken, verify.verify(broken, root=own.root), folder)
    assert (line.state.value, line.reason) == ("nicht geprüft", "das Dokument ist nicht unversehrt")
    (line,) = verify_replay.replay(chain.final, verify.verify(chain.final, root=chain.root), folder)
    assert line.reason == "das Dokument nennt kein Laufmanifest (EV-16)"


def test_people_read_one_line_below_the_report(
    good: tuple[Path, samples.Chain], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = good
    arguments = ["--root", str(folder / "root.pem"), "--replay", "--evidence", str(folder)]
    assert verify.main([str(folder / "freigabe.pdf"), *arguments]) == report.EXIT_VALID
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Gültig und vollständig")
    assert lines[-1] == (
        "Nachrechnung: gleich – Nachgerechnet, gleiches Ergebnis. Das belegt die Rechnung, nicht die Wirklichkeit. "
        f"{verify_replay.PINNED}"
    )
