"""What is legal in a graph: one row per operation, and the verifier that reads the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Final

from pilots.graph.errors import GraphError
from pilots.graph.ir import DType, Graph, Node, Shape, Tensor, Weights, array_sha256


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One legal operation.

    arity: number of inputs; shape: result shape from input shapes, None if illegal; rule: that condition in words;
    flops: floating point operations per sample from input shapes and result shape (batch counted once).
    """

    arity: int
    shape: Callable[[tuple[Shape, ...]], Shape | None]
    rule: str
    flops: Callable[[tuple[Shape, ...], Shape], int]


def _matmul(shapes: tuple[Shape, ...]) -> Shape | None:
    left, right = shapes
    if len(left) != 2 or len(right) != 2 or right[0] is None or left[1] != right[0]:
        return None
    return (left[0], right[1])


def _broadcast(shapes: tuple[Shape, ...]) -> Shape | None:
    left, right = shapes
    return left if right in (left, left[-len(right) :]) and right else None


def _same(shapes: tuple[Shape, ...]) -> Shape | None:
    return shapes[0] or None


def _rows(shapes: tuple[Shape, ...]) -> Shape | None:
    return (*shapes[0][:-1], 1) if len(shapes[0]) >= 2 else None


def _transpose(shapes: tuple[Shape, ...]) -> Shape | None:
    (shape,) = shapes
    return (shape[1], shape[0]) if len(shape) == 2 and None not in shape else None


def _size(shape: Shape) -> int:
    return prod(1 if item is None else item for item in shape)


def _per_element(count: int) -> Callable[[tuple[Shape, ...], Shape], int]:
    return lambda inputs, _output: count * _size(inputs[0])


def _matmul_flops(inputs: tuple[Shape, ...], output: Shape) -> int:
    return 2 * _size(output) * (inputs[0][1] or 1)


def _elementwise(flops: int) -> OpSpec:
    return OpSpec(1, _same, "one input of at least one dimension", _per_element(flops))


_BROADCAST_RULE: Final = "equal shapes, or a right side equal to the last dimensions of the left"
_BINARY: Final = OpSpec(2, _broadcast, _BROADCAST_RULE, _per_element(1))

# gelu is the tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
OPS: Final[dict[str, OpSpec]] = {
    "matmul": OpSpec(2, _matmul, "[m, k] x [k, n] with equal k", _matmul_flops),
    "add": _BINARY,
    "sub": _BINARY,
    "mul": _BINARY,
    "relu": _elementwise(1),
    "gelu": _elementwise(8),
    "sigmoid": _elementwise(4),
    "tanh": _elementwise(6),
    "softmax": _elementwise(5),
    "reduce_sum": OpSpec(1, _rows, "at least two dimensions; the last one is summed", _per_element(1)),
    "reduce_max": OpSpec(1, _rows, "at least two dimensions; the last one is searched", _per_element(1)),
    "transpose": OpSpec(1, _transpose, "two dimensions, none of them the batch", lambda _inputs, _output: 0),
}
ACTIVATIONS: Final = ("relu", "gelu", "sigmoid", "tanh")


def infer(op: str, inputs: tuple[Tensor, ...], position: str) -> Tensor:
    """Return the type of the result; raises GraphError naming op, position, dtype and the rule broken."""
    spec = OPS.get(op)
    if spec is None:
        raise _broken(
            "UNKNOWN_OP", position, f"one of {', '.join(sorted(OPS))}", op, "Die Operation ist unbekannt."
        )
    if len(inputs) != spec.arity:
        sentence = "Die Operation hat eine falsche Zahl von Eingängen."
        raise _broken("ARITY", position, f"{spec.arity} inputs", str(len(inputs)), sentence)
    dtypes = {item.dtype for item in inputs}
    if len(dtypes) != 1:
        got = ", ".join(sorted(dtypes))
        raise _broken(
            "DTYPE", position, "one dtype for all inputs", got, "Die Zahlentypen passen nicht zusammen."
        )
    shapes = tuple(item.shape for item in inputs)
    result = spec.shape(shapes)
    if result is None:
        dtype = inputs[0].dtype.value
        raise _broken(
            "SHAPE", position, spec.rule, f"{shapes} of {dtype}", "Die Formen passen nicht zusammen."
        )
    return Tensor(result, inputs[0].dtype)


