"""The verifier: reads the table of operations (`ops.py`) and names op, position, type and the rule broken."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import prod
from typing import Final

import numpy as np

from pilots.graph.attributes import MAX_COUNT, MAX_DIMENSIONS, Given, check
from pilots.graph.errors import GraphError, refusal
from pilots.graph.ir import (
    SHAPE_ONLY,
    Array,
    Attrs,
    Constant,
    DType,
    Graph,
    Node,
    Shape,
    Tensor,
    Weights,
    array_sha256,
    rounded,
)
from pilots.graph.ops import ACTIVATIONS, OPS, OpSpec

__all__ = [
    "ACTIVATIONS",
    "MAX_ELEMENTS",
    "OPS",
    "OpSpec",
    "flops_per_sample",
    "infer",
    "node_flops",
    "verify",
]

MAX_ELEMENTS: Final = MAX_COUNT  # of one tensor; more than any machine holds
_ALL_TYPES: Final = f"one of {', '.join(item.value for item in DType)}"
_INTEGER_TYPES: Final = {"i": DType.INT32, "b": DType.BOOL}


def infer(op: str, inputs: tuple[Tensor, ...], position: str, attrs: Attrs = ()) -> Tensor:
    """Return the type of the result; raises GraphError naming op, position, dtype and the rule broken."""
    try:
        return _inferred(op, inputs, attrs, repr(attrs))
    except (GraphError, TypeError):  # not legal, or not even hashable: once more, to name the position
        return _infer(op, inputs, position, attrs)


@lru_cache(maxsize=4096)
def _inferred(op: str, inputs: tuple[Tensor, ...], attrs: Attrs, _written: str) -> Tensor:
    """Equal layers ask the same question eighty times; `_written` tells True from 1."""
    return _infer(op, inputs, "", attrs)


def _infer(op: str, inputs: tuple[Tensor, ...], position: str, attrs: Attrs) -> Tensor:
    spec = OPS.get(op)
    if spec is None:
        known = f"one of {', '.join(sorted(OPS))}"
        raise _broken("UNKNOWN_OP", position, known, op, "Die Operation ist unbekannt.")
    least, most = spec.arity
    if not least <= len(inputs) <= most:
        expected = f"{least} inputs" if least == most else f"{least} to {most} inputs"
        raise _broken(
            "ARITY",
            position,
            expected,
            str(len(inputs)),
            "Die Operation hat eine falsche Zahl von Eingängen.",
        )
    wrong = check(attrs, spec.attributes)
    if wrong is not None:
        raise _broken(wrong.code, position, wrong.expected, wrong.got, wrong.sentence)
    given = Given(dict(attrs))
    dtype = _result_type(spec, inputs, given, position)
    shapes = tuple(item.shape for item in inputs)
    result = spec.shape(shapes, given)
    if result is None:
        got = f"{', '.join(map(str, shapes))} of {inputs[0].dtype.value}"
        got += f" with {dict(attrs)}" if attrs else ""
        raise _broken("SHAPE", position, spec.rule, got, "Die Formen passen nicht zusammen.")
    return Tensor(result, dtype)


def _result_type(spec: OpSpec, inputs: tuple[Tensor, ...], given: Given, position: str) -> DType:
    letters, result = spec.types.split(">")
    letters = letters.ljust(len(inputs), letters[-1])
    variable = [item.dtype for item, letter in zip(inputs, letters, strict=False) if letter in "TNA"]
    fits = len(set(variable)) <= 1 and all(
        _fits(item.dtype, letter) for item, letter in zip(inputs, letters, strict=False)
    )
    if not fits:
        got = ", ".join(item.dtype.value for item in inputs)
        raise _broken("DTYPE", position, _words(letters), got, "Die Zahlentypen passen nicht zusammen.")
    if result == "@":
        return DType(given.text("dtype"))
    return _INTEGER_TYPES.get(result) or variable[0]


def _fits(dtype: DType, letter: str) -> bool:
    if letter == "A":
        return True
    if letter in _INTEGER_TYPES:
        return dtype is _INTEGER_TYPES[letter]
    return dtype.is_float or (letter == "N" and dtype is DType.INT32)


def _words(letters: str) -> str:
    names = {"T": "floating", "N": "floating or int32", "A": "any", "i": "int32", "b": "bool"}
    return "one dtype for all inputs of a kind: " + ", ".join(names[letter] for letter in letters[:8])


def _broken(code: str, position: str, expected: str, got: str, sentence: str) -> GraphError:
    return refusal(code, position, expected, got, f"{sentence} ({position})")


def verify(graph: Graph, weights: Weights | None = None) -> None:
    """Check every rule of the graph, and of the weights if given; raises GraphError at the first one broken.

    Without weights, constants may be known by their shape alone.
    """
    known: dict[str, Tensor] = {}
    if not graph.inputs or not graph.outputs:
        sentence = "Der Graph hat keinen Ein- oder Ausgang."
        raise _broken("EMPTY", "graph", "an input and an output", "none", sentence)
    for name, tensor in graph.inputs:
        _define(known, name, tensor, f"input {name}")
    for item in graph.constants:
        position = f"constant {item.name}"
        if None in item.tensor.shape:
            raise _broken("SHAPE", position, "no batch", "batch", "Eine Konstante hat keinen Stapel.")
        _define(known, item.name, item.tensor, position)
    for index, node in enumerate(graph.nodes):
        _verify_node(known, node, f"node {index} ({node.op})")
    for name in graph.outputs:
        if name not in known:
            sentence = "Ein Ausgang ist nicht definiert."
            raise _broken("UNDEFINED", f"output {name}", "a defined value", name, sentence)
    if weights is not None:
        for item in graph.constants:
            _verify_weight(item, weights.get(item.name))


def _verify_node(known: dict[str, Tensor], node: Node, position: str) -> None:
    missing = next((name for name in node.inputs if name not in known), None)
    if missing is not None:
        sentence = "Ein Eingang ist nicht definiert."
        raise _broken("UNDEFINED", position, "inputs defined before", missing, sentence)
    result = infer(node.op, tuple(known[name] for name in node.inputs), position, node.attrs)
    if result != node.tensor:
        sentence = "Der Ergebnistyp ist falsch."
        raise _broken("TYPE", position, str(result.to_json()), str(node.tensor.to_json()), sentence)
    _define(known, node.output, node.tensor, position)


def _define(known: dict[str, Tensor], name: str, tensor: Tensor, position: str) -> None:
    if name in known:
        raise _broken("REASSIGNED", position, "each name once", name, "Ein Name ist doppelt vergeben.")
    if not isinstance(tensor.dtype, DType):
        raise _broken("DTYPE", position, _ALL_TYPES, str(tensor.dtype), "Der Zahlentyp ist unbekannt.")
    _check_shape(tensor.shape, position)
    known[name] = tensor


def _check_shape(shape: Shape, position: str) -> None:
    legal = 1 <= len(shape) <= MAX_DIMENSIONS and all(
        (item is None and index == 0) or (type(item) is int and item >= 1) for index, item in enumerate(shape)
    )
    if not legal:
        expected = f"1..{MAX_DIMENSIONS} positive dimensions, batch first"
        raise _broken("SHAPE", position, expected, str(shape)[:200], "Die Form ist unzulässig.")
    elements = prod(item or 1 for item in shape)
    if elements > MAX_ELEMENTS:
        sentence = "Ein Wert hat mehr als 2^48 Elemente; so groß darf er nicht sein."
        raise _broken("SIZE", position, f"at most {MAX_ELEMENTS} elements", str(shape)[:200], sentence)


def _verify_weight(item: Constant, array: Array | None) -> None:
    position = f"constant {item.name}"
    if item.sha256 == SHAPE_ONLY:
        sentence = "Von den Gewichten ist nur die Form bekannt, keine Prüfsumme."
        raise _broken("WEIGHTS", position, "a hash", "none", sentence)
    if array is None:
        raise _broken("WEIGHTS", position, "an array", "none", "Gewichte fehlen.")
    if array.shape != item.tensor.shape or array.dtype.name != item.tensor.dtype.little_endian.name:
        got = f"{array.shape} {array.dtype.name}"
        raise _broken(
            "WEIGHTS", position, str(item.tensor.to_json()), got, "Gewichte haben eine falsche Form."
        )
    if item.tensor.dtype is DType.BFLOAT16 and not np.array_equal(array, rounded(array, DType.BFLOAT16)):
        sentence = "Gewichte sind nicht auf den erwarteten Zahlentyp gerundet."
        raise _broken("WEIGHTS", position, "numbers rounded to bfloat16", "others", sentence)
    actual = array_sha256(array, item.tensor.dtype)
    if actual != item.sha256:
        sentence = "Die Prüfsumme der Gewichte stimmt nicht."
        raise _broken("WEIGHTS", position, item.sha256, actual, sentence)


def node_flops(node: Node, types: Mapping[str, Tensor]) -> int:
    """Return the floating point operations of one node per sample; `types` as `Graph.tensors` gives them."""
    shapes = tuple(types[name].shape for name in node.inputs)
    return OPS[node.op].flops(shapes, node.tensor.shape, Given(dict(node.attrs)))


def flops_per_sample(graph: Graph) -> int:
    """Return the floating point operations of one sample; of a whole pass where the batch is a fixed dimension."""
    types = graph.tensors()
    return sum(node_flops(node, types) for node in graph.nodes)
