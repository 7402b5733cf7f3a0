"""What keeps a model of a framework from becoming a graph."""

from __future__ import annotations

from typing import Final

from pilots.graph.errors import GraphError
from pilots.graph.trail import Trail, plain

SHOWN: Final = 5  # operations listed in the sentence; the trail has all of them
MAX_SHOWN: Final = 160  # characters of a text of the framework in a sentence


class Refused(Exception):
    """One operation cannot be expressed; `reason_de` says why. Whoever walks the operations adds op and place."""

    def __init__(self, reason_de: str) -> None:
        super().__init__(reason_de)
        self.reason_de = reason_de


class FrontEndError(GraphError):
    """A model as a whole cannot be captured."""


class UnsupportedModel(FrontEndError):
    """Operations of the model cannot be expressed; `trail` lists every operation, the unsupported ones with reason."""

    def __init__(self, trail: Trail) -> None:
        rows = trail.unsupported
        listed = "; ".join(f"{row.op} ({row.place or 'ohne Ort'}): {row.reason}" for row in rows[:SHOWN])
        more = f" Weitere: {len(rows) - SHOWN}." if len(rows) > SHOWN else ""
        super().__init__(
            "UNSUPPORTED",
            position=rows[0].place,
            expected="operations of the table",
            got=", ".join(sorted({row.op for row in rows}))[:200],
            message_de=f"Das Modell enthält nicht unterstützte Operationen: {listed}.{more}",
        )
        self.trail = trail


def shown(text: str) -> str:
    """Return a text of a framework or of the user's code for a sentence: printable, short, in one line."""
    line = "".join(item if item.isprintable() else " " for item in text)
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}..."


def refuse(code: str, position: str, expected: str, got: object, sentence: str) -> FrontEndError:
    """Return the error of a model as a whole; `sentence` is German and complete."""
    return FrontEndError(
        code, position=position, expected=expected, got=plain(str(got))[:120], message_de=sentence
    )
