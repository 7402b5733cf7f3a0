"""ONNX operations in the words of the table: one row each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pilots.graph.frontends import compound
from pilots.graph.frontends import onnx_moves as moves
from pilots.graph.frontends.errors import Refused
from pilots.graph.frontends.onnx_context import Context, Handler, numbers
from pilots.graph.frontends.values import Value, broadcast_shape, combined, negated
from pilots.graph.ir import DType


def _binary(op: str) -> Handler:
    return lambda on, left, right: on.emit.binary(op, left, right)


def _many(op: str) -> Handler:
    def handle(on: Context, first: Value, *others: Value) -> Value:
        for other in others:
            first = on.emit.binary(op, first, other)
        return first

    return handle


def _unary(op: str) -> Handler:
    return lambda on, value: on.emit.unary(op, value)


def _compare(kind: str) -> Handler:
    return lambda on, left, right: on.emit.compare(kind, left, right)


def _logic(rule: str) -> Handler:
    def handle(on: Context, *values: Value) -> Value:
        if any(item.dtype is not DType.BOOL for item in values):
            raise Refused("logische Verknüpfungen gibt es nur für Wahrheitswerte")
        if rule == "not":
            return negated(values[0])
        shape = broadcast_shape(values[0].shape, values[1].shape)
        return combined(rule, tuple(on.emit.broadcast_to(item, shape) for item in values), shape)

    return handle


def _gelu(on: Context, value: Value) -> Value:
    if on.attrs.get("approximate", "none") == "none":
        return compound.gelu(on.emit, value)
    on.only(approximate="tanh")
    return on.emit.unary("gelu", value)


def _batch_norm(on: Context, data: Value, *factors: Value) -> Value:  # scale, shift, mean, variance
    on.only(training_mode=0)
    if on.outputs > 1:
        raise Refused(compound.BATCH_STATISTICS_DE)
    return compound.batch_norm(on.emit, data, factors, float(on.attrs.get("epsilon", 1e-5)))


def _clip(on: Context, value: Value, low: Value | None = None, high: Value | None = None) -> Value:
    for op, limit in (("maximum", low), ("minimum", high)):
        value = value if limit is None else on.emit.binary(op, value, limit)
    return value


def _pow(on: Context, value: Value, exponent: Value) -> Value:
    if exponent.array is None or exponent.array.size != 1:
        raise Refused("Potenzen gibt es nur mit festem Exponenten")
    return compound.power(on.emit, value, float(exponent.array.reshape(-1)[0]))


def _gemm(on: Context, left: Value, right: Value, shift: Value | None = None) -> Value:
    on.only(alpha=1.0, beta=1.0)
    left = on.emit.transpose(left, (1, 0)) if on.whole("transA", 0) else left
    right = on.emit.transpose(right, (1, 0)) if on.whole("transB", 0) else right
    product = compound.matmul(on.emit, left, right)
    return product if shift is None else on.emit.binary("add", product, shift)


def _reduce(op: str) -> Handler:
    def handle(on: Context, value: Value, axes: Value | None = None) -> Value:
        on.only(noop_with_empty_axes=0)
        chosen = numbers(axes, "axes") if axes else on.wholes("axes", ())
        return compound.reduce(on.emit, op, value, chosen, keep=bool(on.whole("keepdims", 1)))

    return handle


def _argmax(on: Context, value: Value) -> Value:
    on.only(select_last_index=0)
    return compound.reduce(
        on.emit, "argmax", value, [on.whole("axis", 0)], keep=bool(on.whole("keepdims", 1))
    )


def _rows(op: str) -> Handler:
    return lambda on, value: compound.along_last(on.emit, op, value, on.whole("axis", -1))


def _norm(op: str) -> Handler:
    def handle(on: Context, value: Value, scale: Value, shift: Value | None = None) -> Value:
        on.only(stash_type=1)
        if on.whole("axis", -1) not in {-1, value.rank - 1} or on.outputs > 1:
            raise Refused("Normierungen gibt es nur über die letzte Dimension und ohne Nebenergebnisse")
        factors = (scale, shift) if op == "layer_norm" else (scale,)
        return compound.norm(on.emit, op, value, factors, float(on.attrs.get("epsilon", 1e-5)))

    return handle


def _conv(on: Context, data: Value, kernel: Value, bias: Value | None = None) -> Value:
    on.only(auto_pad="NOTSET", group=1)
    dilation, pads = on.wholes("dilations", (1, 1)), on.wholes("pads", (0, 0, 0, 0))
    if {*dilation} != {1}:
        raise Refused("Faltungen gibt es ohne Dehnung")
    return compound.conv2d(on.emit, data, kernel, bias, on.wholes("strides", (1, 1)), pads)


def _pool(op: str) -> Handler:
    def handle(on: Context, data: Value) -> Value:
        on.only(auto_pad="NOTSET", ceil_mode=0, storage_order=0)
        size = on.wholes("kernel_shape", ())
        borders = {*on.wholes("pads", (0,)), *(item - 1 for item in on.wholes("dilations", (1,)))}
        if borders != {0} or on.outputs > 1:
            raise Refused("Pooling gibt es ohne Rand, ohne Dehnung und ohne Indizes")
        return compound.pool(on.emit, op, data, size, on.wholes("strides", [1] * len(size)))

    return handle


def _global_pool(on: Context, data: Value) -> Value:
    return compound.reduce(on.emit, "reduce_mean", data, range(2, data.rank), keep=True)


def _same(on: Context, value: Value, *_options: Value) -> Value:
    return value


_UNARY: Final = {
    **{
        name.title(): name
        for name in [
            "neg",
            "abs",
            "exp",
            "log",
            "sqrt",
            "reciprocal",
            "relu",
            "sigmoid",
            "tanh",
            "sin",
            "cos",
        ]
    },
    "Swish": "silu",
}
HANDLERS: Final[Mapping[str, Handler]] = {
    **{name: _unary(op) for name, op in _UNARY.items()},
    "Add": _binary("add"),
    "Sub": _binary("sub"),
    "Mul": _binary("mul"),
    "Div": _binary("div"),
    "Max": _many("maximum"),
    "Min": _many("minimum"),
    "Sum": _many("add"),
    "Greater": _compare("greater"),
    "Less": _compare("less"),
    "Equal": _compare("equal"),
    "GreaterOrEqual": _compare("greater_equal"),
    "LessOrEqual": _compare("less_equal"),
    "Not": _logic("not"),
    "And": _logic("and"),
    "Or": _logic("or"),
    "Where": lambda on, condition, chosen, other: on.emit.where(condition, chosen, other),
    "Gelu": _gelu,
    "Erf": lambda on, value: compound.erf(on.emit, value),
    "Clip": _clip,
    "Pow": _pow,
    "MatMul": lambda on, left, right: compound.matmul(on.emit, left, right),
    "Gemm": _gemm,
    "Reshape": moves.reshape,
    "Flatten": moves.flatten,
    "Squeeze": moves.squeeze,
    "Unsqueeze": moves.unsqueeze,
    "Transpose": moves.transpose,
    "Slice": moves.cut,
    "Split": moves.split,
    "Concat": moves.concat,
    "Pad": moves.pad,
    "Expand": moves.expand,
    "Gather": moves.gather,
    "Cast": moves.cast,
    "Constant": moves.constant,
    "ConstantOfShape": moves.constant_of_shape,
    "Shape": moves.shape,
    "Range": moves.whole_range,
    "ReduceSum": _reduce("reduce_sum"),
    "ReduceMean": _reduce("reduce_mean"),
    "ReduceMax": _reduce("reduce_max"),
    "ReduceMin": _reduce("reduce_min"),
    "ArgMax": _argmax,
    "Softmax": _rows("softmax"),
    "LogSoftmax": _rows("log_softmax"),
    "LayerNormalization": _norm("layer_norm"),
    "RMSNormalization": _norm("rms_norm"),
    "BatchNormalization": _batch_norm,
    "Conv": _conv,
    "MaxPool": _pool("max_pool2d"),
    "AveragePool": _pool("avg_pool2d"),
    "GlobalAveragePool": _global_pool,
    "Identity": _same,
    "Dropout": _same,
}
