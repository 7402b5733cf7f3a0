"""`calibrate`: fit the constants again, and print the record; or the extract of a whole file of figures."""

from __future__ import annotations

import argparse
import json
from typing import Final

from pilots.cluster import tables
from pilots.cluster.calibrate import calibrate, text
from pilots.cluster.cli import inputs
from pilots.cluster.errors import RequestError
from pilots.cluster.extract import extract

HELP: Final = "Konstanten an die veröffentlichten Messungen anpassen und ausgeben"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--extract", default="", help="statt dessen den Auszug dieser Datei ausgeben")


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    if not arguments.extract:
        inputs.write(text(calibrate(tables.published())))
        return 0
    try:
        inputs.write_json(extract(json.loads(inputs.read_text(arguments.extract))))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        sentence = "Die Datei ist keine Sammlung veröffentlichter Messungen."
        raise RequestError(f"{error!r}", message_de=sentence) from error
    return 0
