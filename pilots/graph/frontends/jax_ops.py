"""JAX primitives in the words of the table: one row each. Every handler returns one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from pilots.graph.frontends import compound
from pilots.graph.frontends.emitter import Emitter
from pilots.graph.frontends.errors import Refused
from pilots.graph.frontends.values import Value, combined, known_as, negated, number_of
from pilots.graph.ir import DType, Shape


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler may use: the emitter, the parameters of the primitive, shape and type of its result."""

    emit: Emitter
    params: Mapping[str, Any]
    shape: Shape
    dtype: DType


Handler: TypeAlias = Callable[..., Value]


def _binary(op: str) -> Handler:
    return lambda on, left, right: on.emit.binary(op, left, right)


def _unary(op: str) -> Handler:
    return lambda on, value: on.emit.unary(op, value)


def _compare(kind: str) -> Handler:
    return lambda on, left, right: on.emit.compare(kind, left, right)


def _logic(rule: str) -> Handler:
    def handle(on: Context, *values: Value) -> Value:
        if any(item.dtype is not DType.BOOL for item in values):
            raise Refused("logische Verknüpfungen gibt es nur für Wahrheitswerte")
        return negated(values[0]) if rule == "not" else combined(rule, values, on.shape)

    return handle


def _select(on: Context, which: Value, *cases: Value) -> Value:
    if len(cases) != 2 or which.dtype is not DType.BOOL:
        raise Refused("Auswahl gibt es nur zwischen zwei Werten")
    return on.emit.where(which, cases[1], cases[0])


def _power(on: Context, value: Value) -> Value:
    return compound.power(on.emit, value, float(on.params["y"]))


def _general_power(on: Context, value: Value, exponent: Value) -> Value:
    array = exponent.array
    if array is None or array.size != 1:
        raise Refused("Potenzen gibt es nur mit festem Exponenten")
    return compound.power(on.emit, value, float(array.reshape(-1)[0]))


def _clamp(on: Context, low: Value, value: Value, high: Value) -> Value:
    return on.emit.binary("minimum", on.emit.binary("maximum", value, low), high)


def _broadcast(on: Context, value: Value, *_dynamic: Value) -> Value:
    axes = on.params["broadcast_dimensions"]
    sizes: list[int | None] = [1] * len(on.shape)
    for axis, size in zip(axes, value.shape, strict=True):
        sizes[axis] = size
    if None in on.shape and value.array is not None and value.array.size == 1:
        return on.emit.reshape(value, ())  # one number goes with every batch
    return on.emit.broadcast_to(on.emit.reshape(value, tuple(sizes)), on.shape)


def _reshape(on: Context, value: Value, *_dynamic: Value) -> Value:
    return on.emit.reshape(value, on.shape)


def _transpose(on: Context, value: Value) -> Value:
    return on.emit.transpose(value, on.params["permutation"])


def _slice(on: Context, value: Value) -> Value:
    strides = on.params["strides"] or (1,) * value.rank
    bounds = zip(on.params["start_indices"], on.params["limit_indices"], strides, strict=True)
    for axis, (start, stop, step) in enumerate(bounds):
        value = on.emit.cut(value, axis, start, stop, step) if value.shape[axis] is not None else value
    return value


def _concatenate(on: Context, *values: Value) -> Value:
    return on.emit.concat(values, on.params["dimension"])


def _split(on: Context, value: Value) -> Any:
    axis, start, parts = on.params["axis"], 0, []
    for size in on.params["sizes"]:
        parts.append(on.emit.cut(value, axis, start, start + size))
        start += size
    return parts


def _pad(on: Context, value: Value, filler: Value) -> Value:
    config = on.params["padding_config"]
    if number_of(filler) != 0 or any(inner or low < 0 or high < 0 for low, high, inner in config):
        raise Refused("Auffüllen gibt es nur mit Nullen und nach außen")
    before, after = tuple(item[0] for item in config), tuple(item[1] for item in config)
    return on.emit.op("pad", value, before=before, after=after)


def _iota(on: Context) -> Value:
    shape = Value(on.shape, on.dtype).sizes()
    axis = on.params["dimension"]
    sizes = [1] * len(shape)
    sizes[axis] = shape[axis]
    return known_as(np.broadcast_to(np.arange(shape[axis]).reshape(sizes), shape), on.dtype)


def _cast(on: Context, value: Value) -> Value:
    return on.emit.cast(value, on.dtype)


def _same(on: Context, value: Value) -> Value:
    return value


def _reduce(op: str) -> Handler:
    return lambda on, value: compound.reduce(on.emit, op, value, on.params["axes"], keep=False)


def _dot(on: Context, left: Value, right: Value) -> Value:
    contract, batch = on.params["dimension_numbers"]
    return compound.dot(on.emit, left, right, contract, batch)


