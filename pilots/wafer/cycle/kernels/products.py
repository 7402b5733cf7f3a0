"""Products whose weights stay: STATIONARY chains its sums down the columns, GEMV meets in a two-level tree and spreads back."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle import lines
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.instructions import block, milli_of
from pilots.wafer.cycle.kernels.base import (
    Wavelets,
    cuts,
    joined,
    lanes_of,
    room,
    start_up,
    tiles,
    wavelets_of,
)
from pilots.wafer.cycle.lines import Line
from pilots.wafer.handlers.base import Array, Inputs, number, wide
from pilots.wafer.numerics import Float
from pilots.wafer.program import Call


def operands(call: Call, inputs: Inputs) -> tuple[Float, Float]:
    """Return left [m, k] and right [k, n] of a product; raises ValueError if they do not fit."""
    left, right = wide(inputs[0]), wide(inputs[1])
    if number(call, "transposed", 0):
        right = np.ascontiguousarray(right.T)
    if left.ndim != 2 or left.shape[1] != right.shape[0]:
        raise ValueError(f"{left.shape} times {right.shape} is no product")
    return left, right


@dataclass(frozen=True, slots=True)
class _Held:
    """Elements that hold tiles of the weights: the image, where left, right and sums lie, and the sizes."""

    image: Image
    left: int
    right: int
    sums: int
    tile: tuple[int, int, int]
    size: tuple[int, int]

    def collect(self, memory: Array) -> Array:
        """Return the result from the last row of elements."""
        tile_m, _, tile_n = self.tile
        last = memory[-1:, :, self.sums : self.sums + tile_m * tile_n]
        return joined(last, tile_m, tile_n, *self.size)


def _held(call: Call, left: Float, right: Float, at: Setting, colors: int) -> tuple[_Held, Float]:
    """Return the elements with their weights in place, and the activations [rows, 1, tile_m * tile_k]."""
    tile_m, tile_k, tile_n = call.tile
    cuts(call, left.shape[0], tile_m, 1)
    rows = cuts(call, left.shape[1], tile_k, call.rect.height)
    columns = cuts(call, right.shape[1], tile_n, call.rect.width)
    lanes = lanes_of(at)
    image = Image(at.machine, columns, rows, colors=colors, lanes=lanes)
    held = _Held(
        image,
        left=image.allot(room(tile_m * tile_k, lanes)),
        right=image.allot(tile_k * tile_n, tiles(right, tile_k, tile_n, rows, columns)),
        sums=image.allot(tile_m * tile_n),
        tile=(tile_m, tile_k, tile_n),
        size=(left.shape[0], right.shape[1]),
    )
    return held, tiles(left, tile_m, tile_k, 1, rows).swapaxes(0, 1)


def stationary(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """The product of an activation with weights that stay."""
    return stationary_product(call, *operands(call, inputs), at)


def stationary_product(call: Call, left: Float, right: Float, at: Setting) -> Wavelets:
    """Activations go along the rows, sums chain down the columns: tiles of k in order (formulas bcast1d and chain)."""
    held, left = _held(call, left, right, at, 3)
    image, (tile_m, tile_k, tile_n) = held.image, held.tile
    image.load(held.left, left, np.s_[:, :1])
    lanes = lanes_of(at)
    along, down = Line(image, "x", image.width), Line(image, "y", image.height)
    coming = lines.spread(along, 0, held.left, wavelets_of(tile_m * tile_k, lanes), 0, lanes=lanes)
    leaving = lines.reduce(down, lines.chain(image.height), held.sums, tile_m * tile_n, first=1)
    cycles = tile_k * tile_n * (at.constants.mesh_dispatch + tile_m * at.fma_cycles)
    product = block(held.left, held.right, held.sums, held.tile, milli_of(cycles))
    for y in range(image.height):
        for x, where in ((0, np.s_[y, :1]), (-1, np.s_[y, 1:])):
            image.program(where, start_up(at, tile_m * tile_k) + coming[x] + product + leaving[y])
    return Wavelets(image, held.collect)


def gemv(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Sums of a column meet in groups, then over the groups, and are broadcast back: every element holds the result."""
    messages = lines.two_sided(max(1, -(-inputs[0].shape[-1] // call.tile[1])))
    colors = lines.colors_of(messages)
    held, left = _held(call, *operands(call, inputs), at, colors + 1)
    image, (tile_m, tile_k, tile_n) = held.image, held.tile
    image.load(held.left, np.broadcast_to(left, (image.height, image.width, left.shape[2])))
    down = Line(image, "y", image.height)
    stores = lines.storing(image.height)
    there = lines.reduce(down, messages, held.sums, tile_m * tile_n, stores=stores)
    back = lines.spread(down, lines.root_of(messages), held.sums, tile_m * tile_n, colors)
    cycles = tile_m * tile_k * (at.constants.gemv_dispatch + ceil(tile_n * at.fma_cycles))
    product = block(held.left, held.right, held.sums, held.tile, milli_of(cycles))
    for y in range(image.height):
        image.program(np.s_[y, :], start_up(at, tile_m * tile_k) + product + there[y] + back[y])
    return Wavelets(image, held.collect)
