"""What an element does by itself in attention over a sequence: sizes, where blocks lie, local functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pilots.wafer.cycle.kernels.heads import Area, Heads, powers_of, scaled, sums_of, top_of
from pilots.wafer.handlers.base import Array
from pilots.wafer.numerics_products import chained_product


@dataclass(frozen=True, slots=True)
class Sizes:
    """batch, queries and keys of one sequence (length), rows and context of one element, tile of the context."""

    side: int
    batch: int
    length: int
    rows: int
    context: int
    tile: int
    window: int
    causal: bool
    heads: Heads

    @property
    def context_steps(self) -> int:
        """Columns with context."""
        return -(-self.length // self.context)

    def items(self, y: int) -> int:
        """Return how many sequences the queries of a row of elements belong to."""
        last = min(self.batch * self.length, (y + 1) * self.rows) - 1
        return max(1, last // self.length - y * self.rows // self.length + 1)


@dataclass(frozen=True, slots=True)
class Areas:
    """Where blocks lie: queries, keys and values of the element itself and of the present and the next step, the rest."""

    query: Area
    keys: Area
    values: Area
    held_query: tuple[Area, Area]
    held_keys: tuple[Area, Area]
    held_values: tuple[Area, Area]
    held_shares: tuple[Area, Area]
    scores: Area
    tops: Area
    totals: Area
    result: Area
    place: Area  # x and y of the element


@dataclass(frozen=True, slots=True)
class Work:
    """What an element does by itself; memory [elements, words] of all that do it at the same time."""

    sizes: Sizes
    on: Areas

    def seen(self, memory: Array, column: Array) -> Array:
        """Return which context each query sees in a column of context [elements], [elements, rows, context]."""
        sizes = self.sizes
        row = self._rows(memory)
        place = column[:, None] * sizes.context + np.arange(sizes.context)
        back = (row % sizes.length)[:, :, None] - place[:, None, :]
        found = (np.abs(back) < sizes.window) & (place < sizes.length)[:, None, :]
        found &= (row < sizes.batch * sizes.length)[:, :, None]
        if sizes.causal:
            found &= back >= 0
        return found

    def _rows(self, memory: Array) -> Array:
        """Return the number of each row over all sequences, [elements, rows]."""
        y = self.on.place.of(memory)[:, 1].astype(np.int64)
        return y[:, None] * self.sizes.rows + np.arange(self.sizes.rows)

    def _of_rows(self, memory: Array, block: Array) -> Array:
        """Return the part of a block [elements, batch, ...] that belongs to each row, [elements, rows, ...]."""
        item = np.minimum(self._rows(memory) // self.sizes.length, self.sizes.batch - 1)
        return np.asarray(block[np.arange(len(memory))[:, None], item])

    def _own(self, memory: Array) -> Array:
        """Return the column of context of each element itself."""
        return self.on.place.of(memory)[:, 0].astype(np.int64)

    def score(self, step: int, memory: Array) -> None:
        """Add the product of the blocks of a step to the scores of its heads; features of a tile sum from zero."""
        heads, buffer = self.sizes.heads, step % 2
        query = self.on.held_query[buffer].of(memory)[:, :, :, None, :]
        keys = self._of_rows(memory, self.on.held_keys[buffer].of(memory)).transpose(0, 1, 3, 4, 2)
        first = step // heads.span * heads.held
        scores = self.on.scores.of(memory)[:, :, first : first + heads.held]
        np.add(scores, chained_product(query, keys, heads.tile)[..., 0, :], out=scores)

    def find(self, memory: Array) -> None:
        """Scale the scores and find the largest of each row and head."""
        scores = self.on.scores.of(memory)
        seen = self.seen(memory, self._own(memory))[:, :, None, :]
        scores[:] = scaled(scores, seen, self.sizes.heads.size)
        self.on.tops.of(memory)[:] = top_of(scores)

    def raise_all(self, memory: Array) -> None:
        """Powers of the scores, and their sum over each tile."""
        scores = self.on.scores.of(memory)
        seen = self.seen(memory, self._own(memory))[:, :, None, :]
        scores[:] = powers_of(scores, self.on.tops.of(memory), seen)
        self.on.totals.of(memory)[:] = np.moveaxis(sums_of(scores, self.sizes.tile), -1, 1)

    def fold(self, memory: Array) -> None:
        """Add the sums of later tiles to that of the first one."""
        totals = self.on.totals.of(memory)
        for index in range(1, totals.shape[1]):
            np.add(totals[:, 0], totals[:, index], out=totals[:, 0])

    def share(self, memory: Array) -> None:
        """Divide by the sum over the whole context."""
        scores = self.on.scores.of(memory)
        scores[:] = np.divide(scores, self.on.totals.of(memory)[:, 0, ..., None])

    def weigh(self, step: int, memory: Array) -> None:
        """Add the values of a step, weighted by their shares, to the result; positions of a tile sum from zero."""
        sizes, heads, buffer = self.sizes, self.sizes.heads, step % 2
        group = np.minimum(self._own(memory) // heads.span, heads.groups - 1)
        chosen = group[:, None] * heads.held + np.arange(heads.held)
        shares = self.on.held_shares[buffer].of(memory)
        shares = np.take_along_axis(shares, chosen[:, None, :, None], axis=2)[:, :, :, None, :]
        values = self._of_rows(memory, self.on.held_values[buffer].of(memory)).transpose(0, 1, 3, 2, 4)
        seen = self.seen(memory, np.full(len(memory), step))[:, :, None, None, :]
        live = np.broadcast_to(seen, shares.shape)
        result = self.on.result.of(memory)
        for start in range(0, sizes.context, sizes.tile):
            part = slice(start, start + sizes.tile)
            product = chained_product(shares[..., part], values[..., part, :], sizes.tile, live[..., part])
            np.add(result, product[..., 0, :], out=result)
