"""Twins of the composite operations: attention and its cache, rope, experts, convolution, stencil."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt
from typing import Final

import numpy as np

from pilots.graph.attributes import Given
from pilots.graph.errors import refusal
from pilots.graph.ir import Array


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1, small) / (1 + small))


def relu(x: Array) -> Array:
    """Return the greater of x and 0."""
    return np.asarray(np.maximum(x, 0))


def gelu(x: Array) -> Array:
    """Return the tanh form of gelu."""
    return np.asarray(0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))))


def silu(x: Array) -> Array:
    """Return x sigmoid(x)."""
    return np.asarray(x * sigmoid(x))


ACTIVATIONS: Final[dict[str, Callable[[Array], Array]]] = {"relu": relu, "gelu": gelu, "silu": silu}


def softmax(x: Array) -> Array:
    """Return the softmax over the last dimension; -inf counts as absent."""
    grown = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=-1, keepdims=True))


def rope(inputs: Sequence[Array], given: Given) -> Array:
    """Turn pairs of features by position x theta^(-2j / rotary_dim): the halves, or neighbours if interleaved."""
    data, positions = inputs
    head_dim = given.whole("head_dim")
    turning = given.whole("rotary_dim", head_dim)
    frequency = float(given.whole("theta")) ** (-np.arange(0, turning, 2) / turning)
    angle = (positions[:, None] * frequency)[:, None, :]
    sine, cosine = np.sin(angle), np.cos(angle)
    result = data.reshape(data.shape[0], given.whole("heads"), head_dim).copy()
    half = turning // 2
    if given.whole("interleaved"):
        first, second = slice(0, turning, 2), slice(1, turning, 2)
    else:
        first, second = slice(0, half), slice(half, turning)
    left, right = result[..., first].copy(), result[..., second].copy()
    result[..., first] = left * cosine - right * sine
    result[..., second] = right * cosine + left * sine
    return result.reshape(data.shape)


def _attend(query: Array, keys: Array, values: Array, seen: Array) -> Array:
    """Return softmax(q k / sqrt(d)) v per head; query [.., q, d], keys and values [.., c, d], seen [.., q, c]."""
    scores = query @ keys.swapaxes(-1, -2) / sqrt(query.shape[-1])
    return np.asarray(softmax(np.where(seen, scores, -np.inf)) @ values)


def _by_head(data: Array, batch: int, heads: int, copies: int) -> Array:
    """Return [batch, heads x copies, rows, head_dim] of [batch x rows, heads x head_dim]."""
    split = data.reshape(batch, -1, heads, data.shape[-1] // heads).swapaxes(1, 2)
    return split.repeat(copies, axis=1)


def attention(inputs: Sequence[Array], given: Given) -> Array:
    """Let every row of a sequence look at all rows, at the earlier ones if causal, at no more than `window`."""
    batch, heads, kv_heads = (given.whole(name) for name in ("batch", "heads", "kv_heads"))
    query = _by_head(inputs[0], batch, heads, 1)
    keys, values = (_by_head(item, batch, kv_heads, heads // kv_heads) for item in inputs[1:])
    length = query.shape[2]
    back = np.arange(length)[:, None] - np.arange(length)
    seen = np.abs(back) < given.whole("window", length)
    if given.whole("causal"):
        seen &= back >= 0
    return _attend(query, keys, values, seen).swapaxes(1, 2).reshape(inputs[0].shape)


def _checked_positions(position: Array, capacity: int) -> Array:
    if position.min() < 0 or position.max() >= capacity:
        sentence = f"Eine Position liegt außerhalb des Zwischenspeichers (0 bis {capacity - 1})."
        found = f"{position.min()}..{position.max()}"
        raise refusal("INDEX", "positions", f"0..{capacity - 1}", found, sentence)
    return position


def cache_append(inputs: Sequence[Array], _given: Given) -> Array:
    """Write the new row of every sequence at its position."""
    cache, new, position = inputs
    result = cache.copy()
    result[np.arange(cache.shape[0]), _checked_positions(position, cache.shape[1])] = new
    return result


def attention_cached(inputs: Sequence[Array], given: Given) -> Array:
    """Let the query of every sequence look at its cache from 0 to its position, at no more than `window` rows."""
    query, key_cache, value_cache, position = inputs
    heads, kv_heads = given.whole("heads"), given.whole("kv_heads")
    batch, capacity, width = key_cache.shape
    back = _checked_positions(position, capacity)[:, None] - np.arange(capacity)
    seen = ((back >= 0) & (back < given.whole("window", capacity)))[:, None, None, :]
    keys, values = (
        _by_head(item.reshape(-1, width), batch, kv_heads, heads // kv_heads)
        for item in (key_cache, value_cache)
    )
    return _attend(_by_head(query, batch, heads, 1), keys, values, seen).reshape(query.shape)


def top_k_gate(inputs: Sequence[Array], given: Given) -> Array:
    """Softmax over the k largest of a row, zero elsewhere; of equal ones the first are chosen."""
    (logits,) = inputs
    chosen = np.argsort(-logits, axis=1, kind="stable")[:, : given.whole("k")]
    result = np.zeros_like(logits)
    np.put_along_axis(result, chosen, softmax(np.take_along_axis(logits, chosen, axis=1)), axis=1)
    return result


def expert_ffn(inputs: Sequence[Array], given: Given) -> Array:
    """Sum over experts of gate x (activation(x w_gate) * (x w_up)) w_down, for rows whose gate is not zero."""
    data, gates, w_gate, w_up, w_down = inputs
    activation = ACTIVATIONS[given.text("activation")]
    result = np.zeros_like(data)
    for expert in range(gates.shape[1]):
        rows = np.flatnonzero(gates[:, expert])
        hidden = activation(data[rows] @ w_gate[expert]) * (data[rows] @ w_up[expert])
        result[rows] += gates[rows, expert, None] * (hidden @ w_down[expert])
    return result


def _windows(data: Array, size: tuple[int, int], stride: int) -> Array:
    """Return [b, c, rows, columns, *size]."""
    every = np.lib.stride_tricks.sliding_window_view(data, size, axis=(2, 3))
    return every[:, :, ::stride, ::stride]


def conv2d(inputs: Sequence[Array], given: Given) -> Array:
    """Slide every kernel over the picture, zero outside."""
    data, kernel = inputs
    border = given.whole("padding")
    padded = np.pad(data, ((0, 0), (0, 0), (border, border), (border, border)))
    windows = _windows(padded, kernel.shape[2:], given.whole("stride"))
    return np.asarray(np.einsum("bchwij,ocij->bohw", windows, kernel, optimize=True))


def max_pool2d(inputs: Sequence[Array], given: Given) -> Array:
    """Return the greatest of each window."""
    return np.asarray(_windows(inputs[0], (given.whole("size"),) * 2, given.whole("stride")).max(axis=(4, 5)))


def avg_pool2d(inputs: Sequence[Array], given: Given) -> Array:
    """Return the mean of each window."""
    return np.asarray(
        _windows(inputs[0], (given.whole("size"),) * 2, given.whole("stride")).mean(axis=(4, 5))
    )


def stencil_offsets(points: int) -> tuple[tuple[int, int, int], ...]:
    """Return the cells a star looks at, in the order of its coefficients: itself, then -x +x -y +y -z +z outwards."""
    steps = [sign * distance for distance in range(1, (points - 1) // 6 + 1) for sign in (-1, 1)]
    pairs = [steps[item : item + 2] for item in range(0, len(steps), 2)]
    arms = [(axis, step) for pair in pairs for axis in range(3) for step in pair]
    return ((0, 0, 0), *((step * (axis == 0), step * (axis == 1), step * (axis == 2)) for axis, step in arms))


def stencil(inputs: Sequence[Array], given: Given) -> Array:
    """Return per cell the weighted sum of the star around it; cells outside the grid are zero."""
    (grid,) = inputs
    offsets = stencil_offsets(given.whole("points"))
    reach = max(max(map(abs, item)) for item in offsets)
    padded = np.pad(grid, reach)
    result = np.zeros_like(grid)
    for coefficient, offset in zip(given.text("coefficients").split(" "), offsets, strict=True):
        part = tuple(slice(reach + o, reach + o + n) for o, n in zip(offset, grid.shape, strict=True))
        result += float(coefficient) * padded[part]
    return result
