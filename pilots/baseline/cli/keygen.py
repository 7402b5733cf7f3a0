"""`keygen`: make the key that signs measurements, and print the line that registers it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from pilots.baseline.importers import BenchmarkRefused
from pilots.baseline.signature import SignatureError, card, key_id, new_key, public_text

HELP: Final = "Einen Schlüssel für signierte Messungen auf diesem Rechner erzeugen"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DATEI", help="Schlüsseldatei; bleibt auf diesem Rechner"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code; raises BenchmarkRefused."""
    try:
        key = new_key(arguments.out)
    except SignatureError as error:
        raise BenchmarkRefused("KEY", error.message_de) from error
    except OSError as error:
        sentence = f"Die Datei {arguments.out} lässt sich nicht schreiben."
        raise BenchmarkRefused("NOT_A_FILE", sentence) from error
    sys.stdout.write(
        f"Schlüssel {key_id(public_text(key))} erzeugt: {arguments.out}\n"
        "Diese Datei verlässt den Rechner nicht. Registrieren Sie die folgende Zeile in AI-QMS unter „Messschlüssel“:\n"
        f"{card(key)}\n"
    )
    return 0
