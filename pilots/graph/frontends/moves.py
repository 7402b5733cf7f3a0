"""Rules on operations that only move numbers, and on the order of operands. All of them are exact."""

from __future__ import annotations

from typing import Final

from pilots.graph.frontends.maker import Maker, Rule
from pilots.graph.ir import Node

COMMUTATIVE: Final = ("add", "mul", "maximum", "minimum", "equal")
UNARY: Final = [
    "neg",
    "abs",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "square",
    "relu",
    "gelu",
    "silu",
    "sigmoid",
    "tanh",
    "sin",
    "cos",
    "scale",
    "cast",
]
BINARY: Final = ["add", "sub", "mul", "div", "maximum", "minimum", "greater", "less", "equal"]
ROWS: Final = ["softmax", "log_softmax", "layer_norm", "rms_norm"]
REDUCTIONS: Final = ["reduce_sum", "reduce_max", "reduce_min", "reduce_mean", "argmax"]


def drop_idle(maker: Maker, node: Node) -> str | None:
    """Leave out what changes nothing."""
    source = node.inputs[0]
    before = maker.types[source]
    if node.op in {"reshape", "broadcast_to", "cast", "pad", "slice"}:
        return source if before == node.tensor else None
    order = node.attr("order") if node.op == "transpose" and node.attrs else None
    return source if isinstance(order, tuple) and order == tuple(range(len(order))) else None


def join_reshapes(maker: Maker, node: Node) -> str | None:
    """Reshape once instead of twice."""
    inner = maker.node(node.inputs[0], "reshape") if node.op == "reshape" else None
    return maker.make("reshape", *inner.inputs, attrs=node.attrs, name=node.output) if inner else None


def join_transposes(maker: Maker, node: Node) -> str | None:
    """Transpose once instead of twice; one that only moves dimensions of size 1 is a reshape."""
    if node.op != "transpose":
        return None
    order = _order(node)
    shape = maker.types[node.inputs[0]].shape
    moved = [axis for axis in order if shape[axis] != 1]
    if moved == sorted(moved):
        sizes = tuple(size or 1 for size in node.tensor.shape)
        return maker.make("reshape", node.inputs[0], attrs=(("shape", sizes),), name=node.output)
    if not node.attrs:
        return maker.make("transpose", *node.inputs, attrs=(("order", order),), name=node.output)
    inner = maker.node(node.inputs[0], "transpose")
    if inner is None:
        return None
    before = _order(inner)
    attrs = (("order", tuple(before[axis] for axis in order)),)
    return maker.make("transpose", *inner.inputs, attrs=attrs, name=node.output)


def absorb_transpose(maker: Maker, node: Node) -> str | None:
    """Let a product read its right side transposed."""
    inner = maker.node(node.inputs[1], "transpose") if node.op == "matmul" else None
    if inner is None:
        return None
    attrs = () if node.attrs and node.attr("transposed") else (("transposed", 1),)
    return maker.make("matmul", node.inputs[0], inner.inputs[0], attrs=attrs, name=node.output)


def sink_reshape(maker: Maker, node: Node) -> str | None:
    """Compute on the numbers as they were, and reshape afterwards, so that reshapes meet and cancel."""
    inner = (
        maker.node(node.inputs[0], "reshape") if node.op in {*UNARY, *BINARY, *ROWS, *REDUCTIONS} else None
    )
    if inner is None:
        return None
    source = inner.inputs[0]
    before, after = maker.types[source].shape, maker.types[node.inputs[0]].shape
    others = [source]
    for name in node.inputs[1:]:
        other = _seen_before(maker, name, before, after)
        if other is None:
            return None
        others.append(other)
    by_row = node.op in {*ROWS, *REDUCTIONS}
    if by_row and (before[-1:] != after[-1:] or len(before) < 2):
        return None
    result = maker.make(node.op, *others, attrs=node.attrs)
    attrs = (("shape", tuple(size or 1 for size in node.tensor.shape)),)
    return maker.make("reshape", result, attrs=attrs, name=node.output, heir_of=inner.output)


def _seen_before(
    maker: Maker, name: str, before: tuple[int | None, ...], after: tuple[int | None, ...]
) -> str | None:
    """Return the operand beside the value before its reshape, None if it means something else there."""
    shape = maker.types[name].shape
    inner = maker.node(name, "reshape")
    if shape == after and inner is not None and maker.types[inner.inputs[0]].shape == before:
        return inner.inputs[0]
    if len(shape) == 1 and shape[-1:] == after[-1:] == before[-1:] and after != shape:
        return name
    per_row = len(after) >= 2 and shape == (*after[:-1], 1) and before[-1:] == after[-1:]
    if per_row and inner is not None and maker.types[inner.inputs[0]].shape == (*before[:-1], 1):
        return inner.inputs[0]
    return None


def order_operands(maker: Maker, node: Node) -> str | None:
    """Put operands that may change places in the order of how they are made."""
    if node.op not in COMMUTATIVE:
        return None
    left, right = node.inputs
    if maker.types[left] != maker.types[right] or maker.key(left) <= maker.key(right):
        return None
    return maker.make(node.op, right, left, attrs=node.attrs, name=node.output)


def _order(node: Node) -> tuple[int, ...]:
    order = node.attr("order") if node.attrs else (1, 0)
    return order if isinstance(order, tuple) else ()


MOVES: Final[tuple[Rule, ...]] = (
    drop_idle,
    join_reshapes,
    join_transposes,
    absorb_transpose,
    sink_reshape,
    order_operands,
)
