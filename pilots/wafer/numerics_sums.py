"""Sums in an order the program fixes: inside a tile one after the other, then tile by tile.

All take and return float32; every addition is rounded once. Padding with zeros never changes a bit, because each sum
starts at plus zero.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from pilots.wafer.numerics import Float, exp, log


def chain_sum(parts: Float) -> Float:
    """Return the sum over the first axis, from first to last."""
    total: Float = parts[0].copy()
    for part in parts[1:]:
        np.add(total, part, out=total)
    return total


def two_level_group(tiles: int) -> int:
    """Return the size of a group of the two-level tree: the root of the number of tiles, rounded up."""
    return isqrt(tiles - 1) + 1 if tiles else 1


def chained_sum(values: Float, tile: int) -> Float:
    """Return the sum over the last axis, cut into tiles of `tile`: each sums from zero, then tiles from first to last."""
    width = values.shape[-1]
    tile = min(tile, max(1, width))
    tiles = max(1, -(-width // tile))
    cut = np.zeros((tiles * tile, *values.shape[:-1]), dtype=np.float32)
    cut[:width] = np.moveaxis(values, -1, 0)
    by_tile = cut.reshape(tiles, tile, *values.shape[:-1])
    parts = np.zeros((tiles, *values.shape[:-1]), dtype=np.float32)
    for place in range(tile):
        np.add(parts, by_tile[:, place], out=parts)
    return chain_sum(parts)


def largest(x: Float) -> Float:
    """Return the largest of the last axis, which stays with length one; NaN if one is NaN, zero without a sign."""
    return np.asarray(np.add(np.maximum.reduce(x, axis=-1, keepdims=True), np.float32(0)))


def smallest(x: Float) -> Float:
    """Return the smallest of the last axis, which stays with length one; NaN if one is NaN, zero without a sign."""
    return np.asarray(np.add(np.minimum.reduce(x, axis=-1, keepdims=True), np.float32(0)))


def softmax(x: Float, tile: int) -> Float:
    """Return e**(x - max) over its sum along the last axis, summed in tiles."""
    powers = exp(np.subtract(x, largest(x)))
    return np.asarray(np.divide(powers, chained_sum(powers, tile)[..., None]))


def log_softmax(x: Float, tile: int) -> Float:
    """Return x - max - log(sum of e**(x - max)) along the last axis, summed in tiles."""
    moved = np.subtract(x, largest(x))
    return np.asarray(np.subtract(moved, log(chained_sum(exp(moved), tile))[..., None]))


def mean(x: Float, tile: int) -> Float:
    """Return the mean of the last axis, which stays with length one; the sum is taken in tiles."""
    return np.asarray(np.divide(chained_sum(x, tile)[..., None], np.float32(x.shape[-1])))
