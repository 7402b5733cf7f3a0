"""Formulas that frameworks write out and the table of operations has a name for. The name means exactly the formula."""

from __future__ import annotations

from typing import Final

from pilots.graph.frontends.maker import Maker, Rule
from pilots.graph.frontends.values import decimal
from pilots.graph.ir import DType, Node

GELU_CUBE: Final = "0.044715"
GELU_ROOT: Final = "0.7978846"  # sqrt(2 / pi) in float32


def square(maker: Maker, node: Node) -> str | None:
    """X * x."""
    same = node.op == "mul" and node.inputs[0] == node.inputs[1]
    return maker.make("square", node.inputs[0], name=node.output) if same else None


def silu(maker: Maker, node: Node) -> str | None:
    """X * sigmoid(x)."""
    for value, other in _both(node, "mul"):
        inner = maker.node(other, "sigmoid")
        if inner is not None and inner.inputs[0] == value:
            return maker.make("silu", value, name=node.output)
    return None


def mean(maker: Maker, node: Node) -> str | None:
    """The sum of a row, divided by its length; a reshape may stand in between."""
    if node.op != "div" or node.inputs[1] not in maker.literals:
        return None
    between = maker.node(node.inputs[0], "reshape")
    inner = maker.node(between.inputs[0] if between is not None else node.inputs[0], "reduce_sum")
    if inner is None or maker.literals[node.inputs[1]] != maker.types[inner.inputs[0]].shape[-1]:
        return None
    found = maker.make("reduce_mean", *inner.inputs, name="" if between is not None else node.output)
    if between is None:
        return found
    return maker.make("reshape", found, attrs=between.attrs, name=node.output, heir_of=between.output)


def softmax(maker: Maker, node: Node) -> str | None:
    """exp(x - max(x)) / sum(exp(x - max(x)))."""
    grown = maker.node(node.inputs[0], "exp") if node.op == "div" else None
    total = maker.node(node.inputs[1], "reduce_sum") if grown is not None else None
    if grown is None or total is None or total.inputs[0] != grown.output:
        return None
    source = _less_maximum(maker, grown.inputs[0])
    return None if source is None else maker.make("softmax", source, name=node.output)


def log_softmax(maker: Maker, node: Node) -> str | None:
    """(x - max(x)) - log(sum(exp(x - max(x))))."""
    if node.op != "sub":
        return None
    source = _less_maximum(maker, node.inputs[0])
    total = _through(maker, node.inputs[1], "log", "reduce_sum", "exp")
    if source is None or total != node.inputs[0]:
        return None
    return maker.make("log_softmax", source, name=node.output)


def gelu(maker: Maker, node: Node) -> str | None:
    """X * 0.5 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the halves in any order."""
    for left, right in _both(node, "mul"):
        half = _scaled(maker, right, "0.5")
        if half is not None and _is_gate(maker, half, left):
            return maker.make("gelu", left, name=node.output)
        value = _scaled(maker, left, "0.5")
        if value is not None and _is_gate(maker, right, value):
            return maker.make("gelu", value, name=node.output)
    return None


def rms_norm(maker: Maker, node: Node) -> str | None:
    """X / sqrt(mean(x^2) + epsilon) * scale."""
    if node.op != "mul" or not _is_row(maker, node):
        return None
    found = _over_root(maker, node.inputs[0])
    if found is None:
        return None
    attrs = (("epsilon", found[1]),)
    return maker.make("rms_norm", found[0], node.inputs[1], attrs=attrs, name=node.output)


def layer_norm(maker: Maker, node: Node) -> str | None:
    """(x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale + shift."""
    inner = maker.node(node.inputs[0], "rms_norm") if node.op == "add" and _is_row(maker, node) else None
    centred = maker.node(inner.inputs[0], "sub") if inner is not None else None
    if inner is None or centred is None:
        return None
    mean_of = maker.node(centred.inputs[1], "reduce_mean")
    if mean_of is None or mean_of.inputs[0] != centred.inputs[0]:
        return None
    values = (centred.inputs[0], inner.inputs[1], node.inputs[1])
    return maker.make("layer_norm", *values, attrs=inner.attrs, name=node.output)


def _both(node: Node, op: str) -> tuple[tuple[str, str], ...]:
    return (node.inputs[:2], node.inputs[1::-1]) if node.op == op else ()  # type: ignore[return-value]  # op is binary


def _through(maker: Maker, name: str, *ops: str) -> str | None:
    for op in ops:
        found = maker.node(name, op)
        if found is None:
            return None
        name = found.inputs[0]
    return name


def _less_maximum(maker: Maker, name: str) -> str | None:
    difference = maker.node(name, "sub")
    greatest = maker.node(difference.inputs[1], "reduce_max") if difference is not None else None
    if difference is None or greatest is None or greatest.inputs[0] != difference.inputs[0]:
        return None
    return difference.inputs[0]


def _scaled(maker: Maker, name: str, factor: str) -> str | None:
    found = maker.node(name, "scale")
    return found.inputs[0] if found is not None and found.attr("factor") == factor else None


def _plus(maker: Maker, name: str, number: float) -> str | None:
    found = maker.node(name, "add")
    return found.inputs[0] if found is not None and maker.literals.get(found.inputs[1]) == number else None


def _is_gate(maker: Maker, name: str, value: str) -> bool:
    """Say whether a value is 1 + tanh(sqrt(2 / pi) (value + 0.044715 value^3))."""
    curve = _plus(maker, name, 1.0)
    argument = _through(maker, curve, "tanh") if curve is not None else None
    total = maker.node(_scaled(maker, argument, GELU_ROOT) or "", "add") if argument is not None else None
    if total is None:
        return False
    cubes = [_scaled(maker, other, GELU_CUBE) for this, other in _both(total, "add") if this == value]
    return any(cube is not None and _is_cube(maker, cube, value) for cube in cubes)


def _is_cube(maker: Maker, name: str, value: str) -> bool:
    product = maker.node(name, "mul")
    if product is None:
        return False
    return any(
        this == value and _through(maker, other, "square") == value for this, other in _both(product, "mul")
    )


def _is_row(maker: Maker, node: Node) -> bool:
    """Say whether the right side is one number per column."""
    return maker.types[node.inputs[1]].shape == node.tensor.shape[-1:] and len(node.tensor.shape) >= 2


def _over_root(maker: Maker, name: str) -> tuple[str, str] | None:
    """Return x and epsilon if a value is x / sqrt(mean(x^2) + epsilon)."""
    for op, root in (("mul", "rsqrt"), ("div", "sqrt")):
        quotient = maker.node(name, op)
        under = _through(maker, quotient.inputs[1], root) if quotient is not None else None
        total = maker.node(under, "add") if under is not None else None
        if quotient is None or total is None:
            continue
        value = quotient.inputs[0]
        epsilon = maker.literals.get(total.inputs[1])
        if epsilon and _through(maker, total.inputs[0], "reduce_mean", "square") == value:
            text = decimal(epsilon, DType.FLOAT32)
            return None if text is None else (value, text)
    return None


FORMULAS: Final[tuple[Rule, ...]] = (square, silu, mean, softmax, log_softmax, gelu, layer_norm, rms_norm)
