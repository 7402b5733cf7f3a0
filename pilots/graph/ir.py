"""The workload graph: typed, frozen, in single assignment form. Constants are known by their SHA-256.

A dimension of None is the batch; it may stand only in first place, so one graph serves every batch size.
NumPy has no bfloat16: arrays of that type are float32 holding rounded numbers, and only their upper halves count as bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from qms.core import canonical

Shape: TypeAlias = tuple[int | None, ...]
Array: TypeAlias = npt.NDArray[Any]
Weights: TypeAlias = Mapping[str, Array]
Attr: TypeAlias = int | str | tuple[int, ...]
Attrs: TypeAlias = tuple[tuple[str, Attr], ...]
SHAPE_ONLY: Final = ""  # the hash of a constant whose numbers are not there


class DType(StrEnum):
    """Element types a graph may use."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    INT32 = "int32"
    BOOL = "bool"

    @property
    def item_bytes(self) -> int:
        """Bytes of one element."""
        return _ITEM_BYTES[self]

    @property
    def little_endian(self) -> np.dtype[Any]:
        """The NumPy type of an array in memory with its byte order fixed; float32 for bfloat16."""
        return np.dtype(_IN_MEMORY[self])

    @property
    def is_float(self) -> bool:
        """Say whether elements are floating point numbers."""
        return self in FLOATS


FLOATS: Final = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)
_ITEM_BYTES: Final = {
    DType.FLOAT32: 4,
    DType.FLOAT16: 2,
    DType.BFLOAT16: 2,
    DType.INT32: 4,
    DType.BOOL: 1,
}
_IN_MEMORY: Final = {
    DType.FLOAT32: "<f4",
    DType.FLOAT16: "<f2",
    DType.BFLOAT16: "<f4",
    DType.INT32: "<i4",
    DType.BOOL: "|b1",
}


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
    """A weight: its name in the graph, its type and the SHA-256 of its little-endian bytes in row-major order.

    A sha256 of SHAPE_ONLY says that only the shape is known (models too large to hold).
    """

    name: str
    tensor: Tensor
    sha256: str


@dataclass(frozen=True, slots=True)
class Node:
    """One operation: `output` is assigned exactly once; inputs name earlier outputs, constants or graph inputs.

    attrs: what the operation needs besides its inputs, sorted by name; decimals are strings.
    """

    op: str
    inputs: tuple[str, ...]
    output: str
    tensor: Tensor
    attrs: Attrs = ()

    def attr(self, name: str) -> Attr:
        """Return an attribute; raises KeyError."""
        return dict(self.attrs)[name]


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
        """Element type the graph computes in: the first floating one of inputs, then constants."""
        tensors = [tensor for _, tensor in self.inputs] + [item.tensor for item in self.constants]
        return next((item.dtype for item in tensors if item.dtype.is_float), tensors[0].dtype)


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
        for name in _post_order(output, producers, names):
            if name in constants:
                names[name] = f"c{len(weights)}"
                entry = constants[name].tensor.to_json()
                weights.append(entry | ({"sha256": constants[name].sha256} if with_constants else {}))
            else:
                node = producers[name]
                names[name] = f"v{len(listed)}"
                listed.append(_node_form(node, names))
    return {
        "format": "wgraph-1",
        "inputs": [tensor.to_json() for tensor in inputs.values()],
        "constants": weights,
        "nodes": listed,
        "outputs": [names[name] for name in graph.outputs],
    }


def _node_form(node: Node, names: Mapping[str, str]) -> dict[str, Any]:
    form: dict[str, Any] = {
        "op": node.op,
        "in": [names[item] for item in node.inputs],
        "type": node.tensor.to_json(),
    }
    if node.attrs:  # left out when empty: graphs without attributes keep the digest they had before
        form["attrs"] = {name: list(item) if isinstance(item, tuple) else item for name, item in node.attrs}
    return form


def _post_order(output: str, producers: Mapping[str, Node], known: Mapping[str, str]) -> list[str]:
    """Return what `output` needs and is not yet known, inputs before users."""
    order: list[str] = []
    seen: set[str] = set()
    stack: list[tuple[str, bool]] = [(output, False)]
    while stack:
        name, done = stack.pop()
        if done:
            order.append(name)
        elif name not in seen and name not in known:
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


def array_sha256(array: Array, dtype: DType | None = None) -> str:
    """Return the SHA-256 of `array_bytes`."""
    return canonical.sha256_hex(array_bytes(array, dtype))


def array_bytes(array: Array, dtype: DType | None = None) -> bytes:
    """Return an array's little-endian bytes in row-major order; of bfloat16 (say so by `dtype`) the upper halves."""
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    if dtype is DType.BFLOAT16:
        plain = (plain.view("<u4") >> np.uint32(16)).astype("<u2")
    return plain.tobytes()


def rounded(array: Array, dtype: DType) -> Array:
    """Return the array in memory form of `dtype`; bfloat16 rounds to nearest, ties to even, NaN stays NaN."""
    if dtype is not DType.BFLOAT16:
        return np.asarray(array, dtype=dtype.little_endian)
    wide = np.ascontiguousarray(array, dtype="<f4")
    bits = wide.view("<u4")
    even = (bits >> np.uint32(16)) & np.uint32(1)
    with np.errstate(over="ignore"):
        upper = (bits + (np.uint32(0x7FFF) + even)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(wide), np.float32(np.nan), upper.view("<f4"))
