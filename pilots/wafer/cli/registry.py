"""The table of commands. A module of a command has HELP, add_arguments(parser) and execute(arguments) -> exit code."""

from __future__ import annotations

from typing import Final

from pilots.graph.command_line import Command
from pilots.wafer.cli import claims, cycle, listing, predict, replay, run, validate

COMMANDS: Final[dict[str, Command]] = {
    "predict": predict,
    "run": run,
    "replay": replay,
    "validate": validate,
    "listing": listing,
    "claims": claims,
    "cycle": cycle,
}
