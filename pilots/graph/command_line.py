"""The frame of `python -m pilots.graph` and `python -m pilots.wafer`: exit code 0, or 2 with one German sentence."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from io import TextIOWrapper
from typing import Final, NoReturn, Protocol

USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130


class Command(Protocol):
    """What a module of a command offers; HELP is a German line."""

    @property
    def HELP(self) -> str:  # noqa: N802 - a constant of the module
        """One line for the overview."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments of the command."""

    def execute(self, arguments: argparse.Namespace) -> int:
        """Run the command and return its exit code; raises errors with `message_de` for what the user can put right."""


class Parser(argparse.ArgumentParser):
    """Says in one German sentence that a call is wrong."""

    def error(self, message: str) -> NoReturn:
        """Write the sentence and leave with exit code 2."""
        sentence = f"Der Aufruf ist unvollständig oder falsch; „{self.prog} --help“ zeigt, was möglich ist.\n"
        self.exit(USAGE_ERROR, sentence)


def parser_of(program: str, description: str, table: Mapping[str, Command]) -> Parser:
    """Return the parser of all commands in a table."""
    found = Parser(prog=program, description=description)
    commands = found.add_subparsers(dest="command", required=True, metavar="BEFEHL")
    for name, command in table.items():
        command.add_arguments(commands.add_parser(name, help=command.HELP, description=command.HELP))
    return found


def protected(main: Callable[[], int]) -> int:
    """Run a program; an output that cannot be written ends in a sentence, too."""
    if sys.stdout is None or sys.stderr is None:
        return USAGE_ERROR
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("\nAbgebrochen.\n")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on
        return USAGE_ERROR
    except OSError:
        sys.stderr.write("Die Ausgabe lässt sich nicht schreiben.\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return USAGE_ERROR
    return code
