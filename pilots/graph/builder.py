"""Build a graph by code: each call checks its operation at once and returns the name of the result."""

from __future__ import annotations

import numpy as np

from pilots.graph import spec
from pilots.graph.errors import GraphError
from pilots.graph.ir import Array, Constant, DType, Graph, Node, Shape, Tensor, array_sha256


class GraphBuilder:
    """Collects inputs, constants and nodes; `build` returns the frozen, verified graph and its weights."""

    def __init__(self) -> None:
        self._inputs: list[tuple[str, Tensor]] = []
        self._constants: list[Constant] = []
        self._nodes: list[Node] = []
        self._types: dict[str, Tensor] = {}
        self._weights: dict[str, Array] = {}

    def input(self, name: str, shape: Shape, dtype: DType) -> str:
        """Add a graph input; a first dimension of None is the batch."""
        self._inputs.append((name, Tensor(shape, dtype)))
        self._types[name] = Tensor(shape, dtype)
        return name

    def constant(self, name: str, array: Array) -> str:
        """Add a weight; raises GraphError if it is not float32 or float16 or holds NaN or infinity."""
        if array.dtype.name not in {item.value for item in DType} or not np.isfinite(array).all():
            raise GraphError(
                "WEIGHTS",
                position=f"constant {name}",
                expected="finite float32 or float16",
                got=array.dtype.name,
                message_de=f"Die Gewichte {name} sind keine endlichen Zahlen des erwarteten Typs.",
            )
        tensor = Tensor(array.shape, DType(array.dtype.name))
        self._constants.append(Constant(name, tensor, array_sha256(array)))
        self._types[name] = tensor
        self._weights[name] = array
        return name

    def op(self, op: str, *inputs: str) -> str:
        """Add an operation on earlier values; raises GraphError naming the rule broken."""
        position = f"node {len(self._nodes)} ({op})"
        missing = next((name for name in inputs if name not in self._types), None)
        if missing is not None:
            raise GraphError(
                "UNDEFINED",
                position=position,
                expected="inputs defined before",
                got=missing,
                message_de=f"Ein Eingang ist nicht definiert. ({position})",
            )
        tensor = spec.infer(op, tuple(self._types[name] for name in inputs), position)
        output = f"v{len(self._nodes)}"
        self._nodes.append(Node(op, inputs, output, tensor))
        self._types[output] = tensor
        return output

    def build(
        self, *outputs: str, recipe: tuple[tuple[str, str | int], ...] = ()
    ) -> tuple[Graph, dict[str, Array]]:
        """Return the verified graph and its weights by constant name; raises GraphError."""
        graph = Graph(tuple(self._inputs), tuple(self._constants), tuple(self._nodes), outputs, recipe)
        spec.verify(graph)
        return graph, dict(self._weights)
