"""`python -m pilots.wafer COMMAND ...`: exit code 0, or 2 with one German sentence on standard error."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import NoReturn

from pilots.graph.errors import GraphError
from pilots.wafer.cli.registry import COMMANDS
from pilots.wafer.errors import WaferError

USAGE_ERROR = 2
INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    """Says in one German sentence that a call is wrong."""

    def error(self, message: str) -> NoReturn:
        """Write the sentence and leave with exit code 2."""
        sentence = f"Der Aufruf ist unvollständig oder falsch; „{self.prog} --help“ zeigt, was möglich ist.\n"
        self.exit(USAGE_ERROR, sentence)


def parser() -> Parser:
    """Return the parser of all commands in the table."""
    found = Parser(prog="python -m pilots.wafer", description="Der Wafer-Emulator auf der Kommandozeile.")
    commands = found.add_subparsers(dest="command", required=True, metavar="BEFEHL")
    for name, command in COMMANDS.items():
        command.add_arguments(commands.add_parser(name, help=command.HELP, description=command.HELP))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = parser().parse_args(arguments)
    try:
        return COMMANDS[given.command].execute(given)
    except (WaferError, GraphError) as error:
        sys.stderr.write(f"{error.message_de}\n")
        return USAGE_ERROR
    except KeyboardInterrupt:
        sys.stderr.write("\nAbgebrochen; ein Zwischenstand (--state) bleibt erhalten.\n")
        return INTERRUPTED


def protected() -> int:
    """Run one command; an output that cannot be written ends in a sentence, too."""
    if sys.stdout is None or sys.stderr is None:
        return USAGE_ERROR
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on
        return USAGE_ERROR
    except OSError:
        sys.stderr.write("Die Ausgabe lässt sich nicht schreiben.\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return USAGE_ERROR
    return code


if __name__ == "__main__":
    sys.exit(protected())
