"""The workload graph: typed, frozen, in single assignment form. Constants are known by their SHA-256.

A dimension of None is the batch; it may stand only in first place, so one graph serves every batch size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from qms.core import canonical

Shape: TypeAlias = tuple[int | None, ...]
Array: TypeAlias = npt.NDArray[Any]
Weights: TypeAlias = Mapping[str, Array]


class DType(StrEnum):
    """Element types a graph may use."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"

    @property
    def item_bytes(self) -> int:
        """Bytes of one element."""
        return {DType.FLOAT32: 4, DType.FLOAT16: 2}[self]

    @property
    def little_endian(self) -> np.dtype[Any]:
        """The NumPy type with its byte order fixed, as it is hashed and stored."""
        return np.dtype("<f4" if self is DType.FLOAT32 else "<f2")


@dataclass(frozen=True, slots=True)
class Tensor:
    """Shape and element type of a value."""

    shape: Shape
    dtype: DType

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {"shape": list(self.shape), "dtype": self.dtype.value}


@dataclass(frozen=True, slots=True)
class Constant:
    """A weight: its name in the graph, its type and the SHA-256 of its little-endian bytes in row-major order."""

    name: str
    tensor: Tensor
    sha256: str


@dataclass(frozen=True, slots=True)
class Node:
    """One operation: `output` is assigned exactly once; inputs name earlier outputs, constants or graph inputs."""

    op: str
    inputs: tuple[str, ...]
    output: str
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Graph:
    """A whole workload. `recipe` says how to build it again (replay); it is no part of any digest."""

    inputs: tuple[tuple[str, Tensor], ...]
    constants: tuple[Constant, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    recipe: tuple[tuple[str, str | int], ...] = ()

    def tensors(self) -> dict[str, Tensor]:
        """Return the type of every named value."""
        table = dict(self.inputs)
        table |= {item.name: item.tensor for item in self.constants}
        return table | {node.output: node.tensor for node in self.nodes}

    def constant(self, name: str) -> Constant | None:
        """Return the constant of that name, or None."""
        return next((item for item in self.constants if item.name == name), None)

    @property
    def dtype(self) -> DType:
        """Element type of the first input."""
        return self.inputs[0][1].dtype


def canonical_form(graph: Graph, *, with_constants: bool) -> dict[str, Any]:
    """Return the graph with values renamed in the order of use, so that names and node order do not matter.

    Nodes that no output needs are left out. `with_constants` adds the SHA-256 of every weight.
    """
    producers = {node.output: node for node in graph.nodes}
    constants = {item.name: item for item in graph.constants}
    inputs = dict(graph.inputs)
    names = {name: f"i{index}" for index, (name, _) in enumerate(graph.inputs)}
    listed: list[dict[str, Any]] = []
    weights: list[dict[str, Any]] = []
    for output in graph.outputs:
        for name in _post_order(output, producers):
            if name in names:
                continue
            if name in constants:
                names[name] = f"c{len(weights)}"
                entry = constants[name].tensor.to_json()
                weights.append(entry | ({"sha256": constants[name].sha256} if with_constants else {}))
            else:
                node = producers[name]
                names[name] = f"v{len(listed)}"
                listed.append(
                    {
                        "op": node.op,
                        "in": [names[item] for item in node.inputs],
                        "type": node.tensor.to_json(),
                    }
                )
    return {
        "format": "wgraph-1",
        "inputs": [tensor.to_json() for tensor in inputs.values()],
        "constants": weights,
        "nodes": listed,
        "outputs": [names[name] for name in graph.outputs],
    }


def _post_order(output: str, producers: Mapping[str, Node]) -> list[str]:
    order: list[str] = []
    seen: set[str] = set()
    stack: list[tuple[str, bool]] = [(output, False)]
    while stack:
        name, done = stack.pop()
        if done:
            order.append(name)
        elif name not in seen:
            seen.add(name)
            stack.append((name, True))
            if name in producers:
                stack.extend((item, False) for item in reversed(producers[name].inputs))
    return order


def model_digest(graph: Graph) -> str:
    """Return the SHA-256 over the canonical graph with the hashes of its constants."""
    return canonical.digest(canonical_form(graph, with_constants=True))


def graph_signature(graph: Graph) -> str:
    """Return the SHA-256 over the structure alone: ops, shapes, types, but no weight."""
    return canonical.digest(canonical_form(graph, with_constants=False))


def array_sha256(array: Array) -> str:
    """Return the SHA-256 of an array's little-endian bytes in row-major order."""
    return canonical.sha256_hex(array_bytes(array))


def array_bytes(array: Array) -> bytes:
    """Return an array's little-endian bytes in row-major order."""
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
