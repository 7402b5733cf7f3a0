"""Which shapes an operation takes and which it makes. Each rule returns the result shape, None if the inputs do not fit.

Only rules that say nothing about the first dimension pass the batch (None) on; all others want concrete sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeAlias

from pilots.graph.attributes import Given
from pilots.graph.ir import Shape

Shapes: TypeAlias = tuple[Shape, ...]
ShapeRule: TypeAlias = Callable[[Shapes, Given], Shape | None]


def concrete(rule: Callable[[tuple[tuple[int, ...], ...], Given], Shape | None]) -> ShapeRule:
    """Return the rule for shapes without a batch; it refuses any other."""

    def checked(shapes: Shapes, given: Given) -> Shape | None:
        known = tuple(tuple(item for item in shape if item is not None) for shape in shapes)
        return rule(known, given) if known == shapes else None

    return checked


def same(shapes: Shapes, _given: Given) -> Shape | None:
    """All inputs alike; the result too."""
    return shapes[0] if shapes[0] and all(shape == shapes[0] for shape in shapes) else None


def broadcast(shapes: Shapes, _given: Given) -> Shape | None:
    """The right side is equal, equals the last dimensions, or has one number per row."""
    left, right = shapes
    fits = right in (left, left[-len(right) :], (*left[:-1], 1))
    return left if right and left and fits else None


def rows(shapes: Shapes, _given: Given) -> Shape | None:
    """The last of at least two dimensions shrinks to one."""
    return (*shapes[0][:-1], 1) if len(shapes[0]) >= 2 else None


def matmul(shapes: Shapes, given: Given) -> Shape | None:
    """[m, k] x [k, n], or [m, k] x [n, k] if transposed."""
    left, right = shapes
    if len(left) != 2 or len(right) != 2 or None in right:
        return None
    inner, outer = right[::-1] if given.whole("transposed") else right
    return (left[0], outer) if left[1] == inner else None


@concrete
def batch_matmul(shapes: tuple[tuple[int, ...], ...], _given: Given) -> Shape | None:
    """[b, m, k] x [b, k, n]."""
    left, right = shapes
    fits = len(left) == len(right) == 3 and left[0] == right[0] and left[2] == right[1]
    return (*left[:2], right[2]) if fits else None


def norm(shapes: Shapes, _given: Given) -> Shape | None:
    """Scale, and shift if there is one, have as many numbers as the last dimension."""
    data, *others = shapes
    return data if data and all(item == data[-1:] for item in others) else None


@concrete
def reshape(shapes: tuple[tuple[int, ...], ...], given: Given) -> Shape | None:
    """As many elements as before."""
    wanted = given.sizes("shape")
    return wanted if prod(wanted) == prod(shapes[0]) else None


@concrete
def transpose(shapes: tuple[tuple[int, ...], ...], given: Given) -> Shape | None:
    """Dimensions in the order given; without one, two dimensions change places."""
    (shape,) = shapes
    order = given.sizes("order") or ((1, 0) if len(shape) == 2 else ())
    return tuple(shape[item] for item in order) if sorted(order) == list(range(len(shape))) else None


def cut(shapes: Shapes, given: Given) -> Shape | None:
    """From start to stop, start < stop <= the size of that axis."""
    (shape,) = shapes
    axis, start, stop = (given.whole(name) for name in ("axis", "start", "stop"))
    size = shape[axis] if axis < len(shape) else None
    if size is None or not start < stop <= size:
        return None
    return (*shape[:axis], stop - start, *shape[axis + 1 :])


def concat(shapes: Shapes, given: Given) -> Shape | None:
    """Equal sizes but for that axis."""
    axis, first = given.whole("axis"), shapes[0]
    if axis >= len(first) or any(len(shape) != len(first) or shape[axis] is None for shape in shapes):
        return None
    total = sum(shape[axis] or 0 for shape in shapes)
    others = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    return (*first[:axis], total, *first[axis + 1 :]) if len(others) == 1 else None


@concrete
def pad(shapes: tuple[tuple[int, ...], ...], given: Given) -> Shape | None:
    """One number before and one after per dimension."""
    (shape,) = shapes
    before, after = given.sizes("before"), given.sizes("after")
    if not len(shape) == len(before) == len(after):
        return None
    return tuple(sum(item) for item in zip(shape, before, after, strict=True))


@concrete
def broadcast_to(shapes: tuple[tuple[int, ...], ...], given: Given) -> Shape | None:
    """Dimensions, counted from the last, are equal or one."""
    (shape,) = shapes
    wanted = given.sizes("shape")
    tail = wanted[-len(shape) :] if shape else ()
    fits = len(shape) <= len(wanted) and all(a in {1, b} for a, b in zip(shape, tail, strict=True))
    return wanted if fits else None


@concrete
def gather(shapes: tuple[tuple[int, ...], ...], _given: Given) -> Shape | None:
    """Entries of the first dimension, one for each index."""
    table, ids = shapes
    return (*ids, *table[1:]) if len(table) >= 2 and ids else None


@concrete
def embedding(shapes: tuple[tuple[int, ...], ...], _given: Given) -> Shape | None:
    """A table of two dimensions, a row of indices."""
    table, ids = shapes
    return (ids[0], table[1]) if len(table) == 2 and len(ids) == 1 else None


@concrete
def scatter_add(shapes: tuple[tuple[int, ...], ...], _given: Given) -> Shape | None:
    """One update of the size of a row for each index."""
    table, ids, updates = shapes
    fits = len(table) == 2 and len(ids) == 1 and updates == (ids[0], table[1])
    return table if fits else None


@concrete
def one_hot(shapes: tuple[tuple[int, ...], ...], given: Given) -> Shape | None:
    """A row of indices becomes a row of `depth` numbers each."""
    (ids,) = shapes
    return (ids[0], given.whole("depth")) if len(ids) == 1 else None


@concrete
def rope(shapes: tuple[tuple[int, ...], ...], given: Given) -> Shape | None:
    """[rows, heads x head_dim] and one position per row; an even part of a head turns."""
    data, positions = shapes
    head_dim = given.whole("head_dim")
    turning = given.whole("rotary_dim", head_dim)
    fits = len(data) == 2 and positions == data[:1] and data[1] == given.whole("heads") * head_dim
    return data if fits and turning % 2 == 0 and turning <= head_dim else None


def _widths(given: Given) -> tuple[int, int] | None:
    heads, kv_heads, head_dim = (given.whole(name) for name in ("heads", "kv_heads", "head_dim"))
    return (heads * head_dim, kv_heads * head_dim) if heads % kv_heads == 0 else None


@concrete
def attention(shapes: tuple[tuple[int, ...], ...], given: Given) -> Shape | None:
    """Equal numbers of rows, a multiple of the batch; widths follow from heads, kv_heads and head_dim."""
    query, key, value = shapes
    widths = _widths(given)
    if widths is None or len(query) != 2 or query[0] % given.whole("batch"):
        return None
    return query if query[1] == widths[0] and key == value == (query[0], widths[1]) else None


@concrete
def cache_append(shapes: tuple[tuple[int, ...], ...], _given: Given) -> Shape | None:
    """[batch, capacity, width], one new row and one position per sequence."""
    cache, new, position = shapes
    fits = len(cache) == 3 and new == (cache[0], cache[2]) and position == cache[:1]
    return cache if fits else None


@concrete
def attention_cached(shapes: tuple[tuple[int, ...], ...], given: Given) -> Shape | None:
    """One query per sequence; both caches are [batch, capacity, kv_heads x head_dim]."""
    query, keys, values, position = shapes
    widths = _widths(given)
    if widths is None or len(query) != 2 or len(keys) != 3 or keys != values:
        return None
    fits = query[1] == widths[0] and keys[2] == widths[1] and position == query[:1] == keys[:1]
    return query if fits else None


def top_k_gate(shapes: Shapes, given: Given) -> Shape | None:
    """[rows, experts] with k of at most all experts."""
    (shape,) = shapes
    experts = shape[1] if len(shape) == 2 else None
    return shape if experts is not None and given.whole("k") <= experts else None


@concrete
def expert_ffn(shapes: tuple[tuple[int, ...], ...], given: Given) -> Shape | None:
    """Data [rows, h], gates [rows, e], w_gate and w_up [e, h, f], w_down [e, f, h], k of at most e."""
    data, gates, gate, up, down = shapes
    if len(data) != 2 or len(gate) != 3:
        return None
    experts, hidden, width = gate
    fits = (
        data[1] == hidden and gates == (data[0], experts) and up == gate and down == (experts, width, hidden)
    )
    return data if fits and given.whole("k") <= experts else None


def _slid(size: int | None, window: int, stride: int, padding: int) -> int:
    return ((size or 0) + 2 * padding - window) // stride + 1


def conv2d(shapes: Shapes, given: Given) -> Shape | None:
    """[b, c, h, w] and kernels [o, c, kh, kw] no larger than the padded picture; padding below kh and kw."""
    data, kernel = shapes
    if len(data) != 4 or len(kernel) != 4 or None in data[1:] or None in kernel or data[1] != kernel[1]:
        return None
    stride, padding = given.whole("stride"), given.whole("padding")
    high, wide = (_slid(data[i], kernel[i] or 0, stride, padding) for i in (2, 3))
    below = padding < min(kernel[2] or 0, kernel[3] or 0)
    return (data[0], kernel[0], high, wide) if min(high, wide) >= 1 and below else None


def pool2d(shapes: Shapes, given: Given) -> Shape | None:
    """[b, c, h, w] with windows no larger than the picture."""
    (data,) = shapes
    if len(data) != 4 or None in data[1:]:
        return None
    high, wide = (_slid(data[i], given.whole("size"), given.whole("stride"), 0) for i in (2, 3))
    return (*data[:2], high, wide) if min(high, wide) >= 1 else None


@concrete
def stencil(shapes: tuple[tuple[int, ...], ...], given: Given) -> Shape | None:
    """[nx, ny, nz]; 7 or 25 points and as many coefficients."""
    (shape,) = shapes
    points = given.whole("points")
    fits = len(shape) == 3 and points in {7, 25} and len(given.text("coefficients").split(" ")) == points
    return shape if fits else None


@concrete
def cross_entropy(shapes: tuple[tuple[int, ...], ...], _given: Given) -> Shape | None:
    """[rows, classes] and one class per row."""
    logits, targets = shapes
    return (logits[0], 1) if len(logits) == 2 and targets == logits[:1] else None


@concrete
def adamw_update(shapes: tuple[tuple[int, ...], ...], _given: Given) -> Shape | None:
    """Parameters and both moments alike, and the step as one number."""
    param, first, second, step = shapes
    return param if param and param == first == second and step == (1,) else None
