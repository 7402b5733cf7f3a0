"""The example of a capture: arrays as a framework has them, put under the names and in the types of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final

import numpy as np

from pilots.graph.capture import Captured, Example
from pilots.graph.capture.example import index_limits, verify
from pilots.graph.capture.limits import LIMITS
from pilots.graph.errors import GraphError
from pilots.graph.frontends.errors import FrontEndError, refuse
from pilots.graph.frontends.values import INT32_RANGE
from pilots.graph.ir import Array, DType, Graph, Tensor, rounded
from pilots.graph.rng import uniform, words
from pilots.graph.trail import plain

WITHOUT_DE: Final = "bitte andere Beispieleingaben wählen oder mit --no-example ohne Beispiel aufzeichnen"
BATCH: Final = 2  # samples of a seeded example where the batch is open
SEED: Final = 1


def with_example(
    captured: Captured, framework: str, inputs: Sequence[Array], compute: Callable[[], Sequence[Array]]
) -> Captured:
    """Return the capture with inputs in the order of the graph and what `compute` makes of them in the framework.

    Raises FrontEndError if the framework cannot compute them or the results do not belong to the graph.
    """
    graph = captured.graph
    try:
        outputs = compute()
    except Exception as error:  # frameworks raise many classes here
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        sentence = f"{framework} kann das Beispiel nicht rechnen ({plain(first)[:160]}); {WITHOUT_DE}."
        raise refuse("EXAMPLE", "example", "results of the framework", first, sentence) from error
    types = graph.tensors()
    given = {name: array for (name, _), array in zip(graph.inputs, inputs, strict=True)}
    if len(outputs) != len(graph.outputs):
        raise _differs("outputs", str(len(graph.outputs)), len(outputs))
    results = dict(zip(graph.outputs, outputs, strict=True))
    example = Example(
        {name: _stored(name, types[name], array) for name, array in given.items()},
        {name: _stored(name, types[name], array) for name, array in results.items()},
    )
    try:
        verify(graph, example)
    except GraphError as error:
        sentence = f"{error.message_de.partition(';')[0].rstrip('.')}; {WITHOUT_DE}."
        raise refuse(error.code, error.position, error.expected, error.got, sentence) from error
    return replace(captured, example=example)


def seeded_inputs(graph: Graph) -> list[Array]:
    """Return inputs for a graph that came without any: floats from -1 to 1, indices inside their tables, flags.

    Raises FrontEndError if a value of the graph would be larger than a capture may hold.
    """
    limits = index_limits(graph)
    for name, tensor in graph.tensors().items():
        if prod(_sizes(tensor)) > LIMITS["elements"].most:
            sentence = f"Für ein Beispiel ist der Wert {name} zu groß; {WITHOUT_DE}."
            raise refuse("LIMIT", name, f"at most {LIMITS['elements'].most}", tensor.shape, sentence)
    return [_seeded(name, tensor, limits.get(name, 2)) for name, tensor in graph.inputs]


def _seeded(name: str, tensor: Tensor, most: int) -> Array:
    shape = _sizes(tensor)
    if tensor.dtype.is_float:
        return rounded(uniform(SEED, name, shape), tensor.dtype)
    whole = (words(SEED, name, prod(shape)) % np.uint64(max(most, 1))).reshape(shape)
    return np.asarray(whole == 1) if tensor.dtype is DType.BOOL else whole.astype(np.int32)


def _sizes(tensor: Tensor) -> tuple[int, ...]:
    return tuple(size or BATCH for size in tensor.shape)


def _stored(name: str, tensor: Tensor, array: Any) -> Array:
    """Return an array in the memory form of its type in the graph; one number is an array of one."""
    found = np.asarray(array)
    try:
        found = found.reshape([-1 if size is None else size for size in tensor.shape])
    except ValueError as error:
        raise _differs(name, str(tensor.shape), found.shape) from error
    if tensor.dtype is DType.INT32:
        low, high = INT32_RANGE
        if found.dtype.kind not in "iub" or not low <= found.min() <= found.max() <= high:
            raise _differs(name, "numbers of int32", found.dtype)
    with np.errstate(over="ignore"):
        return rounded(found, tensor.dtype)


def _differs(name: str, expected: str, got: object) -> FrontEndError:
    sentence = f"Beispiel und Graph passen nicht zusammen ({name}); {WITHOUT_DE}."
    return refuse("EXAMPLE", f"example {name}", expected, got, sentence)
