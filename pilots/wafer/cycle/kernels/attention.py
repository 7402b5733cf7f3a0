"""Attention over a sequence: two products on a square grid whose blocks are broadcast step by step, a softmax between them.

Row y of the grid holds queries; column x holds context for scores and features for the result. Blocks of the next step
travel while an element multiplies those of this one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle import layout, lines
from pilots.wafer.cycle.image import Function, Image
from pilots.wafer.cycle.instructions import Instruction, delay, local, milli_of, signal, wait
from pilots.wafer.cycle.kernels.attention_work import Areas, Sizes, Work
from pilots.wafer.cycle.kernels.base import RULE, Wavelets, lanes_of, room, vector_milli, wavelets_of
from pilots.wafer.cycle.kernels.heads import FIND_OPS, POWER_OPS, SHARE_OPS, Area, Heads, area, hand_on
from pilots.wafer.cycle.kernels.turns import Turns
from pilots.wafer.cycle.lines import Line, Programs
from pilots.wafer.errors import ProgramError
from pilots.wafer.handlers.base import Array, Inputs, number, wide
from pilots.wafer.program import Call

GO: Final = 0  # semaphores: the thread of an axis may begin a step ...
GONE: Final = 2  # ... and has ended it
AXES: Final = "xy"
TURNS: Final = (0, 2)  # first colors of both products, one for each axis
MEET: Final = 4  # first of three colors of the softmax


def attention(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Scores step by step over features, softmax along the rows, result step by step over the context.

    Keys and values of all sequences travel down the columns; shares of all heads travel along the rows, in fp32. The
    fitted `step` of every step and both `launch` are waited for.
    """
    sizes = _sizes(call, inputs)
    lanes = lanes_of(at)
    image = Image(at.machine, sizes.side, sizes.side, colors=MEET + 3, threads=3, lanes=lanes)
    on = _areas(image, sizes, inputs, lanes)
    work = Work(sizes, on)
    turns = _turns(image, sizes, on, lanes)
    for pair in turns:
        for axis, item in enumerate(pair):
            item.route()
            for place in range(sizes.side):
                program = [row for both in turns for row in both[axis].program(place, GO + axis, GONE + axis)]
                image.program(item.line.at(place), program, thread=1 + axis)
    middle = _softmax(image, work, at)
    launch = delay(milli_of(at.launch))
    scoring = [image.function(partial(work.score, step)) for step in range(sizes.heads.columns)]
    weighing = [image.function(partial(work.weigh, step)) for step in range(sizes.context_steps)]
    for y in range(sizes.side):
        milli = _product_milli(sizes, y, at)
        first = launch + _steps(scoring, milli, at)
        second = launch + _steps(weighing, milli, at)
        for x in range(sizes.side):
            image.program((y, x), first + middle[x] + second)
    return Wavelets(image, _collector(sizes, on, inputs[0].shape))


def _collector(sizes: Sizes, on: Areas, shape: tuple[int, ...]) -> Callable[[Array], Array]:
    def collect(memory: Array) -> Array:
        parts = on.result.of(memory[:, : sizes.heads.columns].reshape(-1, memory.shape[-1]))
        parts = parts.reshape(sizes.side, sizes.heads.columns, *on.result.shape)
        rows = parts.swapaxes(0, 1).reshape(sizes.heads.columns, -1, *on.result.shape[1:])
        return sizes.heads.join(rows[:, : shape[0]])

    return collect


