"""`replay`: compute an emulated run again from its manifest and compare digests."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pilots.graph.command_line import USAGE_ERROR
from pilots.wafer.cli import inputs
from pilots.wafer.errors import RequestError
from pilots.wafer.evidence_folder import folder
from pilots.wafer.replay_words import MEANING_DE, ORIGIN_DE, changed_de
from pilots.wafer.replaying import ReplayRefused, ReplayVerdict, replay
from qms.core import canonical

HELP: Final = "Einen Lauf aus seinem Laufmanifest nachrechnen und die Prüfsummen vergleichen"
EQUAL: Final = 0
DIFFERENT: Final = 1


@dataclass(frozen=True, slots=True)
class _Given:
    """The manifest; of a file that is EV-16 also its SHA-256, and the sentence on a name that does not fit it."""

    manifest: dict[str, Any]
    evidence_sha256: str = ""
    changed_de: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "manifest", metavar="LAUFMANIFEST", help="Laufmanifest oder Nachweis EV-16, der es enthält (JSON)"
    )
    parser.add_argument(
        "--evidence",
        default="",
        metavar="ORDNER",
        help="Ordner mit der Modelldatei (.wgraph); sie wird an ihrer Prüfsumme erkannt",
    )
    parser.add_argument("--json", action="store_true", help="Ergebnis als JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 if the digests are equal, 1 if they differ or the file was changed, 2 if the run cannot be computed."""
    given = _given(arguments.manifest)
    if given.changed_de:
        _refuse("changed", given.changed_de, as_json=arguments.json)
        return DIFFERENT
    fetch = folder(_folder(arguments.evidence)) if arguments.evidence else None
    try:
        verdict = replay(given.manifest, fetch=fetch, on_progress=inputs.progress)
    except ReplayRefused as error:
        _refuse("not possible", error.message_de, as_json=arguments.json)
        return USAGE_ERROR
    if arguments.json:
        inputs.write_json(to_json(verdict, given.evidence_sha256))
    else:
        inputs.write(text(verdict, given.evidence_sha256))
    return EQUAL if verdict.equal else DIFFERENT


def to_json(verdict: ReplayVerdict, evidence_sha256: str = "") -> dict[str, Any]:
    """Return the verdict with what it proves; evidence_sha256: of the file that is EV-16, "" for a bare manifest."""
    return {
        "state": "equal" if verdict.equal else "different",
        "expected": verdict.expected,
        "actual": verdict.actual,
        "differs": list(verdict.differs),
        "reason": verdict.sentence_de,
        "meaning": MEANING_DE if verdict.equal else "",
        "evidence_sha256": evidence_sha256,
        "origin": ORIGIN_DE if evidence_sha256 else "",
    }


def text(verdict: ReplayVerdict, evidence_sha256: str = "") -> str:
    """Return the verdict for people; evidence_sha256: of the file that is EV-16, "" for a bare manifest."""
    lines = [
        verdict.sentence_de,
        f"Prüfsumme im Laufmanifest  {verdict.expected}",
        f"Prüfsumme jetzt berechnet  {verdict.actual}",
    ]
    if evidence_sha256:
        lines += [f"Prüfsumme der Datei EV-16  {evidence_sha256}", ORIGIN_DE]
    return "\n".join(lines)


def _refuse(state: str, sentence: str, *, as_json: bool) -> None:
    if as_json:
        inputs.write_json({"state": state, "reason": sentence})
    sys.stderr.write(f"{sentence}\n")


def _given(name: str) -> _Given:
    """Return the manifest a file holds or is; raises RequestError."""
    raw = inputs.read_bytes(name)
    try:
        found = canonical.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise _unreadable(name, str(error)) from error
    is_evidence = isinstance(found, dict) and found.get("type") == "EV-16"
    manifest = found.get("manifest") if is_evidence else found
    if not isinstance(manifest, dict):
        raise _unreadable(name, "no object")
    if not is_evidence:
        return _Given(manifest)
    sha256 = canonical.sha256_hex(raw)
    return _Given(manifest, sha256, changed_de(name, sha256))


def _unreadable(name: str, reason: str) -> RequestError:
    sentence = f"Die Datei {name} ist weder ein Laufmanifest noch ein Nachweis EV-16 (JSON)."
    return RequestError(f"{name}: {reason}", message_de=sentence)


def _folder(name: str) -> Path:
    path = Path(name)
    if not path.is_dir():
        raise RequestError(f"{name} is no folder", message_de=f"Den Ordner {name} gibt es nicht.")
    return path
