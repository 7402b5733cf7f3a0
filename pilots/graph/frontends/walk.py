"""What the walk over a model does alike for every framework: keep count, go on after what cannot be expressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pilots.graph.capture import Captured
from pilots.graph.frontends.emitter import Emitter
from pilots.graph.frontends.errors import Refused, UnsupportedModel, refuse
from pilots.graph.frontends.simplify import simplify
from pilots.graph.frontends.values import Value
from pilots.graph.trail import Origin, Trail, plain

UNKNOWN_DE = "dafür gibt es keine Entsprechung im Graphen"


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

    def finish(self, outputs: Iterable[Value | None]) -> Captured:
        """Return the verified capture; raises UnsupportedModel naming every operation that was refused."""
        trail = Trail(self._framework, self._version, tuple(self._rows))
        if trail.unsupported:
            raise UnsupportedModel(trail)
        try:
            names = [self.emit.reference(value) for value in outputs if value is not None]
        except Refused as error:
            raise refuse(
                "OUTPUT", "output", "a value of the graph", error, f"Ein Ausgang: {error.reason_de}."
            ) from error
        graph, weights = self.emit.builder.build(*names)
        graph, weights = simplify(graph, weights, self.emit.literals, self.emit.origins)
        return Captured(graph, weights, trail)
