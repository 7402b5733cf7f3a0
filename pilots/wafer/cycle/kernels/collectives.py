"""Collectives by themselves, as the published formulas describe them: without launch, every element ready at cycle 0."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from pilots.wafer.costs import collectives as formulas
from pilots.wafer.cycle import lines
from pilots.wafer.cycle.image import EVERYWHERE, Image
from pilots.wafer.cycle.instructions import receive, send
from pilots.wafer.cycle.lines import Line, Message, Programs
from pilots.wafer.handlers.base import Array
from pilots.wafer.machine import Machine


@dataclass(frozen=True, slots=True)
class Collective:
    """An image whose elements hold a vector each at `address`, `words` long; root: (x, y) where the result lies."""

    image: Image
    address: int
    words: int
    root: tuple[int, int]

    def load(self, values: Array) -> None:
        """Put values [height, width, words] onto the elements."""
        self.image.load(self.address, values, EVERYWHERE)


def _line(machine: Machine, length: int, words: int, colors: int) -> tuple[Line, int]:
    image = Image(machine, length, 1, colors=colors)
    return Line(image, "x", length), image.allot(words)


def _set(line: Line, programs: Programs) -> None:
    for place, program in enumerate(programs):
        line.image.program(line.at(place), program)


def broadcast(machine: Machine, length: int, words: int) -> Collective:
    """From the first to all others."""
    line, address = _line(machine, length, words, 1)
    _set(line, lines.spread(line, 0, address, words, 0))
    return Collective(line.image, address, words, (0, 0))


def star(machine: Machine, length: int, words: int) -> Collective:
    """All to the first."""
    line, address = _line(machine, length, words, 1)
    _set(line, lines.star(line, address, words, 0))
    return Collective(line.image, address, words, (0, 0))


def _reduce(
    messages: list[Message], machine: Machine, length: int, words: int, stores: Collection[int] = ()
) -> Collective:
    line, address = _line(machine, length, words, lines.colors_of(messages))
    _set(line, lines.reduce(line, messages, address, words, stores=stores))
    return Collective(line.image, address, words, (lines.root_of(messages), 0))


def chain(machine: Machine, length: int, words: int) -> Collective:
    """From neighbour to neighbour."""
    return _reduce(lines.chain(length), machine, length, words)


def tree(machine: Machine, length: int, words: int) -> Collective:
    """A binary tree."""
    return _reduce(lines.tree(length), machine, length, words)


def two_phase(machine: Machine, length: int, words: int) -> Collective:
    """Chains in groups of the root of their number, then over their heads."""
    return _reduce(lines.SHAPES["two-phase"](length), machine, length, words)


def two_level(machine: Machine, length: int, words: int) -> Collective:
    """Chains from both ends of groups and over their middles."""
    return _reduce(lines.two_sided(length), machine, length, words, lines.storing(length))


def allreduce_line(machine: Machine, length: int, words: int) -> Collective:
    """The two-level reduction and back from its root to all."""
    return allreduce(machine, length, 1, words)


def allreduce(machine: Machine, width: int, height: int, words: int) -> Collective:
    """All-reduce over a rectangle: along every row, along the column of their roots, and both ways back."""
    row, column = lines.two_sided(width), lines.two_sided(height)
    row_colors, column_colors = lines.colors_of(row), lines.colors_of(column)
    image = Image(machine, width, height, colors=row_colors + column_colors + 2)
    address = image.allot(words)
    root_x, root_y = lines.root_of(row), lines.root_of(column)
    along, across = Line(image, "x", width), Line(image, "y", height, root_x)
    first = row_colors + column_colors
    there = lines.reduce(along, row, address, words, stores=lines.storing(width))
    down = lines.reduce(across, column, address, words, first=row_colors, stores=lines.storing(height))
    back = lines.spread(across, root_y, address, words, first)
    out = lines.spread(along, root_x, address, words, first + 1)
    for x in range(width):
        image.program(along.at(x), there[x] + out[x])
    for y in range(height):
        image.program(across.at(y), there[root_x] + down[y] + back[y] + out[root_x])
    return Collective(image, address, words, (root_x, root_y))


def broadcast_2d(machine: Machine, width: int, height: int, words: int) -> Collective:
    """From the corner along the first row, and down every column from there, on one color."""
    image = Image(machine, width, height, colors=1)
    address = image.allot(words)
    down = "S" if height > 1 else ""
    east = "E" if width > 1 else ""
    image.route((0, slice(1, width)), 0, ("W", "ER" + down, 0))
    image.route((0, width - 1), 0, ("W", "R" + down, 0))
    image.route((0, 0), 0, ("R", east + down, 0))
    image.route((slice(1, height), slice(None)), 0, ("N", "SR", 0))
    if height > 1:
        image.route((height - 1, slice(None)), 0, ("N", "R", 0))
    image.program(EVERYWHERE, receive(0, address, words))
    image.program((0, 0), send(0, address, words))
    return Collective(image, address, words, (0, 0))


Build = Callable[[Machine, int, int], Collective]
Formula = Callable[[int, int, Machine], float]
# name -> (program, formula of the timing model), both on a line of elements
LINES: Final[dict[str, tuple[Build, Formula]]] = {
    "broadcast": (broadcast, formulas.broadcast),
    "chain": (chain, formulas.chain),
    "star": (star, formulas.star),
    "tree": (tree, formulas.tree),
    "two-phase": (two_phase, formulas.two_phase),
    "two-level": (two_level, formulas.two_level),
    "allreduce": (allreduce_line, formulas.allreduce_line),
}
