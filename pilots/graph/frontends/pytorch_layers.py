"""ATen operations of layers: norms, products, tables, pictures, attention, losses and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pilots.graph.frontends import compound
from pilots.graph.frontends.errors import Refused
from pilots.graph.frontends.pytorch_context import Context
from pilots.graph.frontends.values import Value, known_as
from pilots.graph.ir import DType


def layer_norm(  # noqa: PLR0917 - the framework's own order
    on: Context, value: Value, shape: Sequence[int], scale: Value | None, shift: Value | None, epsilon: float
) -> list[Value]:
    """Return the result, the mean and one over the spread; what nothing needs is left out of the graph later."""
    if len(shape) != 1:
        raise Refused("Normierungen gibt es nur über die letzte Dimension")
    found = compound.norm(on.emit, "layer_norm", value, (scale, shift), epsilon)
    mean = compound.reduce(on.emit, "reduce_mean", value, [-1], keep=True)
    square = on.emit.unary("square", on.emit.binary("sub", value, mean))
    variance = compound.reduce(on.emit, "reduce_mean", square, [-1], keep=True)
    total = on.emit.binary("add", variance, known_as(np.asarray(epsilon), value.dtype))
    return [found, mean, on.emit.unary("rsqrt", total)]


def dot(on: Context, left: Value, right: Value) -> Value:
    return compound.matmul(on.emit, left, right)


def addmm(
    on: Context, shift: Value, left: Value, right: Value, *, beta: float = 1, alpha: float = 1
) -> Value:
    if (alpha, beta) != (1, 1):
        raise Refused("addmm gibt es nur mit alpha = beta = 1")
    return on.emit.binary("add", compound.matmul(on.emit, left, right), shift)


def linear(on: Context, value: Value, weight: Value, bias: Value | None = None) -> Value:
    result = compound.matmul(on.emit, value, on.emit.transpose(weight, (1, 0)))
    return result if bias is None else on.emit.binary("add", result, bias)


def embedding(on: Context, table: Value, ids: Value, *_options: Any) -> Value:
    return compound.lookup(on.emit, table, ids)


def embedding_backward(  # noqa: PLR0917 - the framework's own order
    on: Context, gradient: Value, ids: Value, entries: int, padding: int, by_frequency: bool
) -> Value:
    if padding >= 0 or by_frequency:
        raise Refused("Einbettungen gibt es ohne padding_idx und scale_grad_by_freq")
    table = compound.zeros((entries, gradient.sizes()[-1]), gradient.dtype)
    return compound.add_rows(on.emit, table, ids, gradient)


def index(on: Context, table: Value, indices: Sequence[Value | None]) -> Value:
    if len(indices) != 1 or indices[0] is None or indices[0].dtype is not DType.INT32:
        raise Refused("Auswahl gibt es nur nach ganzen Zahlen entlang der ersten Dimension")
    return compound.lookup(on.emit, table, indices[0])


def convolution(  # noqa: PLR0917 - the framework's own order
    on: Context,
    data: Value,
    kernel: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    _output_padding: Sequence[int],
    groups: int,
) -> Value:
    if transposed or groups != 1 or {*dilation} != {1}:
        raise Refused("Faltungen gibt es ohne Gruppen, ohne Dehnung und nicht transponiert")
    return compound.conv2d(on.emit, data, kernel, bias, stride, padding)


def max_pool(  # noqa: PLR0917 - the framework's own order
    on: Context,
    data: Value,
    size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil: bool = False,
) -> list[Value]:
    if {*padding} != {0} or {*dilation} != {1} or ceil:
        raise Refused("Pooling gibt es ohne Rand, ohne Dehnung und ohne ceil_mode")
    return [compound.pool(on.emit, "max_pool2d", data, size, stride or size)]


def avg_pool(
    on: Context,
    data: Value,
    size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    *rest: Any,
) -> Value:
    if {*padding} != {0} or any(rest[:1]) or any(item is not None for item in rest[2:]):
        raise Refused("Pooling gibt es ohne Rand, ohne ceil_mode und ohne eigenen Teiler")
    return compound.pool(on.emit, "avg_pool2d", data, size, stride or size)


def attention(  # noqa: PLR0917 - the framework's own order
    on: Context,
    query: Value,
    keys: Value,
    values: Value,
    mask: Value | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    if dropout or (mask is not None and is_causal):
        raise Refused(
            "Attention gibt es ohne Dropout, und mit eigener Maske oder is_causal, nicht mit beidem"
        )
    if mask is not None or (not is_causal and (query.rank != 4 or query.shape[2] != keys.shape[2])):
        return compound.attention_written_out(on.emit, query, keys, values, mask, scale)
    return compound.attention(on.emit, query, keys, values, causal=is_causal, scale=scale)


def batch_norm(  # noqa: PLR0917 - the framework's own order
    on: Context,
    data: Value,
    scale: Value | None,
    shift: Value | None,
    mean: Value,
    variance: Value,
    _momentum: float,
    epsilon: float,
) -> list[Value]:
    return [compound.batch_norm(on.emit, data, (scale, shift, mean, variance), epsilon)]


def batch_norm_of_batch(_on: Context, *_args: Any) -> Value:
    raise Refused(compound.BATCH_STATISTICS_DE)


def gelu(on: Context, value: Value, *, approximate: str = "none") -> Value:
    return compound.gelu(on.emit, value) if approximate == "none" else on.emit.unary("gelu", value)


def softmax_backward(on: Context, gradient: Value, output: Value, dim: int, _dtype: Any) -> Value:
    weighted = on.emit.binary("mul", gradient, output)
    total = compound.reduce(on.emit, "reduce_sum", weighted, [dim], keep=True)
    return on.emit.binary("sub", weighted, on.emit.binary("mul", output, total))


def nll(
    on: Context, scores: Value, target: Value, weight: Value | None, reduction: int, _ignored: int
) -> list[Value]:
    rows, classes = _loss_shape(scores, weight, reduction)
    picked = on.emit.binary("mul", scores, compound.one_hot(on.emit, target, classes, scores.dtype))
    total = on.emit.unary("neg", compound.reduce(on.emit, "reduce_sum", picked, [0, 1], keep=False))
    return [
        on.emit.scale(total, 1 / rows) if reduction == 1 else total,
        known_as(np.asarray(rows), scores.dtype),
    ]


def nll_backward(  # noqa: PLR0917 - the framework's own order
    on: Context,
    gradient: Value,
    scores: Value,
    target: Value,
    weight: Value | None,
    reduction: int,
    _ignored: int,
    _total: Value,
) -> Value:
    rows, classes = _loss_shape(scores, weight, reduction)
    hot = on.emit.scale(
        compound.one_hot(on.emit, target, classes, scores.dtype), -1 / (rows if reduction == 1 else 1)
    )
    return on.emit.binary("mul", hot, gradient)


def _loss_shape(scores: Value, weight: Value | None, reduction: int) -> tuple[int, int]:
    if weight is not None or reduction not in {1, 2} or scores.rank != 2:
        raise Refused("nll_loss gibt es über [Zeilen, Klassen], ohne Gewichte, als Mittel oder Summe")
    rows, classes = scores.sizes()
    return rows, classes
