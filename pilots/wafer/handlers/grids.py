"""Operations on neighbourhoods: convolution and pooling of pictures [b, c, h, w], stencils on grids [x, y, z]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pilots.wafer.handlers.base import Array, Handler, Inputs, number, text, wide
from pilots.wafer.numerics import Float, maximum
from pilots.wafer.numerics_products import chained_product
from pilots.wafer.program import Call

AXES: Final = 3
MAX_WINDOWS: Final = 2**24  # numbers copied at one time: 64 MiB


def _conv2d(call: Call, inputs: Inputs) -> Array:
    """Return the product of windows and kernels [o, c, kh, kw]: k runs over channel, row, column in tiles, chained."""
    picture, kernel = wide(inputs[0]), wide(inputs[1])
    border = number(call, "padding")
    padded = np.pad(picture, ((0, 0), (0, 0), (border, border), (border, border)))
    windows = windows_of(padded, kernel.shape[2:], number(call, "stride")).transpose(0, 2, 3, 1, 4, 5)
    weights = np.ascontiguousarray(kernel.reshape(len(kernel), -1).T)
    result = np.zeros((*windows.shape[:3], len(kernel)), dtype=np.float32)
    high = max(1, MAX_WINDOWS // windows[0, 0].size)
    for item, rows in enumerate(windows):
        for top in range(0, len(rows), high):
            part = rows[top : top + high]
            product = chained_product(part.reshape(-1, len(weights)), weights, call.tile[1])
            result[item, top : top + high] = product.reshape(*part.shape[:2], -1)
    return np.ascontiguousarray(result.transpose(0, 3, 1, 2))


def _max_pool2d(call: Call, inputs: Inputs) -> Array:
    cells = _cells(call, inputs)
    largest = next(cells).copy()
    for cell in cells:
        largest = maximum(largest, cell)
    return largest


def _avg_pool2d(call: Call, inputs: Inputs) -> Array:
    """Return the mean of each window, summed row by row."""
    cells = _cells(call, inputs)
    total = next(cells).copy()
    for cell in cells:
        np.add(total, cell, out=total)
    return np.divide(total, np.float32(number(call, "size") ** 2))


def _cells(call: Call, inputs: Inputs) -> Iterator[Float]:
    """Yield the cells of all windows at one place, row by row."""
    size = number(call, "size")
    windows = windows_of(wide(inputs[0]), (size, size), number(call, "stride"))
    for row in range(size):
        for column in range(size):
            yield windows[..., row, column]


def windows_of(picture: Float, size: tuple[int, ...], stride: int) -> Float:
    """Return a view [b, c, rows, columns, *size]."""
    every = np.lib.stride_tricks.sliding_window_view(picture, size, axis=(2, 3))
    return every[:, :, ::stride, ::stride]


def _stencil(call: Call, inputs: Inputs) -> Array:
    """Return per cell the weighted sum of the star around it, zero outside the grid.

    The sum runs over the cell itself, then distance by distance -x +x -y +y -z +z, as the coefficients do.
    """
    grid = wide(inputs[0])
    reach = (number(call, "points") - 1) // (2 * AXES)
    padded = np.pad(grid, reach)
    total = np.zeros_like(grid)
    for factor, offset in zip(text(call, "coefficients").split(" "), _star(reach), strict=True):
        part = tuple(slice(reach + o, reach + o + n) for o, n in zip(offset, grid.shape, strict=True))
        np.add(total, np.multiply(padded[part], np.float32(factor)), out=total)
    return total


def _star(reach: int) -> Iterator[tuple[int, ...]]:
    yield (0,) * AXES
    for distance in range(1, reach + 1):
        for axis in range(AXES):
            for step in (-distance, distance):
                yield tuple(step * (axis == other) for other in range(AXES))


CONVOLUTION: Final[dict[str, Handler]] = {"conv2d": _conv2d}
STENCIL: Final[dict[str, Handler]] = {
    "stencil": _stencil,
    "max_pool2d": _max_pool2d,
    "avg_pool2d": _avg_pool2d,
}
