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
from pilots.graph.frontends import masks
from pilots.graph.frontends.errors import Refused
from pilots.graph.frontends.values import (
    Value,
    broadcast_shape,
    combined,
    decimal,
    known_as,
    negated,
    number_of,
)
from pilots.graph.ir import Array, Attr, DType, Shape

MAX_GROWN: Final = 2**26  # numbers that may be made from fewer, over a whole model
INFINITE_DE: Final = "feste Werte müssen endliche Zahlen sein; statt unendlich bitte -1e30 verwenden"
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
_BAD: Final = re.compile(r"[^A-Za-z0-9_.]", re.ASCII)


class Emitter:
    """Takes operations in the words of the table, with the broadcasting of NumPy."""

    def __init__(self) -> None:
        self.builder = GraphBuilder()
        self.emitted: list[str] = []
        self.made: list[str] = []
        self.literals: dict[str, float] = {}
        self.origins: dict[str, str] = {}
        self._spare = MAX_GROWN
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
        if value.rule == masks.RULE:
            raise Refused(INFINITE_DE)
        if value.rule:
            ones = known_as(np.ones((1,), np.int32), DType.INT32)
            chosen = self.where(value, ones, known_as(np.zeros((1,), np.int32), DType.INT32))
            return self.op("equal", chosen, self.full(chosen, 1)).name
        held = self._held.get(id(value.array))
        if held is not None and held[0].shape == value.shape:
            return held[1]
        assert value.array is not None
        if value.dtype is DType.INT32:
            known_as(value.array, value.dtype)
        array = value.array.reshape(value.sizes() or (1,))
        try:
            name = self.builder.constant(self._free(value.label or "c0"), array, value.dtype)
        except GraphError as error:
            raise Refused(INFINITE_DE) from error
        self._held[id(value.array)] = (value, name)
        self.origins[name] = value.label
        number = number_of(value)
        if number is not None:
            self.literals[name] = number
        return name

    def op(self, op: str, *values: Value, seen: Shape | None = None, **attrs: Attr) -> Value:
        """Add one operation of the table; `seen` is the shape in the framework where it may be ()."""
        names = [self.reference(value) for value in values]
        name = self._free("v0")
        try:
            self.builder.op(op, *names, name=name, **{key: _plain(item) for key, item in attrs.items()})
        except GraphError as error:
            reason = error.message_de.partition(" (node")[0].rstrip(".")
            raise Refused(f"{op}: {reason}") from error
        self.emitted.append(op)
        self.made.append(name)
        tensor = self.builder.tensor(name)
        return Value(tensor.shape if seen is None else seen, tensor.dtype, name)

    def unary(self, op: str, value: Value) -> Value:
        """Apply an operation to each number."""
        if value.array is not None and value.dtype is DType.FLOAT32 and op in IEEE:
            with np.errstate(all="ignore"):
                return known_as(IEEE[op](value.array), value.dtype, value.label)
        return self.op(op, value, seen=value.shape)

    def scale(self, value: Value, factor: float) -> Value:
        """Multiply by one number, as an attribute if it can be written as one."""
        if value.array is not None and value.dtype is DType.FLOAT32:
            return known_as(value.array * np.float32(factor), value.dtype, value.label)
        text = decimal(factor, value.dtype)
        if text == "1":
            return value
        if text is None:
            return self.op("mul", value, self.full(value, factor), seen=value.shape)
        return self.op("scale", value, seen=value.shape, factor=text)

    def full(self, like: Value, number: float) -> Value:
        """Return a row of one number, as long as the last dimension of `like`."""
        width = like.shape[-1] if like.shape else 1
        if width is None:
            raise Refused("die Operation braucht bekannte Größen, die Stapelgröße ist aber offen")
        self.grow((width,))
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
        for this, other in ((left, right), (right, left)) if op == "add" else ():
            away = masks.parts_of(this)
            if away is not None:
                return self._hidden(away[0], self.binary("add", other, away[1]), shape)
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
        return self.op(op, left, self._beside(right, shape), seen=shape)

    def where(self, condition: Value, chosen: Value, other: Value) -> Value:
        """Choose by condition; a condition of conditions becomes several choices, exact for every number."""
        shape = broadcast_shape(condition.shape, broadcast_shape(chosen.shape, other.shape))
        if masks.chooses(condition, chosen, other):
            return self._hidden(condition, other, shape)
        if masks.chooses(condition, other, chosen):
            return self._hidden(negated(condition), chosen, shape)
        if condition.rule:
            return self._where_rule(condition, chosen, other)
        if condition.array is not None and condition.array.size:
            if condition.array.all() or not condition.array.any():
                return self.broadcast_to(chosen if condition.array.all() else other, shape)
            if chosen.array is not None and other.array is not None:
                label = chosen.label or other.label
                return known_as(np.where(condition.array, chosen.array, other.array), chosen.dtype, label)
        values = [self.broadcast_to(item, shape) for item in (condition, chosen, other)]
        return self.op("where", *values, seen=shape)

    def unmasked(self, value: Value) -> Value:
        """Return scores for a softmax, with the lowest number of their type in place of minus infinity."""
        away = masks.parts_of(value)
        if away is None:
            return value
        return self.where(away[0], self.scalar(masks.LOWEST[value.dtype], value), away[1])

    def _hidden(self, condition: Value, scores: Value, shape: Shape) -> Value:
        """Return scores of a shape with minus infinity where a condition holds, beside what they have of it."""
        inner = masks.parts_of(scores)
        condition = self.broadcast_to(condition, shape)
        if inner is not None:
            condition = masks.either(condition, self.broadcast_to(inner[0], shape))
            scores = inner[1]
        return masks.masked(condition, self.broadcast_to(scores, shape))

    def _where_rule(self, condition: Value, chosen: Value, other: Value) -> Value:
        first = condition.parts[0]
        if condition.rule == "not":
            return self.where(first, other, chosen)
        inner = self.where(condition.parts[1], chosen, other)
        return self.where(first, chosen, inner) if condition.rule == "or" else self.where(first, inner, other)

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
            one, zero = (known_as(np.asarray(number), dtype) for number in (1.0, 0.0))
            return self.where(value, one, zero)
        if value.array is not None and dtype.is_float:
            return known_as(value.array.astype(np.float64), dtype, value.label)
        return self.op("cast", value, seen=value.shape, dtype=dtype.value)

    def reshape(self, value: Value, shape: Shape) -> Value:
        """Give the same numbers another shape."""
        if value.shape == shape:
            return value
        if value.rule:
            return Value(
                shape,
                value.dtype,
                rule=value.rule,
                parts=tuple(self.reshape(item, shape) for item in value.parts),
            )
        if value.array is not None:
            return self._moved(value, value.array.reshape([size or 1 for size in shape]))
        if (value.shape or (1,)) == (shape or (1,)):
            return Value(shape, value.dtype, value.name)
        wanted = Value(shape, value.dtype).sizes()
        value.sizes()
        return self.op("reshape", value, seen=shape, shape=wanted or (1,))

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
            sizes = Value(shape, value.dtype).sizes()
            self.grow(sizes)
            return self._moved(value, np.broadcast_to(value.array, sizes))
        wanted = Value(shape, value.dtype).sizes()
        return self.op("broadcast_to", value, shape=wanted)

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

    def grow(self, shape: Shape) -> None:
        """Count numbers that are made from fewer; raises Refused when they grow too many for a file."""
        self._spare -= prod(size or 1 for size in shape)
        if self._spare < 0:
            raise Refused("aus wenigen festen Werten würden mehr Zahlen, als eine Datei haben darf")

    def _moved(self, value: Value, array: Array) -> Value:
        return Value(tuple(array.shape), value.dtype, array=array, label=value.label)

    def _folded(self, op: str, left: Value, right: Value) -> Value | None:
        if left.array is None or right.array is None:
            return None
        table = IEEE if left.dtype is DType.FLOAT32 and op not in COMPARISONS else EXACT
        exact = op in COMPARISONS or left.dtype in {DType.FLOAT32, DType.INT32}
        if op not in table or not exact:
            return None
        shape = broadcast_shape(left.shape, right.shape)
        self.grow(shape if shape not in {left.shape, right.shape} else ())
        with np.errstate(all="ignore"):
            operands = (_exact(left), _exact(right))
            result = np.asarray(table[op](*operands))
        return known_as(result, DType.BOOL if op in COMPARISONS else left.dtype, left.label or right.label)

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
        return self.op(op, left, self.full(left, b), seen=shape)

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


def _exact(value: Value) -> Array:
    """Return known numbers so wide that whole ones cannot overflow unseen."""
    assert value.array is not None
    return value.array.astype(np.int64) if value.dtype is DType.INT32 else value.array


def _plain(item: Attr) -> Attr:
    """Return an attribute without the integer types of NumPy."""
    if isinstance(item, tuple):
        return tuple(int(part) for part in item)
    return item if isinstance(item, str) else int(item)
