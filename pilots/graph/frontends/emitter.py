"""Builds the graph for all front ends: broadcasting, constants known now, conditions, and moves of numbers.

Only what is exact is computed here: moves, whole numbers, comparisons. All else becomes an operation of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from pilots.graph.builder import GraphBuilder
from pilots.graph.errors import GraphError
from pilots.graph.frontends.errors import Refused
from pilots.graph.frontends.values import Value, known_as, number_of
from pilots.graph.ir import Array, Attr, DType, Shape

COMMUTATIVE: Final = ("add", "mul", "maximum", "minimum", "equal")
COMPARISONS: Final = ("greater", "less", "equal")
EXACT: Final[dict[str, Callable[..., Any]]] = {  # of whole numbers, and comparisons of any
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "greater": np.greater,
    "less": np.less,
    "equal": np.equal,
}
IEEE: Final[dict[str, Callable[..., Any]]] = {  # of float32: correctly rounded on every machine
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "sqrt": np.sqrt,
    "neg": np.negative,
    "abs": np.abs,
}
_DECIMAL: Final = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,40})?", re.ASCII)
_BAD: Final = re.compile(r"[^A-Za-z0-9_.]", re.ASCII)


class Emitter:
    """Takes operations in the words of the table, with the broadcasting of NumPy."""

    def __init__(self) -> None:
        self.builder = GraphBuilder()
        self.emitted: list[str] = []
        self._taken: set[str] = set()
        self._held: dict[int, tuple[Value, str]] = {}

    def input(self, label: str, shape: Shape, dtype: DType) -> Value:
        """Add a graph input."""
        name = self.builder.input(self._free(label), shape or (1,), dtype)
        return Value(shape, dtype, name)

    def reference(self, value: Value) -> str:
        """Return the name of a value in the graph, putting known numbers and conditions there first."""
        if value.name:
            return value.name
        if value.rule:
            ones = known_as(np.ones((1,), np.int32), DType.INT32)
            chosen = self.where(value, ones, known_as(np.zeros((1,), np.int32), DType.INT32))
            return self.op("equal", chosen, self.full(chosen, 1)).name
        held = self._held.get(id(value.array))
        if held is not None and held[0].shape == value.shape:
            return held[1]
        assert value.array is not None
        array = value.array.reshape(value.shape or (1,))
        try:
            name = self.builder.constant(self._free(value.label or "c0"), array, value.dtype)
        except GraphError as error:
            raise Refused("feste Werte müssen endliche Zahlen sein; statt unendlich bitte -1e30 verwenden") from error
        self._held[id(value.array)] = (value, name)
        return name

    def op(self, op: str, *values: Value, shape: Shape | None = None, **attrs: Attr) -> Value:
        """Add one operation of the table; `shape` is the shape of the framework if it is ()."""
        names = [self.reference(value) for value in values]
        name = self._free("v0")
        try:
            self.builder.op(op, *names, name=name, **attrs)
        except GraphError as error:
            raise Refused(f"{op}: {error.message_de}") from error
        self.emitted.append(op)
        tensor = self.builder.tensor(name)
        return Value(tensor.shape if shape is None else shape, tensor.dtype, name)

    def unary(self, op: str, value: Value) -> Value:
        """Apply an operation to each number."""
        if value.array is not None and value.dtype is DType.FLOAT32 and op in IEEE:
            with np.errstate(all="ignore"):
                return known_as(IEEE[op](value.array), value.dtype)
        return self.op(op, value, shape=value.shape)

    def scale(self, value: Value, factor: float) -> Value:
        """Multiply by one number, as an attribute if it can be written as one."""
        if value.array is not None and value.dtype is DType.FLOAT32:
            return known_as(value.array * np.float32(factor), value.dtype)
        text = decimal(factor, value.dtype)
        if text == "1":
            return value
        if text is None:
            return self.op("mul", value, self.full(value, factor), shape=value.shape)
        return self.op("scale", value, shape=value.shape, factor=text)

    def full(self, like: Value, number: float) -> Value:
        """Return a row of one number, as long as the last dimension of `like`."""
        width = like.shape[-1] if like.shape else 1
        if width is None:
            raise Refused("die Operation braucht bekannte Größen, die Stapelgröße ist aber offen")
        return known_as(np.full((width,), number), like.dtype)

    def scalar(self, number: float, like: Value) -> Value:
        """Return one number of the type of `like`."""
        return known_as(np.asarray(number), like.dtype)

    def binary(self, op: str, left: Value, right: Value) -> Value:
        """Apply an operation to two values, broadcast as in NumPy."""
        if left.dtype is not right.dtype:
            raise Refused(f"die Zahlentypen {left.dtype.value} und {right.dtype.value} sind verschieden")
        folded = self._folded(op, left, right)
        if folded is not None:
            return folded
        shape = broadcast_shape(left.shape, right.shape)
        short = self._by_number(op, left, right, shape)
        if short is not None:
            return short
        if left.shape != shape and right.shape == shape:
            if op in COMMUTATIVE:
                left, right = right, left
            elif op == "sub":
                return self.binary("add", self.unary("neg", right), left)
            elif op in {"greater", "less"}:
                return self.binary("less" if op == "greater" else "greater", right, left)
        left = left if left.shape == shape else self.broadcast_to(left, shape)
        return self.op(op, left, self._beside(right, shape), shape=shape)

    def where(self, condition: Value, chosen: Value, other: Value) -> Value:
        """Choose by condition; a condition of conditions becomes several choices, exact for every number."""
        shape = broadcast_shape(condition.shape, broadcast_shape(chosen.shape, other.shape))
        if condition.rule == "not":
            return self.where(condition.parts[0], other, chosen)
        if condition.rule == "or":
            first, second = condition.parts
            return self.where(first, chosen, self.where(second, chosen, other))
        if condition.rule == "and":
            first, second = condition.parts
            return self.where(first, self.where(second, chosen, other), other)
        if condition.array is not None and condition.array.size:
            if condition.array.all() or not condition.array.any():
                return self.broadcast_to(chosen if condition.array.all() else other, shape)
            if chosen.array is not None and other.array is not None:
                return known_as(np.where(condition.array, chosen.array, other.array), chosen.dtype)
        values = [self.broadcast_to(item, shape) for item in (condition, chosen, other)]
        return self.op("where", *values, shape=shape)

    def compare(self, kind: str, left: Value, right: Value) -> Value:
        """Return a condition: greater, less, equal, greater_equal, less_equal or not_equal."""
        if kind in COMPARISONS:
            return self.binary(kind, left, right)
        shape = broadcast_shape(left.shape, right.shape)
        if kind == "not_equal":
            return negated(self.binary("equal", left, right))
        parts = (self.binary(kind.removesuffix("_equal"), left, right), self.binary("equal", left, right))
        return combined("or", parts, shape)

    def cast(self, value: Value, dtype: DType) -> Value:
        """Change the type of the numbers; conditions become 1 and 0."""
        if value.dtype is dtype:
            return value
        if dtype is DType.BOOL:
            return negated(self.compare("equal", value, self.scalar(0, value)))
        if value.dtype is DType.BOOL:
            shape = value.shape or (1,)
            like = known_as(np.ones((), np.float32), dtype)
            return self.where(value, like, known_as(np.zeros((), np.float32), dtype)) if shape else like
        if value.array is not None and dtype.is_float:
            return known_as(value.array.astype(np.float64), dtype)
        return self.op("cast", value, shape=value.shape, dtype=dtype.value)

    def reshape(self, value: Value, shape: Shape) -> Value:
        """Give the same numbers another shape."""
        if value.shape == shape:
            return value
        if value.rule:
            return Value(shape, value.dtype, rule=value.rule, parts=tuple(self.reshape(item, shape) for item in value.parts))
        if value.array is not None:
            return self._moved(value, value.array.reshape([size or 1 for size in shape]))
        if (value.shape or (1,)) == (shape or (1,)):
            return Value(shape, value.dtype, value.name)
        wanted = Value(shape, value.dtype).sizes()
        value.sizes()
        return self.op("reshape", value, shape=shape, **{"shape_": wanted or (1,)})

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        """Put dimensions in another order."""
        axes = tuple(item % value.rank for item in order)
        if axes == tuple(range(value.rank)):
            return value
        if value.rule:
            parts = tuple(self.transpose(item, axes) for item in value.parts)
            return Value(parts[0].shape, value.dtype, rule=value.rule, parts=parts)
        if value.array is not None:
            return self._moved(value, value.array.transpose(axes))
        return self.op("transpose", value, order=axes)

    def broadcast_to(self, value: Value, shape: Shape) -> Value:
        """Repeat numbers along dimensions that are missing or 1."""
        if value.shape == shape:
            return value
        if value.rule:
            parts = tuple(self.broadcast_to(item, shape) for item in value.parts)
            return Value(shape, value.dtype, rule=value.rule, parts=parts)
        if value.array is not None:
            return self._moved(value, np.broadcast_to(value.array, Value(shape, value.dtype).sizes()))
        wanted = Value(shape, value.dtype).sizes()
        return self.op("broadcast_to", value, **{"shape_": wanted})

    def cut(self, value: Value, axis: int, start: int, stop: int, step: int = 1) -> Value:
        """Return a part along one axis."""
        if value.array is not None:
            index = (slice(None),) * axis + (slice(start, stop, step),)
            return self._moved(value, value.array[index])
        if step != 1:
            raise Refused("Ausschnitte mit Schrittweite gibt es im Graphen nicht")
        if (start, stop) == (0, value.shape[axis]):
            return value
        return self.op("slice", value, axis=axis, start=start, stop=stop)

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """Join values along one axis."""
        arrays = [value.array for value in values if value.array is not None]
        if len(arrays) == len(values):
            return self._moved(values[0], np.concatenate(arrays, axis=axis))
        return self.op("concat", *values, axis=axis) if len(values) > 1 else values[0]

    def _moved(self, value: Value, array: Array) -> Value:
        label = value.label if array.size == (value.array.size if value.array is not None else 0) else ""
        return Value(tuple(array.shape), value.dtype, array=array, label=label)

    def _folded(self, op: str, left: Value, right: Value) -> Value | None:
        if left.array is None or right.array is None:
            return None
        table = IEEE if left.dtype is DType.FLOAT32 and op not in COMPARISONS else EXACT
        exact = op in COMPARISONS or left.dtype in {DType.FLOAT32, DType.INT32}
        if op not in table or not exact:
            return None
        with np.errstate(all="ignore"):
            result = np.asarray(table[op](left.array, right.array))
        return known_as(result, DType.BOOL if op in COMPARISONS else left.dtype)

    def _by_number(self, op: str, left: Value, right: Value, shape: Shape) -> Value | None:
        """Return the shorter form of an operation with one number, if there is one."""
        a, b = number_of(left), number_of(right)
        if b is None and op in COMMUTATIVE and a is not None:
            left, right, a, b = right, left, b, a
        if a == 1.0 and op == "div" and right.shape == shape and right.dtype.is_float:
            return self.unary("reciprocal", right)
        if b is None or left.shape != shape:
            return None
        rule = _NEUTRAL.get(op)
        if rule is not None and rule(b):
            return left
        if left.dtype.is_float and op == "mul":
            return self.scale(left, b)
        if left.dtype.is_float and op == "maximum" and b == 0.0:
            return self.unary("relu", left)
        return self.op(op, left, self.full(left, b), shape=shape)

    def _beside(self, right: Value, shape: Shape) -> Value:
        """Return the right side in one of the shapes the table takes beside a left side of `shape`."""
        sizes = list(right.shape)
        if len(sizes) == len(shape) >= 2 and sizes[-1] == 1 and sizes[:-1] == list(shape[:-1]):
            return right
        while len(sizes) > 1 and sizes[0] == 1 and (len(sizes) < len(shape) or shape[0] != 1):
            sizes = sizes[1:]
        right = self.reshape(right, tuple(sizes))
        tail = shape[len(shape) - len(sizes) :] if sizes else shape[-1:]
        return self.broadcast_to(right, tail or (1,))

    def _free(self, label: str) -> str:
        name = _BAD.sub("_", label)[:180] or "c0"
        stem = name.rstrip("0123456789") if name in {"v0", "c0"} else name
        index = len(self._taken) if name in {"v0", "c0"} else 0
        found = f"{stem}{index}" if name in {"v0", "c0"} else name
        while found in self._taken:
            index += 1
            found = f"{stem}_{index}"
        self._taken.add(found)
        return found


_NEUTRAL: Final[dict[str, Callable[[float], bool]]] = {
    "mul": lambda number: number == 1.0,
    "div": lambda number: number == 1.0,
    "maximum": lambda number: number == -np.inf,
    "minimum": lambda number: number == np.inf,
}


def negated(condition: Value) -> Value:
    """Return the opposite of a condition."""
    if condition.rule == "not":
        return condition.parts[0]
    if condition.array is not None:
        return known_as(~condition.array, DType.BOOL)
    return combined("not", (condition,), condition.shape)


def combined(rule: str, parts: tuple[Value, ...], shape: Shape) -> Value:
    """Return a condition of conditions, worked out now if all of them are known."""
    arrays = [part.array for part in parts if part.array is not None]
    if len(arrays) == len(parts) == 2:
        joined = arrays[0] | arrays[1] if rule == "or" else arrays[0] & arrays[1]
        return known_as(joined, DType.BOOL)
    return Value(shape, DType.BOOL, rule=rule, parts=parts)


def broadcast_shape(left: Shape, right: Shape) -> Shape:
    """Return the common shape by the rules of NumPy; an open batch goes with an open batch or 1. Raises Refused."""
    rank = max(len(left), len(right))
    pairs = zip((1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right, strict=True)
    result: list[int | None] = []
    for a, b in pairs:
        if a != b and 1 not in {a, b}:
            raise Refused(f"die Formen {left} und {right} passen nicht zusammen")
        result.append(b if a == 1 else a)
    return tuple(result)


def decimal(number: float, dtype: DType) -> str | None:
    """Return the shortest decimal that means this number in a type, None if it is too long for an attribute."""
    short = np.float16(number) if dtype is DType.FLOAT16 else np.float32(number)
    if not np.isfinite(short):
        return None
    text = np.format_float_positional(short, unique=True, trim="-")
    text = text.removesuffix(".")
    exact = type(short)(text) == short
    return text if exact and _DECIMAL.fullmatch(text) else None


def elements(shape: Sequence[int]) -> int:
    """Return the number of elements of a shape."""
    return prod(shape)
