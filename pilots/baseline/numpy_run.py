"""The same graph in plain NumPy, as anyone would run it on this machine (BLAS allowed). No emulated numerics here.

Each operation is its twin of `pilots.graph.twins`, in float32 where the twin of the reference runs in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pilots.graph.attributes import Given
from pilots.graph.ir import Array, DType, Graph, Weights, rounded
from pilots.graph.twins import TWINS, Twin

Keep = Callable[[Array], Array]
# Sums stay in fp32 until the bias is added, as on the emulated machine.
UNROUNDED: Final = frozenset({"matmul"})


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: its twin, the names it reads and writes, its attributes, how its result is kept, what ends with it."""

    twin: Twin
    inputs: tuple[str, ...]
    output: str
    given: Given
    keep: Keep
    done: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A graph ready to run again and again: steps in order, weights in the form they are computed in, typed outputs."""

    steps: tuple[Step, ...]
    weights: Mapping[str, Array]
    outputs: tuple[tuple[str, DType], ...]


def prepare(graph: Graph, weights: Weights) -> Prepared:
    """Return the graph ready to run. 16-bit floats are computed in fp32 and rounded after every operation."""
    types = graph.tensors()
    last = {name: index for index, node in enumerate(graph.nodes) for name in (*node.inputs, node.output)}
    for name in (*graph.outputs, *weights):
        last.pop(name, None)
    done: dict[int, list[str]] = {}
    for name, index in last.items():
        done.setdefault(index, []).append(name)
    return Prepared(
        steps=tuple(
            Step(
                TWINS[node.op],
                node.inputs,
                node.output,
                Given(dict(node.attrs)),
                _keeping(DType.FLOAT32 if node.op in UNROUNDED else node.tensor.dtype),
                tuple(done.get(index, ())),
            )
            for index, node in enumerate(graph.nodes)
        ),
        weights={name: _working(array) for name, array in weights.items()},
        outputs=tuple((name, types[name].dtype) for name in graph.outputs),
    )


def forward(prepared: Prepared, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return every output by name in its own element type; raises GraphError for an index outside its table."""
    values = dict(prepared.weights) | {name: _working(array) for name, array in inputs.items()}
    with np.errstate(all="ignore"):  # infinity and NaN are results, and counted as failures
        for step in prepared.steps:
            values[step.output] = step.keep(step.twin([values[name] for name in step.inputs], step.given))
            for name in step.done:  # as the emulator does, so that `wafer.limits` bounds the memory of both
                del values[name]
        return {name: rounded(values[name], dtype) for name, dtype in prepared.outputs}


def _working(array: Array) -> Array:
    kinds: dict[str, Any] = {"f": np.float32, "b": np.bool_}
    return np.ascontiguousarray(array, dtype=kinds.get(array.dtype.kind, np.int64))


def _keeping(dtype: DType) -> Keep:
    if dtype in {DType.FLOAT16, DType.BFLOAT16}:
        return lambda array: np.asarray(rounded(array, dtype), dtype=np.float32)
    plain = np.float32 if dtype is DType.FLOAT32 else np.bool_ if dtype is DType.BOOL else np.int64
    return lambda array: array.astype(plain, copy=False)
