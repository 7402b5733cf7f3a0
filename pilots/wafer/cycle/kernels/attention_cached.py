"""Attention over a cache: context along the columns of elements, heads along the rows; queries are in every element."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np

from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle import layout, lines
from pilots.wafer.cycle.image import Function, Image
from pilots.wafer.cycle.instructions import Instruction, delay, local, milli_of
from pilots.wafer.cycle.kernels.base import Wavelets, cuts, vector_milli
from pilots.wafer.cycle.kernels.heads import (
    FIND_OPS,
    POWER_OPS,
    SHARE_OPS,
    Area,
    Heads,
    Section,
    area,
    powers_of,
    scaled,
    sums_of,
    top_of,
)
from pilots.wafer.cycle.lines import Line, Programs
from pilots.wafer.handlers.attention import places
from pilots.wafer.handlers.base import Array, Inputs, number, wide
from pilots.wafer.numerics_products import chained_product
from pilots.wafer.program import Call

ALONG: Final = 0  # first of the three colors of a row
DOWN: Final = 3  # first of those of a column


@dataclass(frozen=True, slots=True)
class _Cached:
    """Image and sizes: batch, context of one element; areas of queries, keys, values, positions and what comes of them."""

    image: Image
    heads: Heads
    batch: int
    context: int
    window: int
    query: Area
    keys: Area
    values: Area
    last: Area  # position of each sequence
    first: Area  # first context row of the element
    scores: Area
    tops: Area
    totals: Area
    result: Area

    def seen(self, memory: Array) -> Array:
        """Return which context rows count, [elements, batch, 1, context]."""
        rows = self.first.of(memory)[:, :, None] + np.arange(self.context, dtype=np.float32)
        back = self.last.of(memory)[:, :, None] - rows
        return ((back >= 0) & (back < self.window))[:, :, None, :]

    def score(self, memory: Array) -> None:
        """Products of the queries with all keys of the element."""
        query = self.query.of(memory)[:, :, :, None, :]
        keys = self.keys.of(memory).transpose(0, 1, 3, 4, 2)
        self.scores.of(memory)[:] = chained_product(query, keys, self.heads.tile)[..., 0, :]

    def find(self, memory: Array) -> None:
        """Scale the scores and find the largest of each head."""
        scores = self.scores.of(memory)
        scores[:] = scaled(scores, self.seen(memory), self.heads.size)
        self.tops.of(memory)[:] = top_of(scores)

    def raise_all(self, memory: Array) -> None:
        """Powers of the scores and their sum."""
        scores = self.scores.of(memory)
        scores[:] = powers_of(scores, self.tops.of(memory), self.seen(memory))
        self.totals.of(memory)[:] = sums_of(scores, self.context)[..., 0]

    def share(self, memory: Array) -> None:
        """Divide by the sum over the whole context."""
        scores = self.scores.of(memory)
        scores[:] = np.divide(scores, self.totals.of(memory)[..., None])

    def weigh(self, memory: Array) -> None:
        """Sum of the values of the element by their shares."""
        shares = self.scores.of(memory)[:, :, :, None, :]
        values = self.values.of(memory).transpose(0, 1, 3, 2, 4)
        live = np.broadcast_to(self.seen(memory)[:, :, :, None, :], shares.shape)
        self.result.of(memory)[:] = chained_product(shares, values, self.context, live)[..., 0, :]


def attention_cached(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Scores, largest, powers, their sum, shares, weighted values; three reductions down the columns and back.

    Columns that share a head also sum their scores along the row, and each of them raises all scores of its context.
    The model's `realign` of both products and its three `launch` are waited for.
    """
    on = _cached(call, inputs, at)
    image, vectors = on.image, on.batch * on.context
    features = on.heads.held * on.heads.features
    product = milli_of(vectors * (at.constants.gemv_dispatch + ceil(features * at.fma_cycles)))
    begin = delay(milli_of(at.launch + vectors * at.constants.realign))

    def work(function: Function, milli: int) -> list[Instruction]:
        return local(image.function(function), milli)

    def vector(function: Function, ops: tuple[int, int]) -> list[Instruction]:
        return work(function, vector_milli(on.scores.numbers, ops, at))

    down = Line(image, "y", image.height)
    tops, totals, results = (
        _meet(down, item, combine)
        for item, combine in ((on.tops, layout.MAX), (on.totals, layout.ADD), (on.result, layout.ADD))
    )
    score, find = begin + work(on.score, product), delay(milli_of(at.launch)) + vector(on.find, FIND_OPS)
    powers = vector(on.raise_all, POWER_OPS)
    weigh = vector(on.share, SHARE_OPS) + begin + work(on.weigh, product)
    whole = _whole_scores(on)
    for x in range(image.width):
        for y in range(image.height):
            steps = score + whole[x] + find + tops[y] + powers + totals[y] + weigh + results[y]
            image.program((y, x), steps)
    return Wavelets(image, lambda memory: on.heads.join(on.result.of(memory[0])))


