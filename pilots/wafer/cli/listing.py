"""`listing`: the compiled program as text."""

from __future__ import annotations

import argparse
from typing import Final

from pilots.wafer.cli import inputs
from pilots.wafer.errors import RequestError
from pilots.wafer.estimate import estimate
from pilots.wafer.listing import listing

HELP: Final = "Kernliste des übersetzten Programms"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    inputs.add_question(parser)
    parser.add_argument("--phase", choices=("decode", "prefill"), default="decode")


def execute(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    machine = inputs.machine(arguments)
    config = inputs.model(arguments)
    found = estimate(config, machine, inputs.question(arguments, config))
    phase = found.decode if arguments.phase == "decode" else found.prefill
    if phase is None:
        raise RequestError("prefill does not fit", message_de=found.prefill_refusal_de)
    inputs.write(listing(phase.program, machine, batch=arguments.batch))
    return 0
