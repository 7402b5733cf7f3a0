"""Reductions and broadcasts along a line of elements: who sends to whom, in which order, on which colors.

A reduction is a list of messages (source, target) between places of a line. Every element adds what comes in to what it
holds, in the order of the list, and then sends once; the last incoming vector streams through. The shape of the list
is the order of the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import pairwise
from math import isqrt
from typing import Final, TypeAlias

from pilots.wafer.cycle import layout
from pilots.wafer.cycle.image import Image, Where
from pilots.wafer.cycle.instructions import Instruction, fabric, receive, send
from pilots.wafer.meeting import middle_of, spans_of

Message: TypeAlias = tuple[int, int]
Programs: TypeAlias = list[list[Instruction]]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of elements of an image: along "x" or "y", on all lines across or only some of them."""

    image: Image
    axis: str
    length: int
    across: Where = field(default_factory=lambda: slice(None))

    def at(self, place: Where) -> Where:
        """Return the index of one place, or of a slice of places."""
        return (self.across, place) if self.axis == "x" else (place, self.across)

    def side(self, source: int, target: int) -> str:
        """Return the side a wavelet leaves on its way along the line."""
        forwards, backwards = ("E", "W") if self.axis == "x" else ("S", "N")
        return forwards if target > source else backwards


OPPOSITE: Final = {"N": "S", "S": "N", "E": "W", "W": "E"}


def chain(length: int) -> list[Message]:
    """From the first to the last, neighbour to neighbour; the root is the last."""
    return [(place, place + 1) for place in range(length - 1)]


def two_level(length: int, group: int) -> list[Message]:
    """Chains in groups of `group` neighbours, then a chain over the last of each; the root is the last."""
    ends = [min(start + group, length) - 1 for start in range(0, length, group)]
    inside = [(place, place + 1) for place in range(length - 1) if place not in ends]
    return inside + list(pairwise(ends))


def tree(length: int) -> list[Message]:
    """A binary tree: neighbours pair up, an odd one waits; the root is the first."""
    found, step = [], 1
    while step < length:
        found += [(place + step, place) for place in range(0, length - step, 2 * step)]
        step *= 2
    return found


def both_ends(places: list[int]) -> list[Message]:
    """Chains from both ends to the middle one, which takes the shorter one first: what comes from behind."""
    middle = middle_of(0, len(places))
    return list(pairwise(places[middle:][::-1])) + list(pairwise(places[: middle + 1]))


def two_sided(length: int) -> list[Message]:
    """Chains from both ends of each group to its middle, then over the middles; the root is the middle of them."""
    spans = spans_of(length)
    inside = [message for span in spans for message in both_ends(list(range(*span)))]
    return inside + both_ends([middle_of(*span) for span in spans])


def storing(length: int) -> list[int]:
    """Return who stores the sum of its group before the second level of `two_sided` starts, as the open kernels do."""
    spans = spans_of(length)
    return [middle_of(*span) for span in (*spans[:1], *spans[-1:])]


SHAPES: Final[dict[str, Callable[[int], list[Message]]]] = {
    "chain": chain,
    "tree": tree,
    "two-phase": lambda length: two_level(length, max(1, isqrt(length))),
}


def root_of(messages: list[Message]) -> int:
    """Return the place where everything meets; 0 for a line of one."""
    sources = {source for source, _ in messages}
    return next((target for _, target in reversed(messages) if target not in sources), 0)


def coloured(messages: list[Message], first: int) -> list[int]:
    """Return a color per message: the lowest one none of whose messages touches the same elements."""
    taken: list[list[Message]] = []
    found = []
    for message in messages:
        low, high = min(message), max(message)
        index = 0
        while index < len(taken) and any(low <= end and start <= high for start, end in taken[index]):
            index += 1
        if index == len(taken):
            taken.append([])
        taken[index].append((low, high))
        found.append(first + index)
    return found


def colors_of(messages: list[Message]) -> int:
    """Return how many colors a reduction takes."""
    return max(coloured(messages, 0), default=-1) + 1


def reduce(
    line: Line,
    messages: list[Message],
    address: int,
    words: int,
    *,
    first: int = 0,
    combine: int = layout.ADD,
    stores: Collection[int] = (),
) -> Programs:
    """Set the routes of a reduction and return what each place does; its colors start at `first`.

    stores: places that send only what has come in completely; elsewhere the last vector streams through.
    """
    colors = coloured(messages, first)
    coming: list[list[int]] = [[] for _ in range(line.length)]
    leaving = [-1] * line.length
    for (source, target), color in zip(messages, colors, strict=True):
        path(line, source, target, color)
        coming[target].append(color)
        leaving[source] = color
    found = []
    for place in range(line.length):
        arriving, streams = coming[place], place not in stores
        rows = _steps(arriving, leaving[place] if streams else -1, address, words, combine)
        found.append(rows if streams or leaving[place] < 0 else rows + send(leaving[place], address, words))
    return found


def path(line: Line, source: int, target: int, color: int) -> None:
    """Set the routes of one color from a place to another."""
    side = line.side(source, target)
    back = OPPOSITE[side]
    line.image.route(line.at(source), color, ("R", side, 0))
    line.image.route(line.at(target), color, (back, "R", 0))
    low, high = min(source, target) + 1, max(source, target)
    if low < high:
        line.image.route(line.at(slice(low, high)), color, (back, side, 0))


def _steps(coming: list[int], leaving: int, address: int, words: int, combine: int) -> list[Instruction]:
    if not coming:
        return send(leaving, address, words) if leaving >= 0 else []
    steps = [row for color in coming[:-1] for row in receive(color, address, words, combine=combine)]
    return steps + fabric(words, color_in=coming[-1], color_out=leaving, address=address, combine=combine)


def spread(line: Line, root: int, address: int, wavelets: int, color: int, *, lanes: int = 1) -> Programs:
    """Set the routes of a broadcast from one place to all others and return what each place does."""
    last = line.length - 1
    if last == 0:
        return [[]]
    forwards, backwards = line.side(0, 1), line.side(1, 0)
    ways = (forwards if root < last else "") + (backwards if root > 0 else "")
    line.image.route(line.at(root), color, ("R", ways, 0))
    if root < last:
        line.image.route(line.at(slice(root + 1, last)), color, (backwards, forwards + "R", 0))
        line.image.route(line.at(last), color, (backwards, "R", 0))
    if root > 0:
        line.image.route(line.at(slice(1, root)), color, (forwards, backwards + "R", 0))
        line.image.route(line.at(0), color, (forwards, "R", 0))
    own, other = send(color, address, wavelets, lanes), receive(color, address, wavelets, lanes)
    return [own if place == root else other for place in range(line.length)]


def star(line: Line, address: int, words: int, color: int) -> Programs:
    """All send to the first on one color: each router lets its own wavelets pass, then those from behind."""
    last = line.length - 1
    forwards, backwards = line.side(0, 1), line.side(1, 0)
    line.image.route(line.at(slice(1, last)), color, ("R", backwards, words), (forwards, backwards, 0))
    line.image.route(line.at(last), color, ("R", backwards, 0))
    line.image.route(line.at(0), color, (forwards, "R", 0))
    own = [row for _ in range(last) for row in receive(color, address, words, combine=layout.ADD)]
    return [own, *([send(color, address, words)] * last)]
