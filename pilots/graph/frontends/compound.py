"""Operations of the frameworks that take several of the table: products, reductions, lookups, pictures, attention."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, pi, prod, sqrt
from typing import Final

import numpy as np

from pilots.graph.frontends.emitter import Emitter
from pilots.graph.frontends.errors import Refused
from pilots.graph.frontends.values import Value, decimal, known_as
from pilots.graph.ir import DType

Axes = Sequence[int]
_SCALE_TOLERANCE: Final = 1e-6
ERF_SLOPE: Final = 0.3275911
ERF_NEAR: Final = 0.5
ERF_SERIES: Final = tuple(2 / sqrt(pi) * (-1) ** n / (factorial(n) * (2 * n + 1)) for n in range(7))
ERF_TERMS: Final = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
BATCH_STATISTICS_DE: Final = (
    "BatchNorm gibt es nur mit gespeicherten Kennwerten, im Auswertungsmodus (eval, track_running_stats=True)"
)


def reduce(emit: Emitter, op: str, value: Value, axes: Axes, *, keep: bool) -> Value:
    """Reduce along axes; all of them if none is named. `op` reduces the last dimension."""
    chosen = sorted({axis % max(value.rank, 1) for axis in axes}) or list(range(value.rank))
    if not value.rank:
        return value
    if keep and chosen == [value.rank - 1] and value.rank >= 2:
        return emit.op(op, value)
    shape = value.sizes()
    rest = [axis for axis in range(value.rank) if axis not in chosen]
    flat = emit.transpose(value, [*rest, *chosen])
    flat = emit.reshape(flat, (prod(shape[axis] for axis in rest), prod(shape[axis] for axis in chosen)))
    kept = tuple(1 if axis in chosen else size for axis, size in enumerate(shape))
    return emit.reshape(emit.op(op, flat), kept if keep else tuple(shape[axis] for axis in rest))


def along_last(emit: Emitter, op: str, value: Value, axis: int) -> Value:
    """Apply a row operation such as softmax along any axis."""
    axis %= value.rank
    order = [item for item in range(value.rank) if item != axis] + [axis]
    back = [order.index(item) for item in range(value.rank)]
    value = emit.unmasked(value) if op == "softmax" else value
    return emit.transpose(emit.op(op, emit.transpose(value, order)), back)


def dot(
    emit: Emitter, left: Value, right: Value, contract: tuple[Axes, Axes], batch: tuple[Axes, Axes]
) -> Value:
    """Multiply and sum along pairs of dimensions; the result has batch, left and right dimensions in this order."""
    if left.dtype is not right.dtype or not left.dtype.is_float:
        raise Refused("ein Produkt braucht Gleitkommazahlen eines Typs")
    rest = [
        [axis for axis in range(value.rank) if axis not in {*contract[side], *batch[side]}]
        for side, value in enumerate((left, right))
    ]
    plain = not batch[0] and list(contract[0]) == [1] and left.rank == right.rank == 2
    if plain:
        return emit.op("matmul", left, emit.transpose(right, [*contract[1], *rest[1]]))
    a, b = left.sizes(), right.sizes()
    shared = tuple(a[axis] for axis in batch[0])
    rows, inner = tuple(a[axis] for axis in rest[0]), prod(a[axis] for axis in contract[0])
    columns = tuple(b[axis] for axis in rest[1])
    first = emit.transpose(left, [*batch[0], *rest[0], *contract[0]])
    second = emit.transpose(right, [*batch[1], *contract[1], *rest[1]])
    many = (prod(shared),) if prod(shared) > 1 else ()
    first = emit.reshape(first, (*many, prod(rows), inner))
    second = emit.reshape(second, (*many, inner, prod(columns)))
    product = emit.op("batch_matmul" if many else "matmul", first, second)
    return emit.reshape(product, (*shared, *rows, *columns))


def matmul(emit: Emitter, left: Value, right: Value) -> Value:
    """Multiply as `numpy.matmul` does; leading dimensions of both sides are equal, or the right side has none."""
    if left.rank < 2 or right.rank < 2:
        raise Refused("Produkte mit einem einzelnen Vektor gibt es im Graphen nicht")
    if right.rank == 2:
        return dot(emit, left, right, ([left.rank - 1], [0]), ([], []))
    lead = np.broadcast_shapes(left.sizes()[:-2], right.sizes()[:-2])
    left = emit.broadcast_to(left, (*lead, *left.shape[-2:]))
    right = emit.broadcast_to(right, (*lead, *right.shape[-2:]))
    shared = list(range(len(lead)))
    return dot(emit, left, right, ([left.rank - 1], [right.rank - 2]), (shared, shared))


def power(emit: Emitter, value: Value, exponent: float) -> Value:
    """Raise to a power the table can express."""
    named = {2.0: "square", 0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}
    if exponent in named:
        return emit.unary(named[exponent], value)
    if exponent == 1.0:
        return value
    if exponent in {3.0, 4.0}:
        square = emit.unary("square", value)
        return emit.unary("square", square) if exponent == 4.0 else emit.binary("mul", square, value)
    if exponent == -2.0:
        return emit.unary("reciprocal", emit.unary("square", value))
    raise Refused(
        f"die Potenz {exponent:g} gibt es im Graphen nicht; möglich sind -2, -1, -0.5, 0.5, 1, 2, 3, 4"
    )


def lookup(emit: Emitter, table: Value, ids: Value) -> Value:
    """Return rows of a table, one for each index; an index outside the table is an error when it runs."""
    if ids.dtype is not DType.INT32:
        raise Refused("Indizes müssen ganze Zahlen sein")
    shape = ids.sizes()
    if table.rank != 2 or not table.dtype.is_float:
        return emit.op("gather", table, ids)
    found = emit.op("embedding", table, emit.reshape(ids, (prod(shape),)))
    return emit.reshape(found, (*shape, *table.shape[1:]))


def add_rows(emit: Emitter, table: Value, ids: Value, updates: Value) -> Value:
    """Add each row of updates to the row of the table its index names."""
    shape = ids.sizes()
    rows = prod(shape)
    flat = emit.reshape(updates, (rows, *table.shape[1:]))
    return emit.op("scatter_add", table, emit.reshape(ids, (rows,)), flat)


def norm(emit: Emitter, op: str, value: Value, factors: Sequence[Value | None], epsilon: float) -> Value:
    """Normalise the last dimension; a missing scale is 1, a missing shift 0."""
    width = value.shape[-1]
    defaults = (1.0, 0.0)
    given = [
        emit.full(value, default) if item is None else emit.reshape(item, (width,))
        for item, default in zip(factors, defaults, strict=False)
    ]
    text = decimal(epsilon, DType.FLOAT32)
    if text is None:
        raise Refused("das Epsilon der Normierung lässt sich nicht als Dezimalzahl schreiben")
    return emit.op(op, value, *given, epsilon=text)


def conv2d(  # noqa: PLR0917 - the usual order of a convolution
    emit: Emitter, data: Value, kernel: Value, bias: Value | None, stride: Axes, padding: Axes
) -> Value:
    """Slide kernels over pictures [b, c, h, w]; stride and padding are equal in both directions."""
    if data.rank != 4 or len({*stride}) != 1 or len({*padding}) != 1:
        raise Refused(
            "Faltungen gibt es nur über Bilder, mit gleicher Schrittweite und gleichem Rand in beiden Richtungen"
        )
    result = emit.op("conv2d", data, kernel, stride=stride[0], padding=padding[0])
    return result if bias is None else emit.binary("add", result, emit.reshape(bias, (*bias.shape, 1, 1)))


def pool(emit: Emitter, op: str, data: Value, size: Axes, stride: Axes) -> Value:
    """Reduce square windows of pictures without a border."""
    if data.rank != 4 or len(size) != 2 or len({*size}) != 1 or len({*stride}) != 1:
        raise Refused(
            "Pooling gibt es nur mit quadratischen Fenstern und gleicher Schrittweite in beiden Richtungen"
        )
    return emit.op(op, data, size=size[0], stride=stride[0])


def attention(
    emit: Emitter, query: Value, keys: Value, values: Value, *, causal: bool, scale: float | None
) -> Value:
    """Attend as usual: [batch, heads, rows, size] each, the queries of kv_heads may be grouped."""
    shapes = [item.sizes() for item in (query, keys, values)]
    if any(len(shape) != 4 for shape in shapes) or shapes[1] != shapes[2]:
        raise Refused("Attention braucht [Stapel, Köpfe, Zeilen, Breite], gleich für Schlüssel und Werte")
    batch, heads, rows, width = shapes[0]
    if (batch, rows, width) != (shapes[1][0], shapes[1][2], shapes[1][3]):
        raise Refused("Attention gibt es nur mit gleich vielen Zeilen und gleicher Breite auf beiden Seiten")
    usual = 1 / sqrt(width)
    if scale is not None and abs(scale - usual) > _SCALE_TOLERANCE * usual:
        query = emit.scale(query, scale / usual)
    flat = [
        emit.reshape(emit.transpose(item, (0, 2, 1, 3)), (batch * rows, shape[1] * width))
        for item, shape in zip((query, keys, values), shapes, strict=True)
    ]
    found = emit.op(
        "attention",
        *flat,
        batch=batch,
        causal=int(causal),
        heads=heads,
        kv_heads=shapes[1][1],
        head_dim=width,
    )
    return emit.transpose(emit.reshape(found, (batch, rows, heads, width)), (0, 2, 1, 3))


def attention_written_out(  # noqa: PLR0917 - the usual order
    emit: Emitter, query: Value, keys: Value, values: Value, mask: Value | None, scale: float | None
) -> Value:
    """Attend by products and a softmax: with a mask, added or true where one attends, or with other rows for the keys."""
    if len({query.rank, keys.rank, values.rank}) != 1:
        raise Refused("Attention braucht Anfragen, Schlüssel und Werte mit gleich vielen Dimensionen")
    if query.rank == 4:
        keys, values = (_for_heads(emit, item, query.sizes()[1]) for item in (keys, values))
    turned = [*range(keys.rank - 2), keys.rank - 1, keys.rank - 2]
    usual = 1 / sqrt(query.sizes()[-1])
    scores = matmul(emit, emit.scale(query, usual if scale is None else scale), emit.transpose(keys, turned))
    if mask is not None and mask.dtype is DType.BOOL:
        scores = emit.where(mask, scores, emit.scalar(-np.inf, scores))
    elif mask is not None:
        scores = emit.binary("add", scores, emit.cast(mask, scores.dtype))
    return matmul(emit, along_last(emit, "softmax", scores, -1), values)


def _for_heads(emit: Emitter, value: Value, heads: int) -> Value:
    """Repeat grouped keys or values, once for every head of the queries."""
    batch, groups, rows, width = value.sizes()
    if groups == heads:
        return value
    many = heads // groups
    wide = emit.reshape(value, (batch, groups, 1, rows, width))
    wide = emit.broadcast_to(wide, (batch, groups, many, rows, width))
    return emit.reshape(wide, (batch, heads, rows, width))


def batch_norm(emit: Emitter, data: Value, factors: Sequence[Value | None], epsilon: float) -> Value:
    """Scale and shift every channel, as a trained BatchNorm does; factors: scale and shift (or None), mean, variance."""
    scale, shift, mean, variance = factors
    if mean is None or variance is None:
        raise Refused(BATCH_STATISTICS_DE)
    spread = emit.unary("sqrt", emit.binary("add", variance, emit.scalar(epsilon, variance)))
    factor = emit.binary("div", emit.scalar(1, spread) if scale is None else scale, spread)
    offset = emit.binary("mul", mean, factor)
    offset = emit.unary("neg", offset) if shift is None else emit.binary("sub", shift, offset)
    shape = (*mean.shape, *[1] * (data.rank - 2))
    factor, offset = (emit.cast(emit.reshape(item, shape), data.dtype) for item in (factor, offset))
    return emit.binary("add", emit.binary("mul", data, factor), offset)


def erf_tail(emit: Emitter, size: Value, squared: Value) -> Value:
    """Return 1 - erf(size) for size >= 0, `squared` its square: Abramowitz and Stegun, formula 7.1.26, within 1.5e-7."""
    one = emit.scalar(1, size)
    slope = emit.unary("reciprocal", emit.binary("add", emit.scale(size, ERF_SLOPE), one))
    total = emit.scale(slope, ERF_TERMS[-1])
    for term in ERF_TERMS[-2::-1]:
        total = emit.binary("mul", emit.binary("add", total, emit.scalar(term, size)), slope)
    return emit.binary("mul", total, emit.unary("exp", emit.unary("neg", squared)))


def erf(emit: Emitter, value: Value) -> Value:
    """Return the error function; near 0 by its series (7.1.5), where what is left of 1 - tail would be rounded away."""
    wide = emit.cast(value, DType.FLOAT32)
    size, squared = emit.unary("abs", wide), emit.unary("square", wide)
    far = emit.binary("sub", emit.full(size, 1), erf_tail(emit, size, squared))
    far = emit.where(emit.compare("less", wide, emit.scalar(0, wide)), emit.unary("neg", far), far)
    near = emit.scale(squared, ERF_SERIES[-1])
    for term in ERF_SERIES[-2:0:-1]:
        near = emit.binary("mul", emit.binary("add", near, emit.scalar(term, near)), squared)
    near = emit.binary("mul", wide, emit.binary("add", near, emit.scalar(ERF_SERIES[0], near)))
    return emit.cast(
        emit.where(emit.compare("less", size, emit.scalar(ERF_NEAR, size)), near, far), value.dtype
    )


def erfc(emit: Emitter, value: Value) -> Value:
    """Return 1 minus the error function, within 1.5e-7."""
    wide = emit.cast(value, DType.FLOAT32)
    tail = erf_tail(emit, emit.unary("abs", wide), emit.unary("square", wide))
    mirrored = emit.binary("sub", emit.full(tail, 2), tail)
    found = emit.where(emit.compare("less", wide, emit.scalar(0, wide)), mirrored, tail)
    return emit.cast(found, value.dtype)


def gelu(emit: Emitter, value: Value) -> Value:
    """Return x (1 + erf(x / sqrt(2))) / 2, as max(x, 0) - |x| / 2 (1 - erf(|x| / sqrt(2))): small differences are kept."""
    wide = emit.cast(value, DType.FLOAT32)
    size = emit.unary("abs", wide)
    tail = erf_tail(emit, emit.scale(size, sqrt(0.5)), emit.scale(emit.unary("square", wide), 0.5))
    lost = emit.binary("mul", emit.scale(size, 0.5), tail)
    return emit.cast(emit.binary("sub", emit.unary("relu", wide), lost), value.dtype)


def one_hot(emit: Emitter, ids: Value, depth: int, dtype: DType) -> Value:
    """Return rows with a 1 where the index points."""
    shape = ids.sizes()
    flat = emit.op("one_hot", emit.reshape(ids, (prod(shape),)), depth=depth, dtype=dtype.value)
    return emit.reshape(flat, (*shape, depth))


def zeros(shape: Sequence[int], dtype: DType) -> Value:
    """Return zeros that are known now."""
    return known_as(np.zeros(tuple(shape)), dtype)
