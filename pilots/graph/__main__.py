"""`python -m pilots.graph COMMAND ...`: exit code 0, or 2 with one German sentence on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pilots.graph.cli.registry import COMMANDS
from pilots.graph.command_line import USAGE_ERROR, Parser, parser_of, protected
from pilots.graph.errors import GraphError


def parser() -> Parser:
    """Return the parser of all commands in the table."""
    return parser_of("python -m pilots.graph", "Graphen aufzeichnen und ansehen.", COMMANDS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = parser().parse_args(arguments)
    try:
        return COMMANDS[given.command].execute(given)
    except GraphError as error:
        sys.stderr.write(f"{error.message_de}\n")
    except BrokenPipeError:
        raise  # nobody reads on: the frame knows what to do
    except OSError as error:
        sys.stderr.write(f"Die Datei lässt sich nicht lesen oder schreiben ({error.strerror}).\n")
    return USAGE_ERROR


if __name__ == "__main__":
    sys.exit(protected(main))
