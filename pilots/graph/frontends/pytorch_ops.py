"""ATen operations in the words of the table: one row each. Names as torch writes them, without "aten."."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from pilots.graph.frontends import compound
from pilots.graph.frontends import pytorch_layers as layers
from pilots.graph.frontends.errors import Refused
from pilots.graph.frontends.pytorch_context import Context, Handler
from pilots.graph.frontends.values import Value, combined, known_as, negated
from pilots.graph.ir import DType


def _binary(op: str) -> Handler:
    def handle(on: Context, left: Any, right: Any, *, alpha: float = 1) -> Value:
        dtype = on.out.dtype
        a, b = on.value(left, dtype), on.value(right, dtype)
        if on.out.wide and (a.array is None or b.array is None):
            raise Refused("Rechnen mit int64 gibt es im Graphen nicht; ganze Zahlen dienen nur als Indizes")
        return on.emit.binary(op, a, on.emit.scale(b, float(alpha)) if alpha != 1 else b)

    return handle


def _divide(on: Context, left: Any, right: Any, *, rounding_mode: str | None = None) -> Value:
    if rounding_mode is not None:
        raise Refused("Division mit Rundung gibt es im Graphen nicht")
    return on.emit.binary("div", on.value(left, on.out.dtype), on.value(right, on.out.dtype))


def _unary(op: str) -> Handler:
    return lambda on, value: on.emit.unary(op, on.value(value, on.out.dtype))


def _compare(kind: str) -> Handler:
    def handle(on: Context, left: Value, right: Any) -> Value:
        dtype = left.dtype if left.rank or not isinstance(right, Value) else right.dtype
        if dtype is DType.BOOL:
            dtype = DType.INT32
        return on.emit.compare(kind, on.value(left, dtype), on.value(right, dtype))

    return handle


def _logic(rule: str) -> Handler:
    def handle(on: Context, *values: Value) -> Value:
        if any(item.dtype is not DType.BOOL for item in values):
            raise Refused("logische Verknüpfungen gibt es nur für Wahrheitswerte")
        if rule == "not":
            return negated(values[0])
        shape = on.out.shape
        first, second = (on.emit.broadcast_to(item, shape) for item in values)
        return combined(rule, (first, second), shape)

    return handle


def _where(on: Context, condition: Value, chosen: Any, other: Any) -> Value:
    return on.emit.where(condition, on.value(chosen, on.out.dtype), on.value(other, on.out.dtype))


def _clamp(on: Context, value: Value, low: Any = None, high: Any = None) -> Value:
    for op, limit in (("maximum", low), ("minimum", high)):
        if limit is not None:
            value = on.emit.binary(op, value, on.value(limit, value.dtype))
    return value


def _pow(on: Context, value: Value, exponent: Any) -> Value:
    if not isinstance(exponent, int | float):
        raise Refused("Potenzen gibt es nur mit festem Exponenten")
    return compound.power(on.emit, on.value(value, on.out.dtype), float(exponent))


def _full(on: Context, *args: Any, **_options: Any) -> Value:
    number = args[-1] if len(args) > 1 else 0
    sizes = Value(on.out.shape, on.out.dtype).sizes()
    on.emit.grow(sizes)
    return known_as(np.full(sizes, number), on.out.dtype)


def _constant(number: float) -> Handler:
    return lambda on, *_args, **_options: _full(on, None, number)


def _scalar(on: Context, number: float, **_options: Any) -> Value:
    return known_as(np.asarray(number), on.out.dtype)


def _arange(on: Context, *bounds: float, **_options: Any) -> Value:
    return known_as(np.arange(*bounds), on.out.dtype)


def _shape(on: Context, value: Value, *_args: Any, **_options: Any) -> Value:
    return on.emit.reshape(value, on.out.shape)


def _permute(on: Context, value: Value, order: Sequence[int]) -> Value:
    return on.emit.transpose(value, order)


def _swap(on: Context, value: Value, first: int, second: int) -> Value:
    order = list(range(value.rank))
    order[first], order[second] = order[second], order[first]
    return on.emit.transpose(value, order)


def _expand(on: Context, value: Value, *_args: Any, **_options: Any) -> Value:
    return on.emit.broadcast_to(value, on.out.shape)


def _slice(  # noqa: PLR0917 - the framework's own order
    on: Context, value: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Value:
    size = value.shape[dim]
    if size is None:
        raise Refused("die offene Stapeldimension lässt sich nicht zerschneiden")
    first, last, stride = slice(start, end, step).indices(size)
    return on.emit.cut(value, dim % value.rank, first, last, stride)


def _select(on: Context, value: Value, dim: int, index: int) -> Value:
    size = value.sizes()[dim]
    start = index % size
    return on.emit.reshape(on.emit.cut(value, dim % value.rank, start, start + 1), on.out.shape)


def _split(on: Context, value: Value, sizes: Any, dim: int = 0) -> list[Value]:
    axis = dim % value.rank
    whole = value.shape[axis] or 0
    parts = [sizes] * -(-whole // sizes) if isinstance(sizes, int) else list(sizes)
    starts = [sum(parts[:index]) for index in range(len(parts))]
    return [
        on.emit.cut(value, axis, start, min(start + size, whole))
        for start, size in zip(starts, parts, strict=True)
    ]


def _cat(on: Context, values: Sequence[Value], dim: int = 0) -> Value:
    full = [on.value(item, on.out.dtype) for item in values]
    return on.emit.concat(full, dim % full[0].rank)


def _pad(on: Context, value: Value, pads: Sequence[int], number: float = 0.0) -> Value:
    if number != 0 or min(pads) < 0:
        raise Refused("Auffüllen gibt es nur mit Nullen und nach außen")
    rank = value.rank
    before, after = [0] * rank, [0] * rank
    for index in range(len(pads) // 2):
        before[rank - 1 - index], after[rank - 1 - index] = pads[2 * index], pads[2 * index + 1]
    return on.emit.op("pad", value, before=tuple(before), after=tuple(after))


def _same(on: Context, value: Value, *_args: Any, **_options: Any) -> Value:
    return value


def _cast(on: Context, value: Value, *_args: Any, **_options: Any) -> Value:
    return on.emit.cast(value, on.out.dtype)


def _reduce(op: str) -> Handler:
    def handle(on: Context, value: Value, dim: Any = None, keepdim: bool = False, **_options: Any) -> Value:
        axes = [dim] if isinstance(dim, int) else list(dim or range(value.rank))
        given = value if op == "argmax" else on.value(value, on.out.dtype)
        return compound.reduce(on.emit, op, given, axes, keep=keepdim)

    return handle


def _rows(op: str) -> Handler:
    def handle(on: Context, value: Value, dim: int, _half: bool = False) -> Value:
        return compound.along_last(on.emit, op, value, dim)

    return handle


def _item(on: Context, values: Sequence[Any], index: int) -> Any:
    if index >= len(values):
        raise Refused("dieses Nebenergebnis gibt es im Graphen nicht")
    return values[index]


_SAME: Final = "clone alias detach contiguous lift_fresh_copy lift_fresh"
_SHAPES: Final = "view _unsafe_view reshape unsqueeze squeeze flatten _reshape_copy view_copy"
HANDLERS: Final[Mapping[str, Handler]] = {
    **{op: _binary(op) for op in ("add", "sub", "mul", "maximum", "minimum")},
    **{
        op: _unary(op)
        for op in [
            "neg",
            "abs",
            "exp",
            "log",
            "sqrt",
            "rsqrt",
            "reciprocal",
            "relu",
            "silu",
            "sigmoid",
            "tanh",
            "sin",
            "cos",
            "square",
        ]
    },
    **dict.fromkeys(_SAME.split(" "), _same),
    **dict.fromkeys(_SHAPES.split(" "), _shape),
    "div": _divide,
    "gt": _compare("greater"),
    "lt": _compare("less"),
    "eq": _compare("equal"),
    "ge": _compare("greater_equal"),
    "le": _compare("less_equal"),
    "ne": _compare("not_equal"),
    "logical_not": _logic("not"),
    "bitwise_not": _logic("not"),
    "logical_and": _logic("and"),
    "bitwise_and": _logic("and"),
    "logical_or": _logic("or"),
    "bitwise_or": _logic("or"),
    "where": _where,
    "gelu": layers.gelu,
    "erf": lambda on, value: compound.erf(on.emit, value),
    "erfc": lambda on, value: compound.erfc(on.emit, value),
    "clamp": _clamp,
    "pow": _pow,
    "full": _full,
    "full_like": _full,
    "zeros": _constant(0),
    "zeros_like": _constant(0),
    "ones": _constant(1),
    "ones_like": _constant(1),
    "scalar_tensor": _scalar,
    "arange": _arange,
    "permute": _permute,
    "transpose": _swap,
    "t": lambda on, value: on.emit.transpose(value, range(value.rank - 1, -1, -1)),
    "expand": _expand,
    "slice": _slice,
    "select": _select,
    "split": _split,
    "split_with_sizes": _split,
    "cat": _cat,
    "constant_pad_nd": _pad,
    "_to_copy": _cast,
    "convert_element_type": _cast,
    "sum": _reduce("reduce_sum"),
    "mean": _reduce("reduce_mean"),
    "max.default": _reduce("reduce_max"),
    "min.default": _reduce("reduce_min"),
    "amax": _reduce("reduce_max"),
    "amin": _reduce("reduce_min"),
    "argmax": _reduce("argmax"),
    "_softmax": _rows("softmax"),
    "_log_softmax": _rows("log_softmax"),
    "native_layer_norm": layers.layer_norm,
    "_native_batch_norm_legit_no_training": layers.batch_norm,
    "_native_batch_norm_legit": layers.batch_norm_of_batch,
    "_native_batch_norm_legit_functional": layers.batch_norm_of_batch,
    "native_batch_norm": layers.batch_norm_of_batch,
    "_batch_norm_with_update": layers.batch_norm_of_batch,
    "_batch_norm_with_update_functional": layers.batch_norm_of_batch,
    "mm": layers.dot,
    "bmm": layers.dot,
    "matmul": layers.dot,
    "addmm": layers.addmm,
    "linear": layers.linear,
    "embedding": layers.embedding,
    "embedding_dense_backward": layers.embedding_backward,
    "index": layers.index,
    "convolution": layers.convolution,
    "max_pool2d_with_indices": layers.max_pool,
    "avg_pool2d": layers.avg_pool,
    "scaled_dot_product_attention": layers.attention,
    "_softmax_backward_data": layers.softmax_backward,
    "nll_loss_forward": layers.nll,
    "nll_loss_backward": layers.nll_backward,
    "getitem": _item,
}
