"""Sums in an order the program fixes: inside a tile one after the other, then tile by tile, or where tiles meet.

All take and return float32; every addition is rounded once. Padding with zeros never changes a bit, because each sum
starts at plus zero.
"""

from __future__ import annotations

import numpy as np

from pilots.wafer.meeting import middle_of, spans_of
from pilots.wafer.numerics import Float, exp, log


def chain_sum(parts: Float) -> Float:
    """Return the sum over the first axis, from first to last."""
    total: Float = parts[0].copy()
    for part in parts[1:]:
        np.add(total, part, out=total)
    return total


def chained_sum(values: Float, tile: int) -> Float:
    """Return the sum over the last axis, cut into tiles of `tile`: each sums from zero, then tiles from first to last."""
    return chain_sum(_tile_sums(values, tile))


def meeting_sum(values: Float, tile: int, tiles: int = 0) -> Float:
    """Return the sum over the last axis, cut into tiles of `tile`: each sums from zero, then they meet in two levels.

    tiles: how many meet, if more than the axis has; the others add zeros.
    """
    parts = _tile_sums(values, tile)
    missing = max(0, tiles - len(parts))
    parts = np.concatenate([parts, np.zeros((missing, *parts.shape[1:]), dtype=np.float32)])
    heads = [_both_ends(parts[first:until]) for first, until in spans_of(len(parts))]
    return _both_ends(np.stack(heads))


def _both_ends(parts: Float) -> Float:
    """Return the sum over the first axis: the middle, what the chain from behind brings, what that from before brings."""
    middle = middle_of(0, len(parts))
    total: Float = parts[middle].copy()
    for side in (parts[:middle:-1], parts[:middle]):
        if len(side):
            np.add(total, chain_sum(side), out=total)
    return total


def _tile_sums(values: Float, tile: int) -> Float:
    width = values.shape[-1]
    tile = min(tile, max(1, width))
    tiles = max(1, -(-width // tile))
    cut = np.zeros((tiles * tile, *values.shape[:-1]), dtype=np.float32)
    cut[:width] = np.moveaxis(values, -1, 0)
    by_tile = cut.reshape(tiles, tile, *values.shape[:-1])
    parts = np.zeros((tiles, *values.shape[:-1]), dtype=np.float32)
    for place in range(tile):
        np.add(parts, by_tile[:, place], out=parts)
    return parts


def largest(x: Float) -> Float:
    """Return the largest of the last axis, which stays with length one; NaN if one is NaN, zero without a sign."""
    return np.asarray(np.add(np.maximum.reduce(x, axis=-1, keepdims=True), np.float32(0)))


def smallest(x: Float) -> Float:
    """Return the smallest of the last axis, which stays with length one; NaN if one is NaN, zero without a sign."""
    return np.asarray(np.add(np.minimum.reduce(x, axis=-1, keepdims=True), np.float32(0)))


def softmax(x: Float, tile: int) -> Float:
    """Return e**(x - max) over its sum along the last axis, summed in tiles that meet."""
    powers = exp(np.subtract(x, largest(x)))
    return np.asarray(np.divide(powers, meeting_sum(powers, tile)[..., None]))


def log_softmax(x: Float, tile: int) -> Float:
    """Return x - max - log(sum of e**(x - max)) along the last axis, summed in tiles that meet."""
    moved = np.subtract(x, largest(x))
    return np.asarray(np.subtract(moved, log(meeting_sum(exp(moved), tile))[..., None]))


def mean(x: Float, tile: int) -> Float:
    """Return the mean of the last axis, which stays with length one; the sum is taken in tiles that meet."""
    return np.asarray(np.divide(meeting_sum(x, tile)[..., None], np.float32(x.shape[-1])))
