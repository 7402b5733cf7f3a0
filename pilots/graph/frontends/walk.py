"""What the walk over a model does alike for every framework: keep count, go on after what cannot be expressed."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from pilots.graph.capture import Captured
from pilots.graph.frontends.emitter import Emitter
from pilots.graph.frontends.errors import Refused, UnsupportedModel, refuse
from pilots.graph.frontends.simplify import simplify
from pilots.graph.frontends.values import Value
from pilots.graph.trail import Origin, Trail, plain

LIBRARY: Final = (
    "site-packages",
    "dist-packages",
    "<frozen",
    "<eval",
    "<string>",
    str(Path(__file__).parent),
)
FRAME: Final = re.compile(r'File "([^"]+)", line (\d+), in')
UNKNOWN_DE: Final = "dafür gibt es keine Entsprechung im Graphen"


class Walk:
    """Collects one row per operation. A value of None stands for the result of an operation that was refused."""

    def __init__(self, framework: str, version: str) -> None:
        self.emit = Emitter()
        self._framework, self._version = framework, version
        self._rows: list[Origin] = []

    def step(
        self,
        op: str,
        place: str,
        given: Iterable[Any],
        action: Callable[[], Any] | None,
        *,
        custom: bool = False,
    ) -> Any:
        """Return what `action` makes of one operation, None if it was refused or needs what was refused.

        action is None where the framework's operation is not known at all.
        """
        before = len(self.emit.emitted)
        result, reason = None, ""
        if action is None:
            reason = UNKNOWN_DE
        elif all(item is not None for item in given):
            try:
                result = action()
            except Refused as error:
                reason = error.reason_de
        became = tuple(self.emit.emitted[before:])[:64]
        self._rows.append(Origin(plain(op), plain(place), became, reason, custom))
        return result

    def taken(self, op: str, place: str, action: Callable[[], Any]) -> Any:
        """Return an input, a weight or a part of a result; one that is refused is a row of its own, and None."""
        try:
            return action()
        except Refused as error:
            self._rows.append(Origin(plain(op), plain(place), (), error.reason_de))
            return None

    def untraceable(self, op: str, error: Exception) -> UnsupportedModel:
        """Return the error of a model that gives no fixed graph, with the line of the user's code that is at fault."""
        text = str(error)
        first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
        reason = f"kein fester Graph, denn Kontrollfluss und Formen dürfen nicht von Daten abhängen ({plain(first)[:160]})"
        self._rows.append(Origin(plain(op), plain(_line(error)), (), reason))
        return UnsupportedModel(Trail(self._framework, self._version, tuple(self._rows)))

    def refuse_unsupported(self) -> Trail:
        """Return the trail so far; raises UnsupportedModel naming every operation that was refused."""
        trail = Trail(self._framework, self._version, tuple(self._rows))
        if trail.unsupported:
            raise UnsupportedModel(trail)
        return trail

    def finish(self, outputs: Iterable[Value | None]) -> Captured:
        """Return the verified capture; raises UnsupportedModel naming every operation that was refused."""
        trail = self.refuse_unsupported()
        try:
            names = [self.emit.reference(value) for value in outputs if value is not None]
        except Refused as error:
            raise refuse(
                "OUTPUT", "output", "a value of the graph", error, f"Ein Ausgang: {error.reason_de}."
            ) from error
        graph, weights = self.emit.builder.build(*names)
        graph, weights = simplify(graph, weights, self.emit.literals, self.emit.origins)
        return Captured(graph, weights, trail)


def place_of(frames: Iterable[tuple[str, int | str]], *, own_only: bool = False) -> str:
    """Return file and line of the innermost frame of the user's code, else of the innermost at all unless `own_only`."""
    found = list(frames)
    own = [frame for frame in found if not any(part in frame[0] for part in LIBRARY)]
    path, line = (own or ([] if own_only else found) or [("", "")])[-1]
    return f"{path.replace(chr(92), '/').rsplit('/', 1)[-1]}:{line}" if path else ""


def _line(error: Exception) -> str:
    """Return the line of the user's code an error came from: by its traceback, those before it, or its text."""
    chain: BaseException | None = error
    while chain is not None:
        frames = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(chain.__traceback__)]
        place = place_of(frames, own_only=True)
        if place:
            return place
        chain = chain.__cause__ or chain.__context__
    return place_of(FRAME.findall(str(error)), own_only=True)
