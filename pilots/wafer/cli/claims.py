"""`claims`: what vendor texts say about wafers, and what the emulator can say about each statement."""

from __future__ import annotations

import argparse
from typing import Final

from pilots.wafer.claims import Given, assess_all
from pilots.wafer.cli import inputs
from pilots.wafer.fabric import latencies

HELP: Final = "Aussagen über die Maschine und was das Modell dazu sagt; Latenzen ungeschönt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    inputs.add_machine(parser)
    parser.add_argument("--json", action="store_true", help="Ergebnis als JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    machine = inputs.machine(arguments)
    assessed = assess_all(Given(machine))
    delays = latencies(machine)
    if arguments.json:
        rows = [
            {
                "id": claim.id,
                "statement": claim.statement_de,
                "status": found.status.value,
                "says": found.sentence_de,
            }
            for claim, found in assessed
        ]
        found_delays = [
            {"key": item.key, "nanoseconds": round(float(item.nanoseconds), 3)} for item in delays
        ]
        inputs.write_json({"machine": machine.id, "claims": rows, "latencies": found_delays})
        return 0
    lines = [f"{machine.name}", *(f"  {item.sentence_de}" for item in delays), ""]
    for claim, found in assessed:
        lines += [f"{claim.id}  {claim.statement_de}", f"      {found.status.value}: {found.sentence_de}"]
    inputs.write("\n".join(lines))
    return 0
