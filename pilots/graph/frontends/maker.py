"""Builds a graph in its simple form: every operation is offered to the rules before it is added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from pilots.graph import spec
from pilots.graph.ir import Array, Attrs, Constant, Graph, Node, Tensor
from qms.core import canonical

Rule: TypeAlias = "Callable[[Maker, Node], str | None]"


class Maker:
    """Adds operations; equal ones on equal inputs once. `literals` are constants that belong to the formula.

    traces: operation of the graph as it was -> operations made for it, those that nothing needs in the end included.
    """

    def __init__(self, graph: Graph, weights: Mapping[str, Array], rules: tuple[Rule, ...]) -> None:
        self.types: dict[str, Tensor] = dict(graph.inputs)
        self.types |= {item.name: item.tensor for item in graph.constants}
        self.nodes: dict[str, Node] = {}
        self.literals: dict[str, float] = {}
        self.weights = dict(weights)
        self.constants: dict[str, Constant] = {}
        self._rules = rules
        self._made: dict[tuple[str, tuple[str, ...], Attrs], str] = {}
        self._keys = {
            name: canonical.digest({"input": index}) for index, (name, _) in enumerate(graph.inputs)
        }
        self._alias: dict[str, str] = {}
        self.traces: dict[str, list[str]] = {}
        self._owners: dict[str, list[str]] = {}
        self._current = ""

    def add_constants(self, graph: Graph, literals: Mapping[str, float], origins: Mapping[str, str]) -> None:
        """Take the constants, equal ones of one origin once; what is done never depends on the numbers of a weight."""
        seen: dict[tuple[str, str, Tensor], str] = {}
        for item in graph.constants:
            origin = origins.get(item.name, item.name)
            first = seen.setdefault((origin, item.sha256, item.tensor), item.name)
            if first != item.name:
                self._alias[item.name] = first
                continue
            self.constants[item.name] = item
            form = item.tensor.to_json() | ({"literal": item.sha256} if item.name in literals else {})
            self._keys[item.name] = canonical.digest(form)
        self.literals = {name: literals[name] for name in self.constants if name in literals}

    def replay(self, graph: Graph) -> tuple[str, ...]:
        """Make every operation of a graph again; returns the names of its outputs."""
        for node in graph.nodes:
            self._current = node.output
            inputs = tuple(self._alias.get(name, name) for name in node.inputs)
            self._alias[node.output] = self.make(node.op, *inputs, attrs=node.attrs, name=node.output)
        return tuple(self._alias.get(name, name) for name in graph.outputs)

    def make(self, op: str, *inputs: str, attrs: Attrs = (), name: str = "", heir_of: str = "") -> str:
        """Return the name of that operation's result, in its simple form; heir_of: the operation that it moved from."""
        tensor = spec.infer(op, tuple(self.types[item] for item in inputs), op, attrs)
        node = Node(op, inputs, name, tensor, attrs)
        for rule in self._rules:
            found = rule(self, node)
            if found is not None:
                return found
        key = (op, inputs, attrs)
        if key not in self._made:
            self._made[key] = self._add(node)
        for owner in list(self._owners.get(heir_of, [self._current])):
            self._trace(owner, self._made[key])
        return self._made[key]

    def _trace(self, owner: str, name: str) -> None:
        """Note that an operation of the graph as it was made this one, or would have."""
        self.traces.setdefault(owner, []).append(name)
        self._owners.setdefault(name, []).append(owner)

    def key(self, name: str) -> str:
        """Return a digest of how a value is made; weights count by shape alone."""
        return self._keys[name]

    def node(self, name: str, op: str) -> Node | None:
        """Return the operation that makes a value, if it is that one."""
        found = self.nodes.get(name)
        return found if found is not None and found.op == op else None

    def _add(self, node: Node) -> str:
        name = node.output if node.output and node.output not in self.types else f"s{len(self.nodes)}"
        while name in self.types:
            name += "_"
        self.nodes[name] = Node(node.op, node.inputs, name, node.tensor, node.attrs)
        self.types[name] = node.tensor
        self._keys[name] = canonical.digest(
            {
                "op": node.op,
                "in": [self._keys[item] for item in node.inputs],
                "attrs": [[key, list(item) if isinstance(item, tuple) else item] for key, item in node.attrs],
            }
        )
        return name
