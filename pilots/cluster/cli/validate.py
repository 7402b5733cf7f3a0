"""`validate`: predict published measurements without their values, and say how far off the model is."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from pilots.cluster import reference, tables
from pilots.cluster.cli import inputs
from pilots.cluster.constants import record
from pilots.cluster.validation.assessment import assess
from pilots.cluster.validation.output import summary_text, to_json
from pilots.cluster.validation.report import report

HELP: Final = "Fehler gegen veröffentlichte Messungen, vorhergesagt ohne ihre Werte"
FOLDER: Final = "docs/validation"
REPORT: Final = "cluster.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--reference", default="", help="Datei mit Messungen, auch ohne Werte; ohne Angabe die mitgelieferten"
    )
    parser.add_argument("--json", action="store_true", help="Ausgabe als JSON")
    parser.add_argument(
        "--write",
        nargs="?",
        const=FOLDER,
        default="",
        metavar="ORDNER",
        help=f"Bericht in diesen Ordner schreiben, ohne Angabe {FOLDER}",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code; raises ReferenceFileError and RequestError."""
    own = tables.published()
    given = reference.load(inputs.read_text(arguments.reference)) if arguments.reference else own
    found = assess(given, own, record())
    if arguments.write:
        inputs.write_file(Path(arguments.write) / REPORT, report(found, record()))
    if arguments.json:
        inputs.write_json(to_json(found))
    else:
        inputs.write(summary_text(found))
    return 0
