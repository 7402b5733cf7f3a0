"""Traffic on a mesh that another network simulator can be set beside: permutations, packets of one flit, routes x then y.

Every element sends `wavelets` packets of one wavelet to one fixed other element. Routes are static, as colors allow:
uniform traffic has no program, because a wavelet cannot choose its target. In BookSim2 the same is
`topology = mesh; k = 64; n = 2; routing_function = dor; packet_size = 1; vc_buf_size = 8; num_vcs = 1;` with
`traffic = neighbor` or `traffic = transpose` and the injection rate given per element and cycle; its neighbor pattern
wraps around at the edge, where an element here stays silent.
"""

from __future__ import annotations

import numpy as np

from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.instructions import MILLI, fabric, receive, repeat
from pilots.wafer.machine import Machine

WORDS = 8


def neighbours(machine: Machine, side: int, wavelets: int, rate: float) -> Image:
    """(x, y) sends to (x + 1, y + 1) at `rate` wavelets per cycle: one hop east, one south."""
    image = Image(machine, side, side, colors=4, threads=2)
    own, came = image.allot(WORDS, np.arange(WORDS, dtype=np.float32)), image.allot(WORDS)
    times = wavelets // WORDS
    for x in range(side - 1):
        for y in range(side - 1):
            color = x % 2 + 2 * (y % 2)  # a source, a bend and a target meet in one router
            image.route((y, x), color, ("R", "E", 0))
            image.route((y, x + 1), color, ("W", "S", 0))
            image.route((y + 1, x + 1), color, ("N", "R", 0))
            sending = fabric(WORDS, color_out=color, address=own, milli=round(MILLI / rate))
            image.program((y, x), repeat(times, sending))
            image.program((y + 1, x + 1), repeat(times, receive(color, came, WORDS)), 1)
    return image


def transpose(machine: Machine, side: int, wavelets: int) -> Image:
    """(x, y) sends to (y, x): along its row to the diagonal, from there along that column.

    The link into the diagonal is full all the time, which is one wavelet per element and `side - 1` cycles at the edge.
    Routers let their own wavelets pass before those from behind, and hand the nearest of a column its own first.
    """
    image = Image(machine, side, side, colors=2, threads=2)
    own, came = image.allot(wavelets, np.ones(wavelets, dtype=np.float32)), image.allot(wavelets)
    # color 0: east, then north; color 1: west, then south
    for color, (along, back, on, over) in enumerate((("E", "W", "N", "S"), ("W", "E", "S", "N"))):
        step = 1 if color == 0 else -1
        for y in range(side):
            image.route((y, y), color, (back, on, 0))
            for x in range(y)[::1] if color == 0 else range(y + 1, side):
                behind = 0 <= x - step < side
                passing = ((back, along, 0),) if behind else ()
                image.route((y, x), color, ("R", along, wavelets if behind else 0), *passing)
                image.program((y, x), fabric(wavelets, color_out=color, address=own))
                # (y, x) as (column, row): the target of this element
                further = 0 <= x - step < side
                onward = ((over, on, 0),) if further else ()
                image.route((x, y), color, (over, "R", wavelets if further else 0), *onward)
                image.program((x, y), receive(color, came, wavelets), 1)
    return image
