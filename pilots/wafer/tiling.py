"""How work is cut over the elements of a rectangle: tiles of a call, and heads of attention over columns."""

from __future__ import annotations

from typing import Final

from pilots.wafer.program import PRODUCTS, SQUARE, Kernel, Rect

MAX_GEMV_ROWS: Final = 16  # beyond, a product by many samples is no matrix-vector product any more


def tile_of(kernel: Kernel, shape: tuple[int, ...], rect: Rect) -> tuple[int, ...]:
    """Return what one element of a rectangle holds of a call.

    Products by one sample keep their result on every row; with more samples than rows, samples are split too.
    """
    width, height = rect.width, rect.height
    if kernel in SQUARE:
        return tuple(_up(size, width) for size in shape)
    if kernel is Kernel.STREAMED:
        return (_up(shape[0], height), _up(shape[1], width), shape[2])
    if kernel in PRODUCTS or kernel is Kernel.CONVOLUTION:
        return (shape[0], _up(shape[1], height), _up(shape[2], width))
    if kernel in (Kernel.ATTENTION, Kernel.ATTENTION_CACHED):
        batch, queries, context, heads, _, head_dim = shape
        rows = batch * queries
        split = _up(rows, height) if kernel is Kernel.ATTENTION else rows
        return (split, _up(context, height), _up(heads * head_dim, width))
    if kernel is Kernel.STENCIL:
        return (_up(shape[0], width) * _up(shape[1], height), shape[2])
    return tile_of_matrix(shape[0], shape[1], rect)


def tile_of_matrix(rows: int, columns: int, rect: Rect) -> tuple[int, int]:
    """Return the tile of a matrix; fewer rows than rows of elements lie in every one of them, unless they are many."""
    return (_up(rows, rect.height) if rows_are_cut(rows, rect.height) else rows, _up(columns, rect.width))


def rows_are_cut(rows: int, height: int) -> bool:
    """Say whether the rows of a matrix are cut over the rows of elements."""
    return rows >= height or rows > MAX_GEMV_ROWS


def heads_on(heads: int, head_dim: int, columns: int) -> tuple[int, int, int]:
    """Return (heads a column holds, columns that share one head, features of one head in one column)."""
    features = _up(head_dim, max(1, columns // heads))
    return _up(heads, columns), _up(head_dim, features), features


def summed_features(heads: int, head_dim: int, columns: int, tile: int) -> int:
    """Return how many features of a score are summed at a time: all of a column, or tiles where it holds whole heads."""
    _, span, features = heads_on(heads, head_dim, columns)
    return features if span > 1 else min(tile, head_dim)


def _up(size: int, parts: int) -> int:
    return -(-size // parts)
