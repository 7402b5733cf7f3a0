"""Build a graph by code: each call checks its operation at once and returns the name of the result."""

from __future__ import annotations

import numpy as np

from pilots.graph import spec
from pilots.graph.errors import refusal
from pilots.graph.ir import (
    SHAPE_ONLY,
    Array,
    Attr,
    Constant,
    DType,
    Graph,
    Node,
    Shape,
    Tensor,
    array_sha256,
    rounded,
)


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

    def constant(self, name: str, array: Array, dtype: DType | None = None) -> str:
        """Add a weight, rounded to `dtype` (else its own type); raises GraphError if it holds NaN or infinity."""
        known = (
            next((item for item in DType if item.value == array.dtype.name), None) if dtype is None else dtype
        )
        if known is None or not np.isfinite(array).all():
            sentence = f"Die Gewichte {name} sind keine endlichen Zahlen des erwarteten Typs."
            expected = "finite numbers of a known type"
            raise refusal("WEIGHTS", f"constant {name}", expected, array.dtype.name, sentence)
        stored = rounded(array, known)
        self._weights[name] = stored
        return self._add_constant(Constant(name, Tensor(stored.shape, known), array_sha256(stored, known)))

    def shape_only(self, name: str, shape: tuple[int, ...], dtype: DType) -> str:
        """Add a weight of which only the shape is known."""
        return self._add_constant(Constant(name, Tensor(shape, dtype), SHAPE_ONLY))

    def op(self, op: str, *inputs: str, name: str | None = None, **attrs: Attr) -> str:
        """Add an operation on earlier values, called `name` if given; raises GraphError naming the rule broken."""
        position = f"node {len(self._nodes)} ({op})"
        missing = next((item for item in inputs if item not in self._types), None)
        if missing is not None:
            sentence = f"Ein Eingang ist nicht definiert. ({position})"
            raise refusal("UNDEFINED", position, "inputs defined before", missing, sentence)
        ordered = tuple(sorted(attrs.items()))
        tensor = spec.infer(op, tuple(self._types[item] for item in inputs), position, ordered)
        output = f"v{len(self._nodes)}" if name is None else name
        self._nodes.append(Node(op, inputs, output, tensor, ordered))
        self._types[output] = tensor
        return output

    def tensor(self, name: str) -> Tensor:
        """Return shape and type of a value added before; raises KeyError."""
        return self._types[name]

    def build(
        self, *outputs: str, recipe: tuple[tuple[str, str | int], ...] = ()
    ) -> tuple[Graph, dict[str, Array]]:
        """Return the verified graph and its weights by constant name; raises GraphError."""
        graph = Graph(tuple(self._inputs), tuple(self._constants), tuple(self._nodes), outputs, recipe)
        spec.verify(graph)
        return graph, dict(self._weights)

    def _add_constant(self, item: Constant) -> str:
        self._constants.append(item)
        self._types[item.name] = item.tensor
        return item.name