def _cached(call: Call, inputs: Inputs, at: Setting) -> _Cached:
    """Lay queries, caches and positions down."""
    query, keys, values = (wide(item) for item in inputs[:3])
    batch, capacity, _ = keys.shape
    heads, context = Heads.of(call, call.rect.width), call.tile[1]
    rows = cuts(call, capacity, context, call.rect.height)
    colors = DOWN + lines.colors_of(lines.two_sided(rows)) + 1
    image = Image(at.machine, heads.columns, rows, colors=colors)
    last = places(inputs[3], batch, capacity).astype(np.float32)
    row = (batch, heads.held)

    def cache(x: Array) -> Array:
        cut = heads.cut(np.pad(x, ((0, 0), (0, rows * context - capacity), (0, 0))))
        return cut.reshape(heads.columns, batch, rows, context, heads.held, heads.features).transpose(
            2, 0, 1, 3, 4, 5
        )

    def held(*shape: int, values: Array | None = None) -> Area:
        return area(image, *shape, values=values)

    held_query = heads.cut(query.reshape(batch, -1))[None]
    cached = (batch, context, heads.held, heads.features)
    return _Cached(
        image=image,
        heads=heads,
        batch=batch,
        context=context,
        window=number(call, "window", capacity),
        query=held(*row, heads.features, values=held_query),
        keys=held(*cached, values=cache(keys)),
        values=held(*cached, values=cache(values)),
        last=held(batch, values=last[None, None]),
        first=held(1, values=(context * np.arange(rows, dtype=np.float32))[:, None, None]),
        scores=held(*row, context),
        tops=held(*row),
        totals=held(*row),
        result=held(*row, heads.features),
    )


def _meet(down: Line, item: Area, combine: int) -> Programs:
    """Combine an area down the columns in two levels and bring it back to all elements."""
    messages, stores = lines.two_sided(down.length), lines.storing(down.length)
    address, words = item.address, item.numbers
    there = lines.reduce(down, messages, address, words, first=DOWN, combine=combine, stores=stores)
    back = lines.spread(down, lines.root_of(messages), address, words, DOWN + lines.colors_of(messages))
    return [own + other for own, other in zip(there, back, strict=True)]


def _whole_scores(on: _Cached) -> Programs:
    """Sum the scores of columns that share a head, in the order of its features, and bring them back to each of them."""
    span, image, scores = on.heads.span, on.image, on.scores
    row = Line(image, "x", image.width)
    messages = [(x, x + 1) for x in range(image.width - 1) if (x + 1) % span]
    steps = lines.reduce(row, messages, scores.address, scores.numbers, first=ALONG)
    for start in range(0, image.width, span):
        part = Section(image, "x", span, start=start)
        back = lines.spread(part, span - 1, scores.address, scores.numbers, ALONG + 2)
        for place in range(span):
            steps[start + place] = steps[start + place] + back[place]
    return steps
