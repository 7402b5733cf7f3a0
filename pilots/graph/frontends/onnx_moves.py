"""ONNX operations that only move numbers, or make numbers that are known now."""

from __future__ import annotations

from math import prod

import numpy as np

from pilots.graph.frontends import compound
from pilots.graph.frontends.errors import Refused
from pilots.graph.frontends.onnx_context import Context, fixed, numbers
from pilots.graph.frontends.onnx_limits import type_name
from pilots.graph.frontends.values import Value, broadcast_shape, known, known_as
from pilots.graph.ir import DType


def reshape(on: Context, value: Value, wanted: Value) -> Value:
    on.only(allowzero=0)
    sizes = numbers(wanted, "Die neue Form")
    given: list[int | None] = [
        value.shape[index] if size == 0 and index < value.rank else size for index, size in enumerate(sizes)
    ]
    if given.count(-1) > 1 or any(size is not None and size < -1 for size in given) or 0 in given:
        raise Refused("die neue Form ist unzulässig")
    if -1 in given:
        rest = prod(size or 1 for size in given if size != -1)
        total = prod(size or 1 for size in value.shape)
        opens = (None in value.shape) and (None not in given)
        found = None if opens and rest == total else total // rest if rest else 0
        given = [found if size == -1 else size for size in given]
    if prod(size or 1 for size in given) != prod(size or 1 for size in value.shape):
        raise Refused("die neue Form hat eine andere Zahl von Elementen")
    return on.emit.reshape(value, tuple(given))


def flatten(on: Context, value: Value) -> Value:
    axis = on.whole("axis", 1)
    axis = axis + value.rank if axis < 0 else axis
    if axis == 1 and value.rank == 2:
        return value
    sizes = value.sizes()
    return on.emit.reshape(value, (prod(sizes[:axis]), prod(sizes[axis:])))


def squeeze(on: Context, value: Value, axes: Value | None = None) -> Value:
    chosen = {axis % value.rank for axis in numbers(axes, "axes")} if axes else None
    keep = [
        size
        for index, size in enumerate(value.shape)
        if (index not in chosen if chosen is not None else size != 1)
    ]
    return on.emit.reshape(value, tuple(keep))


def unsqueeze(on: Context, value: Value, axes: Value) -> Value:
    chosen = numbers(axes, "axes")
    rank = value.rank + len(chosen)
    places = {axis % rank for axis in chosen}
    rest = iter(value.shape)
    if len(places) != len(chosen):
        raise Refused("eine Dimension ist doppelt angegeben")
    return on.emit.reshape(value, tuple(1 if index in places else next(rest) for index in range(rank)))


def transpose(on: Context, value: Value) -> Value:
    order = on.wholes("perm", range(value.rank - 1, -1, -1))
    if sorted(order) != list(range(value.rank)):
        raise Refused("die Reihenfolge der Dimensionen ist unzulässig")
    return on.emit.transpose(value, order)


def cut(  # noqa: PLR0917 - the framework's own order
    on: Context,
    value: Value,
    starts: Value,
    ends: Value,
    axes: Value | None = None,
    steps: Value | None = None,
) -> Value:
    first, last = numbers(starts, "starts"), numbers(ends, "ends")
    chosen = numbers(axes, "axes") if axes else list(range(len(first)))
    strides = numbers(steps, "steps") if steps else [1] * len(first)
    if not len(first) == len(last) == len(chosen) == len(strides):
        raise Refused("die Angaben zum Ausschnitt sind verschieden lang")
    for start, stop, axis, step in zip(first, last, chosen, strides, strict=True):
        size = value.shape[axis] if -value.rank <= axis < value.rank else None
        if size is None or step < 1:
            raise Refused("diesen Ausschnitt gibt es im Graphen nicht")
        low, high, _ = slice(start, stop, step).indices(size)
        value = on.emit.cut(value, axis % value.rank, low, high, step)
    return value


def split(on: Context, value: Value, parts: Value | None = None) -> list[Value]:
    axis = on.whole("axis", 0) % max(value.rank, 1)
    size = value.sizes()[axis]
    each = -(-size // on.outputs)
    sizes = (
        numbers(parts, "split") if parts else [min(each, size - each * index) for index in range(on.outputs)]
    )
    if sum(sizes) != size or min(sizes) < 1:
        raise Refused("die Teile ergeben nicht das Ganze")
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    return [on.emit.cut(value, axis, start, start + part) for start, part in zip(starts, sizes, strict=True)]


def concat(on: Context, *values: Value) -> Value:
    return on.emit.concat(values, on.whole("axis", 0) % max(values[0].rank, 1))


def pad(
    on: Context, value: Value, pads: Value, filler: Value | None = None, axes: Value | None = None
) -> Value:
    on.only(mode="constant")
    sides = numbers(pads, "pads")
    zero = filler is None or (filler.array is not None and not filler.array.any())
    if axes is not None or len(sides) != 2 * value.rank or min(sides) < 0 or not zero:
        raise Refused("Auffüllen gibt es nur mit Nullen, nach außen und für alle Dimensionen")
    return on.emit.op("pad", value, before=tuple(sides[: value.rank]), after=tuple(sides[value.rank :]))


def expand(on: Context, value: Value, wanted: Value) -> Value:
    return on.emit.broadcast_to(value, broadcast_shape(value.shape, tuple(numbers(wanted, "Die neue Form"))))


def gather(on: Context, table: Value, ids: Value) -> Value:
    axis = on.whole("axis", 0)
    if table.array is not None and ids.array is not None and table.dtype is DType.INT32:
        try:
            return known(np.take(table.array, ids.array, axis=axis))
        except (IndexError, ValueError) as error:
            raise Refused("ein Index liegt außerhalb der Tabelle") from error
    if axis != 0:
        raise Refused("Auswahl gibt es nur entlang der ersten Dimension")
    return compound.lookup(on.emit, table, ids)


def cast(on: Context, value: Value) -> Value:
    return on.emit.cast(value, DType(type_name(on.whole("to", 0))))


def constant(on: Context) -> Value:
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        if name in on.attrs:
            array = np.asarray(on.attrs[name])
            return known_as(array, DType.FLOAT32) if array.dtype == np.float64 else fixed(array)
    raise Refused("eine Konstante ohne Zahlen gibt es im Graphen nicht")


def constant_of_shape(on: Context, wanted: Value) -> Value:
    sizes = tuple(numbers(wanted, "Die Form"))
    if any(size < 1 for size in sizes):
        raise Refused("leere Werte gibt es im Graphen nicht")
    on.emit.grow(sizes)
    return known(np.full(sizes, np.asarray(on.attrs.get("value", np.zeros(1, np.float32))).reshape(-1)[0]))


def shape(on: Context, value: Value) -> Value:
    on.only(start=0)
    return known(np.asarray(value.sizes(), dtype=np.int64))


def whole_range(on: Context, start: Value, limit: Value, step: Value) -> Value:
    (first,), (last,), (stride,) = (numbers(item, "Ein Bereich") for item in (start, limit, step))
    if stride == 0:
        raise Refused("ein Bereich braucht eine Schrittweite")
    on.emit.grow((max(0, -(-(last - first) // stride)),))
    return known(np.arange(first, last, stride, dtype=np.int64))
