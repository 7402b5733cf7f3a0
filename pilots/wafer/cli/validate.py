"""`validate`: predict published measurements without their values, and say how far off the emulator is."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from pilots.wafer import reference
from pilots.wafer.cli import inputs
from pilots.wafer.costs.constants import PRIOR, record
from pilots.wafer.errors import RequestError
from pilots.wafer.validation import counted
from pilots.wafer.validation.assessment import assess
from pilots.wafer.validation.output import summary_text, to_json
from pilots.wafer.validation.report import PLOT_NAME, plot, report

HELP: Final = "Fehler gegen veröffentlichte Messungen, vorhergesagt ohne ihre Werte"
FOLDER: Final = "docs/validation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--reference", default="", help="Datei mit Messungen, auch ohne Werte; ohne Angabe die mitgelieferte"
    )
    parser.add_argument("--json", action="store_true", help="Ausgabe als JSON")
    parser.add_argument(
        "--write",
        nargs="?",
        const=FOLDER,
        default="",
        metavar="ORDNER",
        help=f"Bericht, Bild und gezählte Takte in diesen Ordner schreiben, ohne Angabe {FOLDER}; dauert etwa eine Minute",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code; raises ReferenceFileError and RequestError."""
    own = reference.published()
    given = reference.load(inputs.read_text(arguments.reference)) if arguments.reference else own
    found = assess(given, own, record())
    if arguments.write:
        folder = Path(arguments.write)
        cycles = counted.count(found)
        _write(folder / counted.FILE, json.dumps(cycles.to_json(), indent=1) + "\n")
        _write(folder / "wafer.md", report(found, record(), PRIOR.to_json(), cycles))
        _write(folder / PLOT_NAME, plot(found))
    if arguments.json:
        inputs.write(json.dumps(to_json(found), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        inputs.write(summary_text(found))
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        sentence = f"Die Datei {path} lässt sich nicht schreiben."
        raise RequestError(sentence, message_de=sentence) from error
