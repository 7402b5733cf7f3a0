"""Convolution as the product of unfolded windows, and pooling with rows of windows handed on from the south."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pilots.graph.ir import DType
from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle import lines
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.instructions import Instruction, local, milli_of, receive, send, signal, wait
from pilots.wafer.cycle.kernels.base import (
    Wavelets,
    cuts,
    lanes_of,
    start_up,
    vector_milli,
    wavelets_of,
)
from pilots.wafer.cycle.kernels.heads import Area, area
from pilots.wafer.cycle.kernels.products import stationary_product
from pilots.wafer.handlers.base import Array, Inputs, number, wide
from pilots.wafer.handlers.grids import STENCIL, windows_of
from pilots.wafer.program import Call

POOLS: Final = ("max_pool2d", "avg_pool2d")
HERE: Final = 0  # semaphore: rows of a round came in


def convolution(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Windows times kernels, which stay; the model's `realign` of every number stands for unfolding the windows."""
    picture, kernel = wide(inputs[0]), wide(inputs[1])
    border = number(call, "padding")
    padded = np.pad(picture, ((0, 0), (0, 0), (border, border), (border, border)))
    patches = windows_of(padded, kernel.shape[2:], number(call, "stride")).transpose(0, 2, 3, 1, 4, 5)
    weights = np.ascontiguousarray(kernel.reshape(len(kernel), -1).T)
    made = stationary_product(call, patches.reshape(-1, len(weights)), weights, at)

    def collect(memory: Array) -> Array:
        product = made.collect(memory).reshape(*patches.shape[:3], -1)
        return np.ascontiguousarray(product.transpose(0, 3, 1, 2))

    return replace(made, collect=collect)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Pictures and rows of windows of one element.

    own: rows of the picture it brings; more: rows it needs beside them from the south; picture [own + more, pictures,
    width of the picture].
    """

    image: Image
    pictures: int
    rows: int
    own: int
    more: int
    lanes: int
    picture: Area
    result: Area


def pool(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Largest or mean of every window; pictures lie along x, rows of windows along y, their columns in the element."""
    picture = wide(inputs[0])
    on = _pool(call, picture, at)
    image = on.image
    pictures, (results, columns) = picture.shape[0] * picture.shape[1], _results(call, picture)

    def apply(memory: Array) -> None:
        rows = on.picture.of(memory).swapaxes(1, 2)
        found = STENCIL[call.op](call, (rows.reshape(-1, 1, *rows.shape[2:]),))
        on.result.of(memory)[:] = found.reshape(len(memory), *on.result.shape)

    work = local(image.function(apply), _pool_milli(call, on, at))
    for y in range(image.height):
        image.program(np.s_[y, :], start_up(at) + _taking(on, y) + work)
        if y:
            lines.path(lines.Line(image, "y", image.height), y, y - 1, y % 2)
            image.program(np.s_[y, :], start_up(at) + _giving(on, y), thread=1)

    def collect(memory: Array) -> Array:
        parts = on.result.of(memory.reshape(-1, memory.shape[-1]))
        grid = parts.reshape(image.height, image.width, *on.result.shape).transpose(1, 2, 0, 3, 4)
        whole = grid.reshape(image.width * on.pictures, -1, columns)[:pictures, :results]
        return np.ascontiguousarray(whole).reshape(*picture.shape[:2], results, columns)

    return Wavelets(image, collect)


def _results(call: Call, picture: Array) -> tuple[int, int]:
    """Return rows and columns of windows."""
    size, stride = number(call, "size"), number(call, "stride")
    return (picture.shape[2] - size) // stride + 1, (picture.shape[3] - size) // stride + 1


def _pool(call: Call, picture: Array, at: Setting) -> _Pool:
    """Lay the rows of the pictures down; the last element of a column also holds the rows behind its own."""
    size, stride = number(call, "size"), number(call, "stride")
    count, (results, columns) = picture.shape[0] * picture.shape[1], _results(call, picture)
    pictures, rows = -(-count // call.rect.width), -(-results // call.rect.height)
    across, down = cuts(call, count, pictures, call.rect.width), cuts(call, results, rows, call.rect.height)
    own, more, width = rows * stride, max(0, size - stride), picture.shape[3]
    lanes = lanes_of(at) if more <= own else 1
    image = Image(at.machine, across, down, colors=2, threads=2, lanes=lanes)
    height = own * down + more
    full = np.zeros((across * pictures, height, width), dtype=np.float32)
    flat = picture.reshape(count, *picture.shape[2:])[:, :height]
    full[:count, : flat.shape[1]] = flat
    held = np.zeros((down, across, own + more, pictures, width), dtype=np.float32)
    for y in range(down):
        until = own + (more if y + 1 == down else 0)
        part = full[:, y * own : y * own + until].reshape(across, pictures, until, width)
        held[y, :, :until] = part.swapaxes(1, 2)
    shape = (own + more, pictures, width)
    return _Pool(
        image,
        pictures,
        rows,
        own,
        more,
        lanes,
        area(image, *shape, values=held, numbers=held[0, 0].size + lanes),
        area(image, pictures, rows, columns),
    )


def _rounds(on: _Pool) -> list[tuple[int, int]]:
    """Return the rows handed on in each round as (first, count): what lies behind the own rows came a round before."""
    return [(first, min(on.own, on.more - first)) for first in range(0, on.more, on.own)]


def _at(on: _Pool, row: int) -> int:
    return on.picture.address + row * on.pictures * on.picture.shape[2]


def _count(on: _Pool, rows: int) -> int:
    return wavelets_of(rows * on.pictures * on.picture.shape[2], on.lanes)


def _taking(on: _Pool, y: int) -> list[Instruction]:
    """Return how an element receives the rows behind its own; the last one holds them."""
    found: list[Instruction] = []
    if y + 1 < on.image.height:
        for first, count in _rounds(on):
            found += receive((y + 1) % 2, _at(on, on.own + first), _count(on, count), on.lanes) + signal(HERE)
    return found


def _giving(on: _Pool, y: int) -> list[Instruction]:
    """Return how an element sends rows to the north: its own, then those it received."""
    found: list[Instruction] = []
    for first, count in _rounds(on):
        found += wait(HERE) if first and y + 1 < on.image.height else []
        found += send(y % 2, _at(on, first), _count(on, count), on.lanes)
    return found


def _pool_milli(call: Call, on: _Pool, at: Setting) -> int:
    """Return the time of one vector operation per place of a window, and of the division of a mean."""
    per_cell = at.constants.stencil_point if at.dtype is DType.FLOAT32 else at.fma_cycles
    places = number(call, "size") ** 2
    own = milli_of(places * (at.machine.dsd_setup_cycles.value + on.result.numbers * per_cell))
    return own + (vector_milli(on.result.numbers, (0, 1), at) if call.op == "avg_pool2d" else 0)
