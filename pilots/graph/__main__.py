"""`python -m pilots.graph COMMAND ...`: exit code 0, or 2 with one German sentence on standard error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from pilots.graph.cli.registry import COMMANDS
from pilots.graph.errors import GraphError

USAGE_ERROR = 2


class Parser(argparse.ArgumentParser):
    """Says in one German sentence that a call is wrong."""

    def error(self, message: str) -> NoReturn:
        """Write the sentence and leave with exit code 2."""
        sentence = f"Der Aufruf ist unvollständig oder falsch; „{self.prog} --help“ zeigt, was möglich ist.\n"
        self.exit(USAGE_ERROR, sentence)


def parser() -> Parser:
    """Return the parser of all commands in the table."""
    found = Parser(prog="python -m pilots.graph", description="Graphen aufzeichnen und ansehen.")
    commands = found.add_subparsers(dest="command", required=True, metavar="BEFEHL")
    for name, command in COMMANDS.items():
        command.add_arguments(commands.add_parser(name, help=command.HELP, description=command.HELP))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = parser().parse_args(arguments)
    try:
        return COMMANDS[given.command].execute(given)
    except GraphError as error:
        sys.stderr.write(f"{error.message_de}\n")
    except OSError as error:
        sys.stderr.write(f"Die Datei lässt sich nicht lesen oder schreiben ({error.strerror}).\n")
    return USAGE_ERROR


if __name__ == "__main__":
    sys.exit(main())
