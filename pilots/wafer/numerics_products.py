"""Matrix products in the order of their kernel, for all elements at once.

Python loops over positions inside a tile, NumPy over elements. Blocks only bound the memory and suit the cache: no sum
is ever split by them. Every product and every sum is rounded once to fp32, whatever the element type.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pilots.wafer.meeting import middle_of, spans_of
from pilots.wafer.numerics import Float

BLOCK_ELEMENTS: Final = 2**17  # two arrays of this many fp32 numbers lie in the second-level cache
BLOCK_COLUMNS: Final = 1024

Live = npt.NDArray[np.bool_]


def accumulate_product(left: Float, right: Float) -> Float:
    """Return left [m, k] times right [k, n]: one running sum, k from first to last (SUMMA)."""
    (m, k), n = left.shape, right.shape[1]
    columns = np.ascontiguousarray(left.T)
    total = np.zeros((m, n), dtype=np.float32)
    wide = min(n, BLOCK_COLUMNS) or 1
    high = max(1, BLOCK_ELEMENTS // wide)
    for top in range(0, m, high):
        for start in range(0, n, wide):
            block = total[top : top + high, start : start + wide]
            step = np.empty_like(block)
            for index in range(k):
                np.multiply(
                    columns[index, top : top + high, None], right[index, start : start + wide], out=step
                )
                np.add(block, step, out=block)
    return total


def chained_product(left: Float, right: Float, tile_k: int, live: Live | None = None) -> Float:
    """Return the product over tiles of k: each tile sums from zero, then tiles add up in order (STATIONARY).

    left: [..., m, k]; right: [..., k, n], with as many axes in front. live: same shape as left; where it is False
    nothing is added, whatever `right` holds there.
    """
    return _blocks(left, right, live, lambda a, b, kept: _chain(a, b, kept, tile_k))


def two_level_product(
    left: Float, right: Float, tile_k: int, live: Live | None = None, tiles: int = 0
) -> Float:
    """Return the product over tiles of k whose sums meet in two levels: in groups, then over their middles (GEMV).

    live: as in `chained_product`; tiles: how many meet, if more than k has; the others add zeros.
    """
    count = tiles or -(-left.shape[-1] // tile_k)
    return _blocks(left, right, live, lambda a, b, kept: _meeting(a, b, kept, tile_k, count))


def rotated_product(left: Float, right: Float, grid: int, rows: int) -> Float:
    """Return left [m, k] times right [k, n] on grid x grid elements that pass blocks on (CANNON, MESH_GEMM).

    Element (i, j) has one running sum; it starts with block (i + j) mod grid of k and goes around. rows: how many rows
    the grid takes in one pass; so the order of a row depends on its place within its pass alone.
    """
    (m, k), n = left.shape, right.shape[1]
    passes = -(-m // rows)
    tile_m, tile_k, tile_n = (max(1, -(-size // grid)) for size in (rows, k, n))
    full = _padded(left, passes * rows, grid * tile_k).reshape(passes, rows, -1)
    full = np.pad(full, ((0, 0), (0, grid * tile_m - rows), (0, 0)))
    # one element holds its rows of every pass
    held_rows = full.reshape(passes, grid, tile_m, grid, tile_k).transpose(1, 0, 2, 3, 4)
    total = _rotated(
        held_rows.reshape(grid, passes * tile_m, grid, tile_k),
        _padded(right, grid * tile_k, grid * tile_n).reshape(grid, tile_k, grid, tile_n),
    )
    apart = total.reshape(grid, grid, passes, tile_m, tile_n).transpose(2, 0, 3, 1, 4)
    return apart.reshape(passes, grid * tile_m, -1)[:, :rows, :n].reshape(passes * rows, n)[:m]


def _rotated(left: Float, right: Float) -> Float:
    """Return [grid, grid, rows, columns] of left [grid, rows, grid, k] and right [grid, k, grid, columns]."""
    grid, tile_m, _, tile_k = left.shape
    total = np.zeros((grid, grid, tile_m, right.shape[3]), dtype=np.float32)
    columns = np.arange(grid)[None, :]
    high = max(1, BLOCK_ELEMENTS // max(1, total[0].size))
    for top in range(0, grid, high):
        block = total[top : top + high]
        rows = np.arange(top, top + len(block))[:, None]
        step = np.empty_like(block)
        for turn in range(grid):
            held = (rows + columns + turn) % grid
            of_left, of_right = left[rows, :, held, :], right[held, :, columns, :]
            for index in range(tile_k):
                np.multiply(of_left[..., index, None], of_right[..., index, None, :], out=step)
                np.add(block, step, out=block)
    return total


def _blocks(
    left: Float, right: Float, live: Live | None, product: Callable[[Float, Float, Live | None], Float]
) -> Float:
    """Return what `product` makes of all of k, one block of rows and columns at a time."""
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    m, n = left.shape[-2], right.shape[-1]
    total = np.zeros((*lead, m, n), dtype=np.float32)
    wide = min(n, BLOCK_COLUMNS) or 1
    high = max(1, BLOCK_ELEMENTS // (prod(lead) * wide))
    for top in range(0, m, high):
        rows = left[..., top : top + high, :]
        kept = None if live is None else live[..., top : top + high, :]
        for start in range(0, n, wide):
            done = product(rows, right[..., start : start + wide], kept)
            total[..., top : top + high, start : start + wide] = done
    return total


def _meeting(left: Float, right: Float, live: Live | None, tile_k: int, tiles: int) -> Float:
    """Return the sum over tiles that meet in two levels: each time the middle, the chain from behind, that from before."""

    def tiles_between(first: int, until: int, *, back: bool = False) -> Float:
        return _chain(*_cut(left, right, live, first * tile_k, until * tile_k), tile_k, back=back)

    def group(first: int, until: int) -> Float:
        middle = middle_of(first, until)
        total = tiles_between(middle, middle + 1)
        np.add(total, tiles_between(middle + 1, until, back=True), out=total)
        return np.add(total, tiles_between(first, middle), out=total)

    heads = spans_of(tiles)
    if not heads:
        return tiles_between(0, 0)
    middle = middle_of(0, len(heads))
    total = group(*heads[middle])
    for side in (heads[:middle:-1], heads[:middle]):
        chain = np.zeros_like(total)
        for span in side:
            np.add(chain, group(*span), out=chain)
        np.add(total, chain, out=total)
    return total


def _chain(left: Float, right: Float, live: Live | None, tile_k: int, *, back: bool = False) -> Float:
    """Return the chained sum over all tiles, a handful of tiles at a time; a last tile may be shorter.

    back: from last to first.
    """
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    total = np.zeros((*lead, left.shape[-2], right.shape[-1]), dtype=np.float32)
    k = left.shape[-1]
    whole = k - k % tile_k
    span = max(1, BLOCK_ELEMENTS // max(1, total.size)) * tile_k
    pieces = [(first, min(first + span, whole), tile_k) for first in range(0, whole, span)]
    pieces += [(whole, k, k - whole)] if whole < k else []
    way = -1 if back else 1
    for first, until, length in pieces[::way]:
        for part in _tile_sums(*_cut(left, right, live, first, until), length)[::way]:
            np.add(total, part, out=total)
    return total


def _cut(
    left: Float, right: Float, live: Live | None, first: int, until: int
) -> tuple[Float, Float, Live | None]:
    kept = None if live is None else live[..., first:until]
    return left[..., first:until], right[..., first:until, :], kept


def _tile_sums(left: Float, right: Float, live: Live | None, tile_k: int) -> Float:
    """Return the sum of every whole tile, [tiles, ..., m, n]: k ascends inside a tile."""
    a = _tiles_of(left, tile_k)
    b = np.moveaxis(right.reshape(*right.shape[:-2], -1, tile_k, right.shape[-1]), -3, 0)
    kept = None if live is None else _tiles_of(live, tile_k)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    total = np.zeros((*lead, a.shape[-2], b.shape[-1]), dtype=np.float32)
    step = np.empty_like(total)
    for index in range(tile_k):
        np.multiply(a[..., index, None], b[..., index, None, :], out=step)
        if kept is not None:
            np.copyto(step, 0, where=~kept[..., index, None])
        np.add(total, step, out=total)
    return total


def _tiles_of(left: npt.NDArray[Any], tile_k: int) -> npt.NDArray[Any]:
    return np.moveaxis(left.reshape(*left.shape[:-1], -1, tile_k), -2, 0)


def _padded(array: Float, height: int, width: int) -> Float:
    if array.shape == (height, width):
        return array
    wide = np.zeros((height, width), dtype=np.float32)
    wide[: array.shape[0], : array.shape[1]] = array
    return wide
