"""`replay`: compute an emulated run again from its manifest and compare digests."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from pilots.graph.command_line import USAGE_ERROR
from pilots.wafer.cli import inputs
from pilots.wafer.errors import RequestError
from pilots.wafer.evidence_folder import folder
from pilots.wafer.replaying import MEANING_DE, ReplayRefused, ReplayVerdict, replay
from qms.core import canonical

HELP: Final = "Einen Lauf aus seinem Laufmanifest nachrechnen und die Prüfsummen vergleichen"
EQUAL: Final = 0
DIFFERENT: Final = 1


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
    """Return 0 if the digests are equal, 1 if they differ, 2 if the run cannot be computed again."""
    manifest = _manifest(arguments.manifest)
    fetch = folder(_folder(arguments.evidence)) if arguments.evidence else None
    try:
        verdict = replay(manifest, fetch=fetch, on_progress=inputs.progress)
    except ReplayRefused as error:
        if arguments.json:
            inputs.write_json({"state": "not possible", "reason": error.message_de})
        sys.stderr.write(f"{error.message_de}\n")
        return USAGE_ERROR
    if arguments.json:
        inputs.write_json(to_json(verdict))
    else:
        inputs.write(text(verdict))
    return EQUAL if verdict.equal else DIFFERENT


def to_json(verdict: ReplayVerdict) -> dict[str, Any]:
    """Return the verdict with what it proves."""
    return {
        "state": "equal" if verdict.equal else "different",
        "expected": verdict.expected,
        "actual": verdict.actual,
        "differs": list(verdict.differs),
        "meaning": MEANING_DE if verdict.equal else "",
    }


def text(verdict: ReplayVerdict) -> str:
    """Return the verdict for people."""
    digests = f"Prüfsumme im Laufmanifest  {verdict.expected}\nPrüfsumme jetzt berechnet  {verdict.actual}"
    if verdict.equal:
        return f"Nachgerechnet, gleiches Ergebnis. {MEANING_DE}\n{digests}"
    return f"Nachgerechnet, anderes Ergebnis.\nVerschieden: {', '.join(verdict.differs)}\n{digests}"


def _manifest(name: str) -> dict[str, Any]:
    """Return the manifest a file holds or is; raises RequestError."""
    try:
        found = canonical.loads(inputs.read_text(name))
    except (ValueError, RecursionError) as error:
        raise _unreadable(name, str(error)) from error
    if isinstance(found, dict) and found.get("type") == "EV-16":
        found = found.get("manifest")
    if not isinstance(found, dict):
        raise _unreadable(name, "no object")
    return found


def _unreadable(name: str, reason: str) -> RequestError:
    sentence = f"Die Datei {name} ist weder ein Laufmanifest noch ein Nachweis EV-16 (JSON)."
    return RequestError(f"{name}: {reason}", message_de=sentence)


def _folder(name: str) -> Path:
    path = Path(name)
    if not path.is_dir():
        raise RequestError(f"{name} is no folder", message_de=f"Den Ordner {name} gibt es nicht.")
    return path
