"""Where a graph came from: one row per operation of the framework, with its place in the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

MAX_ROWS: Final = 100_000
MAX_TEXT: Final = 300


@dataclass(frozen=True, slots=True)
class Origin:
    """One operation of the framework.

    place: file and line, or the name of the node; became: operations of the graph, empty if it only moved or folded
    numbers; reason: German sentence why it cannot be expressed, "" if it can; custom: not one of the framework itself.
    """

    op: str
    place: str
    became: tuple[str, ...] = ()
    reason: str = ""
    custom: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            "op": self.op,
            "place": self.place,
            "became": list(self.became),
            "reason": self.reason,
            "custom": self.custom,
        }


@dataclass(frozen=True, slots=True)
class Trail:
    """Which framework and release a graph was captured from, and its operations in order."""

    framework: str = ""
    version: str = ""
    rows: tuple[Origin, ...] = ()

    @property
    def unsupported(self) -> tuple[Origin, ...]:
        """Rows that cannot be expressed."""
        return tuple(row for row in self.rows if row.reason)

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            "framework": self.framework,
            "version": self.version,
            "rows": [row.to_json() for row in self.rows],
        }


def plain(text: str) -> str:
    """Return a text that may stand in a file and in a sentence: ASCII, printable, short."""
    printable = "".join(item if " " <= item <= "~" else "?" for item in text[: MAX_TEXT + 1])
    return printable if len(printable) <= MAX_TEXT else printable[: MAX_TEXT - 3] + "..."
