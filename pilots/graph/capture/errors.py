"""The one error of the capture format."""

from __future__ import annotations

from pilots.graph.errors import GraphError


class CaptureError(GraphError):
    """A file is no legal capture; `position` says which part is at fault."""


def refuse(code: str, position: str, expected: str, got: object, sentence: str) -> CaptureError:
    """Return the error; `sentence` is German and complete."""
    shown = "".join(item if " " <= item <= "~" else "?" for item in str(got)[:120])
    return CaptureError(code, position=position, expected=expected, got=shown, message_de=sentence)