def _sizes(call: Call, inputs: Inputs) -> Sizes:
    """Return the sizes; raises ProgramError if the tiles of the context do not cover it."""
    batch, side = number(call, "batch"), min(call.rect.width, call.rect.height)
    length = len(inputs[0]) // batch
    tile = min(call.tile[1], length)
    tiles = -(-length // tile)
    if tiles > call.rect.height:
        got = f"{call.rect.height} of {tile}"
        raise ProgramError(RULE, call=call.index, expected=f"tiles for {length} numbers", got=got)
    return Sizes(
        side=side,
        batch=batch,
        length=length,
        rows=-(-batch * length // side),
        context=-(-tiles // side) * tile,
        tile=tile,
        window=number(call, "window", length),
        causal=bool(number(call, "causal")),
        heads=Heads.of(call, side),
    )


def _areas(image: Image, sizes: Sizes, inputs: Inputs, lanes: int) -> Areas:
    """Lay queries, keys and values down; the room of a block is whole wavelets."""
    heads, side, batch, context = sizes.heads, sizes.side, sizes.batch, sizes.context
    query, key, value = (heads.cut(wide(item)) for item in inputs)

    def block(*shape: int, values: Array | None = None) -> Area:
        full = room(int(np.prod(shape)), lanes)
        return area(image, *shape, values=None if values is None else _on_grid(values, side), numbers=full)

    def pair(*shape: int) -> tuple[Area, Area]:
        return block(*shape), block(*shape)

    def parts(x: Array) -> Array:  # [column of features, part of the context, batch, context, held, features]
        full = np.zeros((heads.columns, batch, sizes.context_steps * context, *x.shape[2:]), dtype=np.float32)
        full[:, :, : sizes.length] = x.reshape(heads.columns, batch, sizes.length, *x.shape[2:])
        apart = full.reshape(heads.columns, batch, sizes.context_steps, context, *x.shape[2:])
        return apart.swapaxes(1, 2)

    rows = np.zeros((heads.columns, side * sizes.rows, *query.shape[2:]), dtype=np.float32)
    rows[:, : query.shape[1]] = query
    of_rows = rows.reshape(heads.columns, side, sizes.rows, *query.shape[2:]).swapaxes(0, 1)
    own, cached = (sizes.rows, heads.held, heads.features), (batch, context, heads.held, heads.features)
    scored = (sizes.rows, heads.groups * heads.held)
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).astype(np.float32)
    return Areas(
        query=block(*own, values=of_rows),
        keys=block(*cached, values=parts(key)),
        values=block(*cached, values=parts(value).swapaxes(0, 1)),
        held_query=pair(*own),
        held_keys=pair(*cached),
        held_values=pair(*cached),
        held_shares=pair(*scored, context),
        scores=block(*scored, context),
        tops=block(*scored),
        totals=block(context // sizes.tile, *scored),
        result=block(*own),
        place=block(2, values=grid),
    )


def _on_grid(values: Array, side: int) -> Array:
    """Return blocks [rows, columns, ...] on the whole square; elements without one get zeros."""
    full = np.zeros((side, side, *values.shape[2:]), dtype=np.float32)
    full[: values.shape[0], : values.shape[1]] = values
    return full


def _turns(image: Image, sizes: Sizes, on: Areas, lanes: int) -> list[tuple[Turns, Turns]]:
    """Return the broadcasts of both products, along the rows and down the columns; shares travel in fp32."""
    features, context = sizes.heads.columns, sizes.context_steps
    rows = (
        (features, (on.query, on.held_query, lanes), (on.keys, on.held_keys, lanes)),
        (context, (on.scores, on.held_shares, 1), (on.values, on.held_values, lanes)),
    )
    found = []
    for (sources, *axes), first in zip(rows, TURNS, strict=True):
        pair = [
            Turns(
                line=Line(image, AXES[axis], sizes.side),
                color=first + axis,
                sources=sources,
                wavelets=wavelets_of(own.numbers, lane),
                lanes=lane,
                own=own.address,
                held=tuple(item.address for item in held),
            )
            for axis, (own, held, lane) in enumerate(axes)
        ]
        found.append((pair[0], pair[1]))
    return found


def _product_milli(sizes: Sizes, y: int, at: Setting) -> int:
    """Return the time of one step: per feature and position a vector operation over the queries of each sequence."""
    heads = sizes.heads
    operations = heads.held * heads.features * sizes.context
    return milli_of(operations * (sizes.items(y) * at.constants.mesh_dispatch + sizes.rows * at.fma_cycles))


def _steps(functions: list[int], milli: int, at: Setting) -> list[Instruction]:
    """Return the steps of a product: the blocks of the next one come in while this one is multiplied."""
    go = signal(GO) + signal(GO + 1)
    gone = wait(GONE) + wait(GONE + 1)
    found = go + gone
    for step, function in enumerate(functions):
        more = step + 1 < len(functions)
        found += (go if more else []) + local(function, milli) + (gone if more else [])
        found += delay(milli_of(at.constants.step))
    return found


def _softmax(image: Image, work: Work, at: Setting) -> Programs:
    """Return what each place of a row does between the products: largest, powers, sum, shares."""
    on, sizes = work.on, work.sizes

    def vector(function: Function, ops: tuple[int, int]) -> list[Instruction]:
        return local(image.function(function), vector_milli(on.scores.numbers, ops, at))

    row, last = Line(image, "x", sizes.side), sizes.side - 1
    words, later = on.tops.numbers, sizes.context // sizes.tile - 1
    fold = local(image.function(work.fold), vector_milli(words, (later, 0), at)) if later else []
    top = lines.reduce(row, lines.chain(sizes.side), on.tops.address, words, first=MEET, combine=layout.MAX)
    total = (
        hand_on(row, on.totals.address, words, fold, MEET)
        if fold
        else lines.reduce(row, lines.chain(sizes.side), on.totals.address, words, first=MEET)
    )
    top_back = lines.spread(row, last, on.tops.address, words, MEET + 2)
    total_back = lines.spread(row, last, on.totals.address, words, MEET + 2)
    find, powers, shares = (
        vector(function, ops)
        for function, ops in ((work.find, FIND_OPS), (work.raise_all, POWER_OPS), (work.share, SHARE_OPS))
    )
    return [
        find + top[x] + top_back[x] + powers + total[x] + total_back[x] + shares for x in range(sizes.side)
    ]
