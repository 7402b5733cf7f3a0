"""The table of commands. A module of a command has HELP, add_arguments(parser) and execute(arguments) -> exit code."""

from __future__ import annotations

import argparse
from typing import Final, Protocol

from pilots.graph.cli import capture, inspect


class Command(Protocol):
    """What a module of a command offers; HELP is a German line."""

    @property
    def HELP(self) -> str:  # noqa: N802 - a constant of the module
        """One line for the overview."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments of the command."""

    def execute(self, arguments: argparse.Namespace) -> int:
        """Run the command and return its exit code; raises GraphError for what the user can put right."""


COMMANDS: Final[dict[str, Command]] = {"capture": capture, "inspect": inspect}
