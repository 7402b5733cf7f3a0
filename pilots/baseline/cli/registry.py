"""The table of commands. A module of a command has HELP, add_arguments(parser) and execute(arguments) -> exit code."""

from __future__ import annotations

from typing import Final

from pilots.baseline.cli import keygen, measure, read_file
from pilots.graph.command_line import Command

COMMANDS: Final[dict[str, Command]] = {"import": read_file, "keygen": keygen, "measure": measure}
