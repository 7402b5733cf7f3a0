"""One form for graphs that are the same: moves that cancel, values made twice, formulas the table has a name for.

What a rule looks at never depends on the numbers of a weight: trained and fresh models have the same form.
"""

from __future__ import annotations

from collections.abc import Mapping

from pilots.graph.frontends.formulas import FORMULAS
from pilots.graph.frontends.maker import Maker
from pilots.graph.frontends.moves import MOVES
from pilots.graph.ir import Array, Constant, Graph, Node, array_sha256
from pilots.graph.spec import verify


def simplify(
    graph: Graph, weights: Mapping[str, Array], literals: Mapping[str, float], origins: Mapping[str, str]
) -> tuple[Graph, dict[str, Array]]:
    """Return the graph in its simple form and the weights it still needs. `literals`: constants of the formula; `origins`: the
    name a weight had, "" for numbers that were no weight.

    Raises GraphError.
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
    return result, {item.name: maker.weights[item.name] for item in kept}


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
