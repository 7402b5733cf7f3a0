"""Members of a line broadcast one after the other on one color: in step s what member s holds reaches all others."""

from __future__ import annotations

from dataclasses import dataclass

from pilots.wafer.cycle.image import Position
from pilots.wafer.cycle.instructions import Instruction, receive, send, signal, wait
from pilots.wafer.cycle.lines import Line


def turns(line: Line, place: int, sources: int, wavelets: int) -> list[Position]:
    """Return the positions of a member of a line whose first `sources` members broadcast one after the other."""
    forwards, backwards = line.side(0, 1), line.side(1, 0)
    before, after = min(place, sources), max(0, sources - 1 - place)
    on, back = forwards if place + 1 < line.length else "", backwards if place else ""
    found: list[Position] = [(backwards, on + "R", before * wavelets)] if before else []
    if place < sources:
        found.append(("R", on + back, wavelets))
    return [*found, (forwards, back + "R", after * wavelets)] if after else found


@dataclass(frozen=True, slots=True)
class Turns:
    """The first `sources` members of a line broadcast `wavelets` of `lanes` numbers each from `own` into `held`, in turn."""

    line: Line
    color: int
    sources: int
    wavelets: int
    lanes: int
    own: int
    held: tuple[int, ...]  # buffers in turn

    def route(self) -> None:
        """Set the routes."""
        for place in range(self.line.length):
            self.line.image.route(
                self.line.at(place), self.color, *turns(self.line, place, self.sources, self.wavelets)
            )

    def program(self, place: int, go: int, gone: int) -> list[Instruction]:
        """Return what a thread of a member does: each step waits for `go` and ends with `gone`."""
        found: list[Instruction] = []
        for step in range(self.sources):
            held = self.held[step % len(self.held)]
            if step == place:
                move = send(self.color, self.own, self.wavelets, self.lanes, copy_to=held)
            else:
                move = receive(self.color, held, self.wavelets, self.lanes)
            found += wait(go) + move + signal(gone)
        return found
