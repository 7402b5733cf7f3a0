"""Where a graph came from: one row per operation of the framework, with its place in the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

MAX_ROWS: Final = 100_000
MAX_TEXT: Final = 300


@dataclass(frozen=True, slots=True)
class Origin:
    """One operation of the framework.

    place: file and line, or the name of the node; became: operations of the graph it is part of, empty if it only moved
    or folded numbers; reason: German sentence why it cannot be expressed, "" if it can; custom: not one of the framework itself.
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
class Adaptation:
    """What a capture holds in another form than the model: what it is about, and a German sentence."""

    what: str
    reason: str

    def to_json(self) -> dict[str, str]:
        """Return the canonical form."""
        return {"what": self.what, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Trail:
    """Which framework and release a graph was captured from, its operations in order, and what was adapted."""

    framework: str = ""
    version: str = ""
    rows: tuple[Origin, ...] = ()
    adaptations: tuple[Adaptation, ...] = ()

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
            "adaptations": [item.to_json() for item in self.adaptations],
        }


def plain(text: str) -> str:
    """Return a text that may stand in a file and in a sentence: ASCII, printable, short."""
    printable = "".join(item if " " <= item <= "~" else "?" for item in text[: MAX_TEXT + 1])
    return printable if len(printable) <= MAX_TEXT else printable[: MAX_TEXT - 3] + "..."
