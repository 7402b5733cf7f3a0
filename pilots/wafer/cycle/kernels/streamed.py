"""A product whose weights come in from outside: feeders at the north edge send them down the columns, one per wavelet."""

from __future__ import annotations

from typing import Final

import numpy as np

from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle import layout, lines
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.instructions import Instruction, block, fabric, milli_of, receive, send, signal, wait
from pilots.wafer.cycle.kernels.base import Wavelets, cuts, joined, start_up, tiles
from pilots.wafer.cycle.kernels.heads import Area, area
from pilots.wafer.cycle.kernels.products import operands
from pilots.wafer.cycle.lines import Line
from pilots.wafer.handlers.base import Array, Inputs
from pilots.wafer.program import Call

WEIGHTS: Final = 0  # colors: weights down the columns, sums along the rows on two in turn
SUMS: Final = 1
FREE, HERE, DONE = 0, 1, 2  # semaphores: a buffer is free, a column of weights is in it, its sums are done
BUFFERS: Final = 2


def streamed(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Each column of the weights is multiplied while the next one comes in; its sums chain eastwards meanwhile.

    The first row of the image are the feeders, outside of the rectangle of the call: they hold the weights.
    """
    left, right = operands(call, inputs)
    tile_m, tile_k, _ = call.tile
    rows = cuts(call, left.shape[0], tile_m, call.rect.height)
    columns = cuts(call, left.shape[1], tile_k, call.rect.width)
    n = right.shape[1]
    image = Image(at.machine, columns, rows + 1, colors=3, threads=3)
    held = area(image, tile_m, tile_k)
    image.load(held.address, tiles(left, tile_m, tile_k, rows, columns), np.s_[1:, :])
    store = area(image, n, tile_k)
    fed = tiles(np.ascontiguousarray(right.T), n, tile_k, 1, columns)
    image.load(store.address, fed, np.s_[:1, :])
    buffers = [area(image, tile_k) for _ in range(BUFFERS)]
    sums = area(image, n, tile_m)
    lines.spread(Line(image, "y", rows + 1), 0, store.address, store.numbers, WEIGHTS)
    image.program(np.s_[0, :], start_up(at) + send(WEIGHTS, store.address, store.numbers))
    image.program(np.s_[1:, :], start_up(at) + _multiply(held, buffers, sums, at))
    image.program(np.s_[1:, :], _take(buffers, n), thread=1)
    row = Line(image, "x", columns, across=np.s_[1:])
    for x in range(columns):
        if x + 1 < columns:
            lines.path(row, x, x + 1, SUMS + x % 2)
        image.program(row.at(x), _chain(sums, x, columns), thread=2)

    def collect(memory: Array) -> Array:
        last = sums.of(memory[1:, -1]).swapaxes(1, 2)
        return joined(last.reshape(rows, 1, -1), tile_m, n, left.shape[0], n)

    return Wavelets(image, collect)


def _take(buffers: list[Area], n: int) -> list[Instruction]:
    """Return how weights come in: a column of them into each free buffer."""
    found: list[Instruction] = []
    for column in range(n):
        buffer = buffers[column % BUFFERS]
        found += wait(FREE) + receive(WEIGHTS, buffer.address, buffer.numbers) + signal(HERE)
    return found


def _multiply(held: Area, buffers: list[Area], sums: Area, at: Setting) -> list[Instruction]:
    """Return the products: every weight starts a multiply-add over the tokens of the element."""
    n, tile_m = sums.shape
    tile_k = held.shape[1]
    setup = at.machine.dsd_setup_cycles.value
    milli = milli_of(tile_k * (setup + tile_m * at.fma_cycles))
    found = [row for _ in range(min(BUFFERS, n)) for row in signal(FREE)]
    for column in range(n):
        buffer, result = buffers[column % BUFFERS].address, sums.address + column * tile_m
        found += wait(HERE) + block(held.address, buffer, result, (tile_m, tile_k, 1), milli)
        found += (signal(FREE) if column + BUFFERS < n else []) + signal(DONE)
    return found


def _chain(sums: Area, x: int, columns: int) -> list[Instruction]:
    """Return how the sums of a column of weights go on: what comes from the west is added to the own ones."""
    n, tile_m = sums.shape
    found: list[Instruction] = []
    for column in range(n):
        found += wait(DONE)
        if columns > 1:
            found += fabric(
                tile_m,
                color_in=SUMS + (x + 1) % 2 if x else -1,
                color_out=SUMS + x % 2 if x + 1 < columns else -1,
                address=sums.address + column * tile_m,
                combine=layout.ADD,
            )
    return found
