"""A wavelet program that is wrong on purpose: what a deadlock looks like."""

from __future__ import annotations

from typing import Final

import numpy as np

from pilots.graph.rng import uniform
from pilots.wafer.cycle import layout
from pilots.wafer.cycle.image import EVERYWHERE, Image
from pilots.wafer.cycle.instructions import receive, send
from pilots.wafer.cycle.kernels.base import Wavelets
from pilots.wafer.handlers.base import Array
from pilots.wafer.machine import Machine

# What a message finds room in while its receiver takes nothing: two routers and the queue behind the ramp.
ROOM: Final = 3 * layout.DEPTH


def around(width: int, height: int) -> list[tuple[int, int]]:
    """Return the border of a rectangle clockwise, as (x, y); both sides at least 2."""
    top = [(x, 0) for x in range(width - 1)]
    right = [(width - 1, y) for y in range(height - 1)]
    bottom = [(x, height - 1) for x in range(width - 1, 0, -1)]
    left = [(0, y) for y in range(height - 1, 0, -1)]
    return top + right + bottom + left


def all_send_first(machine: Machine, width: int, height: int, words: int) -> tuple[Wavelets, Array]:
    """Return a ring in which everybody sends a vector before it takes the one of its neighbour, and the result.

    More than ROOM words have no place to stay: all wait for each other for ever.
    """
    image = Image(machine, width, height, colors=2)
    values = np.rint(uniform(1, "x", (height, width, words), 100.0))
    own, taken = image.allot(words, values), image.allot(words)
    ring = around(width, height)
    want = np.zeros_like(values)
    for index, (x, y) in enumerate(ring):
        before, after = ring[index - 1], ring[(index + 1) % len(ring)]
        leaving, coming = index % 2, (index - 1) % 2
        image.route((y, x), leaving, ("R", _side((x, y), after), 0))
        image.route((y, x), coming, (_side((x, y), before), "R", 0))
        image.program((y, x), send(leaving, own, words) + receive(coming, taken, words))
        want[y, x] = values[before[1], before[0]]

    def collect(memory: Array) -> Array:
        return np.ascontiguousarray(memory[*EVERYWHERE, taken : taken + words])

    return Wavelets(image, collect), want


def _side(here: tuple[int, int], there: tuple[int, int]) -> str:
    """Return the side of an element on which a neighbour lies."""
    sides = {(0, -1): "N", (1, 0): "E", (0, 1): "S", (-1, 0): "W"}
    return sides[there[0] - here[0], there[1] - here[1]]
