"""What the walk over a model does alike for every framework: keep count, go on after what cannot be expressed."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pilots.graph.capture import Captured
from pilots.graph.frontends.emitter import Emitter
from pilots.graph.frontends.errors import Refused, UnsupportedModel, refuse
from pilots.graph.frontends.outputs import named
from pilots.graph.frontends.simplify import Fates, simplify
from pilots.graph.frontends.values import Value
from pilots.graph.ir import Graph
from pilots.graph.trail import Adaptation, Origin, Trail, plain

LIBRARY: Final = (
    "site-packages",
    "dist-packages",
    "<frozen",
    "<eval",
    "<string>",
    str(Path(__file__).parents[1]),
)
FRAME: Final = re.compile(r'File "([^"]+)", line (\d+), in')
UNKNOWN_DE: Final = "dafür gibt es keine Entsprechung im Graphen"
NARROWED_DE: Final = "int64 wird als int32 geführt; Werte außerhalb von int32 werden abgelehnt."
MAX_BECAME: Final = 64  # operations listed per row


class Walk:
    """Collects one row per operation. A value of None stands for the result of an operation that was refused."""

    def __init__(self, framework: str, version: str) -> None:
        self.emit = Emitter()
        self._framework, self._version = framework, version
        self._rows: list[Origin] = []
        self._makers: dict[str, int] = {}  # value of the graph -> row it is from
        self._adapted: dict[Adaptation, None] = {}

    def adapt(self, what: str, reason_de: str) -> None:
        """Note what the graph holds in another form than the model; each once."""
        self._adapted[Adaptation(plain(what), reason_de)] = None

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
        became = tuple(self.emit.emitted[before:])[:MAX_BECAME]
        self._makers |= dict.fromkeys(self.emit.made[before:], len(self._rows))
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
        self._rows.append(Origin(plain(op), plain(line_of(error)), (), reason))
        return UnsupportedModel(self._trail())

    def refuse_unsupported(self) -> Trail:
        """Return the trail so far; raises UnsupportedModel naming every operation that was refused."""
        trail = self._trail()
        if trail.unsupported:
            raise UnsupportedModel(trail)
        return trail

    def finish(self, outputs: Iterable[Value | None], labels: Sequence[str] = ()) -> Captured:
        """Return the verified capture; raises UnsupportedModel naming every operation that was refused.

        labels: names the framework has for the outputs, "" where it has none.
        """
        self.refuse_unsupported()
        try:
            names = [self.emit.reference(value) for value in outputs if value is not None]
        except Refused as error:
            raise refuse(
                "OUTPUT", "output", "a value of the graph", error, f"Ein Ausgang: {error.reason_de}."
            ) from error
        graph, weights = self.emit.builder.build(*names)
        graph, weights, fates = simplify(graph, weights, self.emit.literals, self.emit.origins)
        self._follow(graph, fates)
        return Captured(named(graph, labels), weights, self._trail())

    def _trail(self) -> Trail:
        return Trail(self._framework, self._version, tuple(self._rows), tuple(self._adapted))

    def _follow(self, graph: Graph, fates: Fates) -> None:
        """Say in every row which operations of the finished graph it is part of."""
        ops = {node.output: node.op for node in graph.nodes}
        place = {name: index for index, name in enumerate(ops)}
        parts: list[dict[str, None]] = [{} for _ in self._rows]
        for name, fate in fates.items():
            if parts:  # a condition that became a value only as an output belongs to the last row
                parts[self._makers.get(name, -1)] |= dict.fromkeys(fate)
        for index, (row, part) in enumerate(zip(self._rows, parts, strict=True)):
            became = [ops[name] for name in sorted(part, key=place.__getitem__)]
            self._rows[index] = replace(row, became=tuple(became[:MAX_BECAME]))


def place_of(frames: Iterable[tuple[str, int | str]], *, own_only: bool = False) -> str:
    """Return file and line of the innermost frame of the user's code, else of the innermost at all unless `own_only`."""
    found = list(frames)
    own = [frame for frame in found if not any(part in frame[0] for part in LIBRARY)]
    path, line = (own or ([] if own_only else found) or [("", "")])[-1]
    return f"{path.replace(chr(92), '/').rsplit('/', 1)[-1]}:{line}" if path else ""


def line_of(error: BaseException) -> str:
    """Return the line of the user's code an error came from: by its traceback, those before it, or its text."""
    chain: BaseException | None = error
    while chain is not None:
        frames = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(chain.__traceback__)]
        place = place_of(frames, own_only=True)
        if place:
            return place
        chain = chain.__cause__ or chain.__context__
    return place_of(FRAME.findall(str(error)), own_only=True)