def _gather(on: Context, table: Value, ids: Value) -> Value:
    """Rows of a table by index; entries out of range are an error when it runs, whatever the mode says."""
    numbers = on.params["dimension_numbers"]
    rows = ids.rank - 1
    plain = (
        tuple(numbers.collapsed_slice_dims) == tuple(numbers.start_index_map) == (0,)
        and tuple(on.params["slice_sizes"]) == (1, *table.shape[1:])
        and tuple(numbers.offset_dims) == tuple(range(rows, rows + table.rank - 1))
        and ids.shape[-1:] == (1,)
    )
    if not plain:
        raise Refused("Auswahl gibt es nur nach ganzen Zahlen entlang der ersten Dimension")
    return compound.lookup(on.emit, table, on.emit.reshape(ids, ids.shape[:-1]))


def _scatter_add(on: Context, table: Value, ids: Value, updates: Value) -> Value:
    numbers = on.params["dimension_numbers"]
    rows = ids.rank - 1
    plain = (
        tuple(numbers.inserted_window_dims) == tuple(numbers.scatter_dims_to_operand_dims) == (0,)
        and tuple(numbers.update_window_dims) == tuple(range(rows, rows + table.rank - 1))
        and ids.shape[-1:] == (1,)
        and table.rank == 2
    )
    if not plain:
        raise Refused("Hinzufügen gibt es nur zu ganzen Zeilen einer Tabelle")
    return compound.add_rows(on.emit, table, on.emit.reshape(ids, ids.shape[:-1]), updates)


def _convolution(on: Context, data: Value, kernel: Value) -> Value:
    given = on.params
    numbers = given["dimension_numbers"]
    usual = tuple(tuple(item) for item in (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec))
    dilated = {*given["lhs_dilation"], *given["rhs_dilation"]} != {1}
    grouped = given["feature_group_count"] != 1 or given["batch_group_count"] != 1
    sides = {side for pair in given["padding"] for side in pair}
    if usual != ((0, 1, 2, 3),) * 3 or dilated or grouped or len(sides) != 1:
        raise Refused("Faltungen gibt es als NCHW und OIHW, ohne Gruppen und Dehnung, mit gleichem Rand")
    return compound.conv2d(on.emit, data, kernel, None, given["window_strides"], [*sides])


def _max_pool(on: Context, data: Value) -> Value:
    given = on.params
    borders = {side for pair in given["padding"] for side in pair}
    dilated = {*given["base_dilation"], *given["window_dilation"]} != {1}
    size, stride = given["window_dimensions"], given["window_strides"]
    if borders != {0} or dilated or tuple(size[:2]) != (1, 1) or tuple(stride[:2]) != (1, 1):
        raise Refused("Pooling gibt es über Bilder [b, c, h, w], ohne Rand und Dehnung")
    return compound.pool(on.emit, "max_pool2d", data, size[2:], stride[2:])


def _argmax(on: Context, value: Value) -> Value:
    return compound.reduce(on.emit, "argmax", value, on.params["axes"], keep=False)


SAME: Final = "stop_gradient copy copy_p optimization_barrier"
CONTROL_FLOW: Final = ("while", "scan", "cond", "switch")
HANDLERS: Final[Mapping[str, Handler]] = {
    **{
        op: _unary(op) for op in ["neg", "abs", "exp", "log", "sqrt", "rsqrt", "tanh", "sin", "cos", "square"]
    },
    **dict.fromkeys(SAME.split(" "), _same),
    "add": _binary("add"),
    "add_any": _binary("add"),
    "sub": _binary("sub"),
    "mul": _binary("mul"),
    "div": _binary("div"),
    "max": _binary("maximum"),
    "min": _binary("minimum"),
    "logistic": _unary("sigmoid"),
    "erf": lambda on, value: compound.erf(on.emit, value),
    "erfc": lambda on, value: compound.erfc(on.emit, value),
    "gt": _compare("greater"),
    "lt": _compare("less"),
    "eq": _compare("equal"),
    "ge": _compare("greater_equal"),
    "le": _compare("less_equal"),
    "ne": _compare("not_equal"),
    "not": _logic("not"),
    "and": _logic("and"),
    "or": _logic("or"),
    "select_n": _select,
    "integer_pow": _power,
    "pow": _general_power,
    "clamp": _clamp,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": _reshape,
    "expand_dims": _reshape,
    "transpose": _transpose,
    "slice": _slice,
    "concatenate": _concatenate,
    "split": _split,
    "pad": _pad,
    "iota": _iota,
    "convert_element_type": _cast,
    "reduce_sum": _reduce("reduce_sum"),
    "reduce_max": _reduce("reduce_max"),
    "reduce_min": _reduce("reduce_min"),
    "argmax": _argmax,
    "dot_general": _dot,
    "gather": _gather,
    "scatter-add": _scatter_add,
    "conv_general_dilated": _convolution,
    "reduce_window_max": _max_pool,
}


def shape_of(sizes: Sequence[Any]) -> Shape:
    """Return a shape; what is no number is the open batch."""
    return tuple(int(size) if isinstance(size, int | np.integer) else None for size in sizes)
