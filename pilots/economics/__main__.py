"""`python -m pilots.economics COMMAND ...`: exit code 0, or 2 with one German sentence on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pilots.economics.cli.registry import COMMANDS
from pilots.economics.errors import EconomicsError
from pilots.graph.command_line import USAGE_ERROR, Parser, parser_of, protected


def parser() -> Parser:
    """Return the parser of all commands in the table."""
    return parser_of("python -m pilots.economics", "Gesamtkosten zweier Plattformen.", COMMANDS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = parser().parse_args(arguments)
    try:
        return COMMANDS[given.command].execute(given)
    except EconomicsError as error:
        sys.stderr.write(f"{error.message_de}\n")
        return USAGE_ERROR


if __name__ == "__main__":
    sys.exit(protected(main))
