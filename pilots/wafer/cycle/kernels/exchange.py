"""Numbers that change their owner: along rows, then along columns, then along rows again.

Every number takes the same three ways: along its row to a column it is dealt to, along that column to its row, along
that row to its element. Where the column is that of the target there is no third way. Dealing numbers out over all
columns keeps links evenly busy when an element sends all it has to one other (transpose); whichever plan has the less
busy links is taken.

On a line each direction has a color of its own, and wavelets go in packets that a queue can hold, so that a busy link
holds up nobody far away. Packets go in turns, the first of everyone before the second of anyone, and in a turn in rounds
by their distance: in round d every link carries what goes d places far, so all links work at the same time. In a round a
router lets the wavelets of its own element pass, then what comes from behind, nearest first; the last of them are for its
own element. So its switch turns round by round through three positions: up the ramp and on, on, down the ramp (and on,
where several elements need the same). Elements pack what goes to the same targets side by side, and put what arrived in
its place at the end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from pilots.wafer.costs.traffic import PACKET
from pilots.wafer.cycle.image import Position
from pilots.wafer.cycle.layout import DEPTH as QUEUE

Ids = npt.NDArray[np.int64]
EVERY_ROW: Final = -1
SHARED_PACKET: Final = QUEUE  # wavelets of a packet for several elements; PACKET for one
# Axis and direction of a stream: the side it goes to and the one it comes from.
SIDES: Final = {
    ("x", True): ("E", "W"),
    ("x", False): ("W", "E"),
    ("y", True): ("S", "N"),
    ("y", False): ("N", "S"),
}


@dataclass(frozen=True, slots=True)
class Homes:
    """Where numbers lie at the start, by number (0 stands for none): column, row (or EVERY_ROW), place in its element."""

    column: Ids
    row: Ids
    slot: Ids


@dataclass(frozen=True, slots=True)
class Group:
    """A packet of an element: numbers that go to the same targets; places count from where the stream starts, ascending.

    index: how many packets of the element for the same targets go before it.
    """

    source: int
    targets: tuple[int, ...]
    numbers: tuple[int, ...]
    wavelets: int
    index: int

    def turn(self) -> tuple[int, int, int, tuple[int, ...]]:
        """Return when it is its turn: first packets first, then the shorter way, then the nearer source."""
        return (self.index, self.targets[-1] - self.source, -self.source, self.targets)

    def ways(self, place: int, side: str) -> str:
        """Return where the router of a place sends it."""
        return (side if self.targets[-1] > place else "") + ("R" if place in self.targets else "")


@dataclass(slots=True)
class Stream:
    """One direction of a stage: what elements (y, x) send, what reaches them in order, and what their routers do."""

    axis: str
    forwards: bool
    sent: dict[tuple[int, int], list[Group]] = field(default_factory=dict)
    came: dict[tuple[int, int], list[Group]] = field(default_factory=dict)
    routes: dict[tuple[int, int], list[Position]] = field(default_factory=dict)

    @property
    def busiest(self) -> int:
        """Wavelets of the busiest router: all positions of its switch together."""
        return max((sum(item[2] for item in positions) for positions in self.routes.values()), default=0)


Stage = tuple[Stream, Stream]


def plan(need: Ids, homes: Homes, lanes: int) -> list[Stage]:
    """Return how every element gets the numbers it needs [height, width, slots], 0 for none; the cheaper of two plans."""
    width = need.shape[1]
    direct = _plan(need, homes, lanes, None)
    if not direct:
        return []
    dealt = _plan(need, homes, lanes, (homes.slot // lanes + homes.column) % width)
    return min(direct, dealt, key=_busy)


def _busy(stages: list[Stage]) -> int:
    return sum(max(stream.busiest for stream in stage) for stage in stages)


def _plan(need: Ids, homes: Homes, lanes: int, dealt: Ids | None) -> list[Stage]:
    """dealt: the column each number passes through; None for that of its target."""
    y, x, _ = np.nonzero(need)
    wanted = np.unique(np.stack([y, x, need[need > 0]]), axis=1)
    y1, x1, number = wanted
    x0, y0 = homes.column[number], homes.row[number]
    y0 = np.where(y0 == EVERY_ROW, y1, y0)
    via = x1 if dealt is None else dealt[number]
    sizes = {"x": need.shape[1], "y": need.shape[0]}
    moves = (("x", y0, x0, via), ("y", via, y0, y1), ("x", y1, via, x1))
    stages = (
        _stage(axis, sizes[axis], np.stack([line, source, target, number]), lanes)
        for axis, line, source, target in moves
    )
    return [stage for stage in stages if stage[0].sent or stage[1].sent]


def _stage(axis: str, length: int, moves: Ids, lanes: int) -> Stage:
    """Return both directions of a stage; moves: line, source, target, number."""
    moves = np.unique(moves[:, moves[1] != moves[2]], axis=1)
    found = []
    for forwards in (True, False):
        stream = Stream(axis, forwards)
        chosen = moves[:, (moves[2] > moves[1]) == forwards]
        flipped = chosen if forwards else _flipped(chosen, length)
        for line in np.unique(flipped[0]):
            _along(stream, int(line), length, flipped[1:, flipped[0] == line], lanes)
        found.append(stream)
    return (found[0], found[1])


def _flipped(moves: Ids, length: int) -> Ids:
    line, source, target, number = moves
    return np.stack([line, length - 1 - source, length - 1 - target, number])


def _along(stream: Stream, line: int, length: int, moves: Ids, lanes: int) -> None:
    """Set what happens on one line; moves: source, target, number, counted from where the stream starts."""
    own = _groups(moves, lanes)
    passing: list[Group] = []
    side, back = SIDES[stream.axis, stream.forwards]
    for place in range(length):
        at = place if stream.forwards else length - 1 - place
        element = (line, at) if stream.axis == "x" else (at, line)
        here = sorted([*own.get(place, ()), *passing], key=Group.turn)
        runs = [
            (back if group.source < place else "R", group.ways(place, side), group.wavelets) for group in here
        ]
        if runs:
            stream.routes[element] = _merged(runs)
        if place in own:
            stream.sent[element] = sorted(own[place], key=Group.turn)
        if came := [group for group in here if place in group.targets]:
            stream.came[element] = came
        passing = [group for group in here if group.targets[-1] > place]


def _groups(moves: Ids, lanes: int) -> dict[int, list[Group]]:
    """Return the packets of each source."""
    targets: dict[tuple[int, int], list[int]] = defaultdict(list)
    for source, target, number in moves.T.tolist():
        targets[source, number].append(target)
    numbers: dict[tuple[int, tuple[int, ...]], list[int]] = defaultdict(list)
    for (source, number), listed in targets.items():
        numbers[source, tuple(sorted(listed))].append(number)
    found: dict[int, list[Group]] = defaultdict(list)
    for (source, places), same in numbers.items():
        size = lanes * (PACKET if len(places) == 1 else SHARED_PACKET)
        same.sort()
        for index, first in enumerate(range(0, len(same), size)):
            part = tuple(same[first : first + size])
            found[source].append(Group(source, places, part, -(-len(part) // lanes), index))
    return found


def _merged(runs: list[Position]) -> list[Position]:
    """Return runs of wavelets that go the same way as one position of the switch."""
    found: list[Position] = []
    for way_in, ways_out, wavelets in runs:
        before = found.pop()[2] if found and found[-1][:2] == (way_in, ways_out) else 0
        found.append((way_in, ways_out, before + wavelets))
    return found
