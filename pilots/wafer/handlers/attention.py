"""Attention over a sequence or a cache, and the step that extends a cache.

Scores sum over the features of a head in tiles, maximum and sum run over the context in tiles, so do the weighted
values. Tiles of a sequence add up from first to last, those of a cache meet in two levels. A position that may not be
seen is never touched: not even NaN there can reach the result.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pilots.wafer.errors import RequestError
from pilots.wafer.handlers.base import Array, Handler, Inputs, number, wide
from pilots.wafer.numerics import Float, exp
from pilots.wafer.numerics_products import chained_product, two_level_product
from pilots.wafer.numerics_sums import chained_sum, largest, meeting_sum
from pilots.wafer.program import Call, Kernel
from pilots.wafer.tiling import summed_features

SCORES: Final = 2**22  # scores in memory at one time: 16 MiB


def _attention(call: Call, inputs: Inputs) -> Array:
    """Return the attention of q [batch * length, heads * d] over k, v [batch * length, kv_heads * d]."""
    batch, heads, kv_heads, d = (number(call, name) for name in ("batch", "heads", "kv_heads", "head_dim"))
    query, key, value = (wide(item) for item in inputs)
    length, group = len(query) // batch, heads // kv_heads
    back = np.arange(length)[:, None] - np.arange(length)
    seen = np.abs(back) < number(call, "window", length)
    if number(call, "causal"):
        seen &= back >= 0
    out = _attend(
        call,
        query.reshape(batch, length, kv_heads, group, d)
        .transpose(0, 2, 3, 1, 4)
        .reshape(batch, kv_heads, -1, d),
        key.reshape(batch, length, kv_heads, d).transpose(0, 2, 1, 3),
        value.reshape(batch, length, kv_heads, d).transpose(0, 2, 1, 3),
        np.broadcast_to(np.tile(seen, (group, 1)), (batch, group * length, length)),
    )
    return out.reshape(batch, kv_heads, group, length, d).transpose(0, 3, 1, 2, 4).reshape(query.shape)


def _attention_cached(call: Call, inputs: Inputs) -> Array:
    """Return the attention of q [batch, heads * d] over caches [batch, capacity, kv_heads * d] up to the position."""
    heads, kv_heads, d = (number(call, name) for name in ("heads", "kv_heads", "head_dim"))
    query, keys, values = (wide(item) for item in inputs[:3])
    batch, capacity, _ = keys.shape
    last = places(inputs[3], batch, capacity)
    context = int(last.max()) + 1  # what lies behind adds nothing
    back = last[:, None] - np.arange(context)
    seen = (back >= 0) & (back < number(call, "window", capacity))
    out = _attend(
        call,
        query.reshape(batch, kv_heads, heads // kv_heads, d),
        keys[:, :context].reshape(batch, context, kv_heads, d).transpose(0, 2, 1, 3),
        values[:, :context].reshape(batch, context, kv_heads, d).transpose(0, 2, 1, 3),
        np.broadcast_to(seen[:, None, :], (batch, heads // kv_heads, context)),
        tiles=-(-capacity // call.tile[1]),
    )
    return out.reshape(query.shape)


def _attend(
    call: Call, query: Float, key: Float, value: Float, seen: npt.NDArray[np.bool_], *, tiles: int = 0
) -> Float:
    """Return [batch, kv_heads, rows, d]; key, value [batch, kv_heads, context, d]; seen [batch, rows, context].

    tiles: of the whole cache, over which sums meet; 0 for a sequence.
    """
    batch, kv_heads, rows, _ = query.shape
    context = key.shape[2]
    out = np.zeros_like(query)
    high = max(1, min(rows, SCORES // context))
    heads = max(1, SCORES // (context * high))
    for item in range(batch):
        for head in range(0, kv_heads, heads):
            some = (item, slice(head, head + heads))
            for top in range(0, rows, high):
                here = seen[item, top : top + high]
                part = query[some][:, top : top + high]
                out[some][:, top : top + high] = _rows(call, part, key[some], value[some], here, tiles=tiles)
    return out


def _rows(
    call: Call, query: Float, key: Float, value: Float, seen: npt.NDArray[np.bool_], *, tiles: int
) -> Float:
    tile_context, d = call.tile[1], query.shape[-1]
    square = call.kernel is Kernel.ATTENTION
    columns = min(call.rect.width, call.rect.height) if square else call.rect.width
    features = summed_features(number(call, "heads"), d, columns, call.tile[2])
    scale = np.float32(np.divide(np.float32(1), np.sqrt(np.float32(d))))
    scores = np.multiply(chained_product(query, key.swapaxes(-1, -2), features), scale)
    scores = np.where(seen, scores, np.float32(-np.inf))
    powers = np.where(seen, exp(np.subtract(scores, largest(scores))), np.float32(0))
    live = np.broadcast_to(seen, powers.shape)
    if not tiles:
        shares = np.divide(powers, chained_sum(powers, tile_context)[..., None])
        return chained_product(shares, value, tile_context, live)
    shares = np.divide(powers, meeting_sum(powers, tile_context, tiles)[..., None])
    return two_level_product(shares, value, tile_context, live, tiles)


def _cache_append(call: Call, inputs: Inputs) -> Array:
    """Return the cache [batch, capacity, width] with row `position` of each sequence replaced by new [batch, width]."""
    cache, new = inputs[0], inputs[1]
    batch, capacity = cache.shape[:2]
    place = places(inputs[2], batch, capacity)
    result = cache.copy()
    result[np.arange(batch), place] = new.reshape(batch, -1)
    return result


def places(position: Array, batch: int, capacity: int) -> npt.NDArray[Any]:
    """Return one position per sequence; raises RequestError outside the cache."""
    flat = np.broadcast_to(position.reshape(-1), (batch,)).astype(np.int64)
    outside = flat[(flat < 0) | (flat >= capacity)]
    if outside.size:
        sentence = f"Die Position {outside[0]} liegt außerhalb des Zwischenspeichers; erlaubt sind 0 bis {capacity - 1}."
        raise RequestError(f"position {outside[0]} is outside 0..{capacity - 1}", message_de=sentence)
    return flat


ATTENTION: Final[dict[str, Handler]] = {"attention": _attention}
ATTENTION_CACHED: Final[dict[str, Handler]] = {"attention_cached": _attention_cached}
CACHE_APPEND: Final[dict[str, Handler]] = {"cache_append": _cache_append}