def _broken(code: str, position: str, expected: str, got: str, sentence: str) -> GraphError:
    return GraphError(
        code, position=position, expected=expected, got=got, message_de=f"{sentence} ({position})"
    )


def verify(graph: Graph, weights: Weights | None = None) -> None:
    """Check every rule of the graph, and of the weights if given; raises GraphError at the first one broken."""
    known: dict[str, Tensor] = {}
    if not graph.inputs or not graph.outputs:
        raise _broken(
            "EMPTY", "graph", "an input and an output", "none", "Der Graph hat keinen Ein- oder Ausgang."
        )
    for name, tensor in graph.inputs:
        _define(known, name, tensor, f"input {name}")
    for item in graph.constants:
        if None in item.tensor.shape:
            raise _broken(
                "SHAPE", f"constant {item.name}", "no batch", "batch", "Eine Konstante hat keinen Stapel."
            )
        _define(known, item.name, item.tensor, f"constant {item.name}")
    for index, node in enumerate(graph.nodes):
        _verify_node(known, node, f"node {index} ({node.op})")
    for name in graph.outputs:
        if name not in known:
            raise _broken(
                "UNDEFINED", f"output {name}", "a defined value", name, "Ein Ausgang ist nicht definiert."
            )
    if weights is not None:
        _verify_weights(graph, weights)


def _verify_node(known: dict[str, Tensor], node: Node, position: str) -> None:
    missing = next((name for name in node.inputs if name not in known), None)
    if missing is not None:
        raise _broken(
            "UNDEFINED", position, "inputs defined before", missing, "Ein Eingang ist nicht definiert."
        )
    result = infer(node.op, tuple(known[name] for name in node.inputs), position)
    if result != node.tensor:
        raise _broken(
            "TYPE", position, str(result.to_json()), str(node.tensor.to_json()), "Der Ergebnistyp ist falsch."
        )
    _define(known, node.output, node.tensor, position)


def _define(known: dict[str, Tensor], name: str, tensor: Tensor, position: str) -> None:
    if name in known:
        raise _broken("REASSIGNED", position, "each name once", name, "Ein Name ist doppelt vergeben.")
    if not isinstance(tensor.dtype, DType):
        raise _broken(
            "DTYPE", position, "float32 or float16", str(tensor.dtype), "Der Zahlentyp ist unbekannt."
        )
    bad = [
        item
        for index, item in enumerate(tensor.shape)
        if (item is None and index) or (item is not None and item < 1)
    ]
    if bad or not tensor.shape:
        raise _broken(
            "SHAPE",
            position,
            "positive dimensions, batch first",
            str(tensor.shape),
            "Die Form ist unzulässig.",
        )
    known[name] = tensor


def _verify_weights(graph: Graph, weights: Weights) -> None:
    for item in graph.constants:
        array = weights.get(item.name)
        position = f"constant {item.name}"
        if array is None:
            raise _broken("WEIGHTS", position, "an array", "none", "Gewichte fehlen.")
        if array.shape != item.tensor.shape or array.dtype.name != item.tensor.dtype.value:
            raise _broken("WEIGHTS", position, str(item.tensor.to_json()), f"{array.shape} {array.dtype.name}",
                          "Gewichte haben eine falsche Form.")  # fmt: skip
        actual = array_sha256(array)
        if actual != item.sha256:
            raise _broken(
                "WEIGHTS", position, item.sha256, actual, "Die Prüfsumme der Gewichte stimmt nicht."
            )


def flops_per_sample(graph: Graph) -> int:
    """Return the floating point operations of one sample."""
    types = graph.tensors()
    return sum(
        OPS[node.op].flops(tuple(types[name].shape for name in node.inputs), node.tensor.shape)
        for node in graph.nodes
    )
