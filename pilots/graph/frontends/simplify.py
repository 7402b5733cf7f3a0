"""One form for graphs that are the same: moves that cancel, values made twice, formulas the table has a name for.

What a rule looks at never depends on the numbers of a weight: trained and fresh models have the same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from pilots.graph.frontends.formulas import FORMULAS
from pilots.graph.frontends.maker import Maker
from pilots.graph.frontends.moves import MOVES
from pilots.graph.ir import Array, Constant, Graph, Node, array_sha256
from pilots.graph.spec import verify

Fates: TypeAlias = dict[str, tuple[str, ...]]
ONLY_MOVED: Final = ("reshape", "transpose", "broadcast_to", "slice", "pad", "concat", "cast")


def simplify(
    graph: Graph, weights: Mapping[str, Array], literals: Mapping[str, float], origins: Mapping[str, str]
) -> tuple[Graph, dict[str, Array], Fates]:
    """Return the graph in its simple form, the weights it still needs, and what became of each operation.

    literals: constants of the formula; origins: the name a weight had, "" for numbers that were no weight. Fates: value of
    the graph as it was -> values of the simple one it is made by or part of. Raises GraphError.
    """
    maker = Maker(graph, weights, (*MOVES, *FORMULAS))
    maker.add_constants(graph, literals, origins)
    outputs = maker.replay(graph)
    nodes = _needed(maker, outputs)
    used = {name for node in nodes for name in node.inputs} | set(outputs)
    constants = {name: item for name, item in maker.constants.items() if name in used}
    nodes = _tied(nodes, constants, maker.weights, origins)
    used = {name for node in nodes for name in node.inputs} | set(outputs)
    kept = tuple(item for name, item in constants.items() if name in used)
    result = Graph(graph.inputs, kept, nodes, outputs, graph.recipe)
    verify(result)
    return result, {item.name: maker.weights[item.name] for item in kept}, _fates(graph, maker, nodes)


def _fates(graph: Graph, maker: Maker, kept: tuple[Node, ...]) -> Fates:
    """Follow every operation; one that a formula with a name took in is part of the next operation that is still there."""
    ops = {node.output: node.op for node in kept}
    users: dict[str, list[str]] = {}
    for node in graph.nodes:
        for name in node.inputs:
            users.setdefault(name, []).append(node.output)
    fates: Fates = {}
    reached: Fates = {}
    for node in reversed(graph.nodes):  # users before what they use
        own = tuple(name for name in dict.fromkeys(maker.traces.get(node.output, ())) if name in ops)
        computing = tuple(name for name in own if ops[name] not in ONLY_MOVED)
        later = dict.fromkeys(name for user in users.get(node.output, ()) for name in reached[user])
        reached[node.output] = computing or tuple(later)
        fates[node.output] = own if own or node.op in ONLY_MOVED else reached[node.output]
    return fates


def _needed(maker: Maker, outputs: tuple[str, ...]) -> tuple[Node, ...]:
    needed = set(outputs)
    found = []
    for node in reversed(maker.nodes.values()):
        if node.output in needed:
            needed |= set(node.inputs)
            found.append(node)
    return tuple(reversed(found))


def _tied(
    nodes: tuple[Node, ...],
    constants: Mapping[str, Constant],
    weights: Mapping[str, Array],
    origins: Mapping[str, str],
) -> tuple[Node, ...]:
    """Use a weight that is also there transposed only once: an embedding that is the output product too."""
    flat = {name: item for name, item in constants.items() if len(item.tensor.shape) == 2}
    by_hash = {(origins.get(name, name), item.sha256): name for name, item in flat.items()}
    uses = {
        name for node in nodes for index, name in enumerate(node.inputs) if (node.op, index) != ("matmul", 1)
    }
    twins = {}
    for name, item in flat.items():
        if name in uses:
            continue
        other = by_hash.get((origins.get(name, name), array_sha256(weights[name].T, item.tensor.dtype)))
        if other is not None and other != name and other in uses:
            twins[name] = other
    return tuple(
        Node(node.op, (node.inputs[0], twins[node.inputs[1]]), node.output, node.tensor, (("transposed", 1),))
        if node.op == "matmul" and node.inputs[1] in twins and not node.attrs
        else node
        for node in nodes
    )
