"""The graph of a capture as JSON and back. What is read is built anew, operation by operation, and so verified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pilots.graph.builder import GraphBuilder
from pilots.graph.capture import fields as read
from pilots.graph.capture.errors import CaptureError, refuse
from pilots.graph.capture.limits import check
from pilots.graph.errors import GraphError
from pilots.graph.ir import SHAPE_ONLY, Array, Attr, Constant, Graph, Tensor, model_digest
from pilots.graph.lineage import MAX_VALUE, Lineage
from pilots.graph.trail import MAX_TEXT, Adaptation, Origin, Trail

FORMAT: Final = "wgraph-1"
_TOP: Final = "format inputs constants nodes outputs recipe trail model_digest example lineage"


def to_json(graph: Graph, trail: Trail) -> dict[str, Any]:
    """Return graph and trail of a capture; types of nodes are left out, they follow from the table of operations."""
    return {
        "format": FORMAT,
        "inputs": [tensor.to_json() | {"name": name} for name, tensor in graph.inputs],
        "constants": [
            item.tensor.to_json() | {"name": item.name, "sha256": item.sha256} for item in graph.constants
        ],
        "nodes": [
            {
                "op": node.op,
                "in": list(node.inputs),
                "out": node.output,
                "attrs": {name: list(item) if isinstance(item, tuple) else item for name, item in node.attrs},
            }
            for node in graph.nodes
        ],
        "outputs": list(graph.outputs),
        "recipe": [list(pair) for pair in graph.recipe],
        "trail": trail.to_json(),
        "model_digest": model_digest(graph),
    }


def from_json(value: Any, weights: Mapping[str, tuple[Tensor, Array]]) -> tuple[Graph, Trail, Lineage]:
    """Return graph, trail and lineage; every constant must agree with its weight. Raises CaptureError."""
    entry = read.fields(value, "graph", _TOP)
    if entry["format"] != FORMAT:
        sentence = f"Die Datei ist keine Aufzeichnung der Fassung {FORMAT}; bitte neu erzeugen."
        raise refuse("FORMAT", "graph", FORMAT, entry["format"], sentence)
    inputs, constants = read.items(entry, "inputs"), read.items(entry, "constants")
    check("tensors", len(inputs) + len(constants), "graph")
    nodes = read.items(entry, "nodes")
    check("nodes", len(nodes), "graph")
    try:
        graph = _built(inputs, constants, nodes, entry)
    except CaptureError:
        raise
    except (GraphError, TypeError) as error:
        raise _illegal(error) from error
    _check_weights(graph, weights)
    if model_digest(graph) != entry["model_digest"]:
        sentence = "Die Prüfsumme des Graphen stimmt nicht; bitte die Datei neu erzeugen."
        raise refuse("DIGEST", "graph", str(entry["model_digest"]), model_digest(graph), sentence)
    return graph, _trail(entry["trail"]), lineage_of(entry["lineage"])


def _illegal(error: GraphError | TypeError) -> CaptureError:
    """Return the error for a graph that breaks a rule of the table; texts of the file may be long, the sentence is not."""
    sentence = getattr(error, "message_de", "Der Graph hat eine Angabe von unzulässiger Art.")
    plain = "".join(item if item.isprintable() else "?" for item in sentence[:MAX_TEXT])
    whole = f"Der Graph der Datei ist nicht zulässig: {plain.replace('. (', ' (').rstrip('.')}."
    position = str(getattr(error, "position", "graph"))[:MAX_TEXT]
    return refuse("GRAPH", position, "a legal graph", error, whole)


def _built(inputs: list[Any], constants: list[Any], nodes: list[Any], fields: dict[str, Any]) -> Graph:
    builder = GraphBuilder()
    for index, item in enumerate(inputs):
        entry = read.fields(item, f"input {index}", "name shape dtype")
        tensor = read.tensor(entry, f"input {index}")
        builder.input(read.name(entry["name"], f"input {index}"), tensor.shape, tensor.dtype)
    declared = []
    for index, item in enumerate(constants):
        entry = read.fields(item, f"constant {index}", "name shape dtype sha256")
        tensor = read.tensor(entry, f"constant {index}")
        name = read.name(entry["name"], f"constant {index}")
        if None in tensor.shape:
            raise read.dynamic(f"constant {index}", entry["shape"])
        builder.shape_only(name, tuple(size or 1 for size in tensor.shape), tensor.dtype)
        declared.append(Constant(name, tensor, read.sha256(entry["sha256"], f"constant {index}")))
    for index, item in enumerate(nodes):
        _add_node(builder, item, f"node {index}")
    outputs = [read.name(name, "outputs") for name in read.items(fields, "outputs")]
    graph, _ = builder.build(*outputs, recipe=_recipe(fields["recipe"]))
    return Graph(graph.inputs, tuple(declared), graph.nodes, graph.outputs, graph.recipe)


def _add_node(builder: GraphBuilder, item: Any, position: str) -> None:
    entry = read.fields(item, position, "op in out attrs")
    names = [read.name(name, position) for name in read.items(entry, "in")]
    check("inputs", len(names), position)
    if not isinstance(entry["op"], str) or not isinstance(entry["attrs"], dict):
        raise read.wrong(position, "op and attrs", entry["op"])
    attrs: dict[str, Attr] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry["attrs"].items()
    }
    if set(attrs) & {"name", "op", "self"}:
        raise read.wrong(position, "attributes of the operation", sorted(attrs))
    builder.op(entry["op"], *names, name=read.name(entry["out"], position), **attrs)


def _check_weights(graph: Graph, weights: Mapping[str, tuple[Tensor, Array]]) -> None:
    known = {item.name: item for item in graph.constants if item.sha256 != SHAPE_ONLY}
    if set(known) != set(weights):
        odd = min(set(known) ^ set(weights))
        sentence = (
            f"Graph und Gewichte gehören nicht zusammen: {read.shown(odd)} steht nur in einem von beiden."
        )
        raise refuse("WEIGHTS", f"constant {odd}", "the same names", odd, sentence)
    for name, (tensor, _array) in weights.items():
        if known[name].tensor != tensor:
            sentence = f"Form oder Zahlentyp des Gewichts {name} widersprechen dem Graphen."
            raise refuse("WEIGHTS", f"constant {name}", str(known[name].tensor.to_json()), tensor, sentence)


def _trail(value: Any) -> Trail:
    fields = read.fields(value, "trail", "framework version rows adaptations")
    rows, adapted = read.items(fields, "rows"), read.items(fields, "adaptations")
    check("rows", len(rows) + len(adapted), "trail")
    framework, version = (read.text(fields[name], "trail") for name in ("framework", "version"))
    adaptations = tuple(_adaptation(item) for item in adapted)
    return Trail(framework, version, tuple(_origin(item) for item in rows), adaptations)


def _adaptation(value: Any) -> Adaptation:
    fields = read.fields(value, "adaptations", "what reason")
    return Adaptation(*(read.text(fields[name], "adaptations") for name in ("what", "reason")))


def _origin(value: Any) -> Origin:
    fields = read.fields(value, "trail", "op place became reason custom")
    if not isinstance(fields["custom"], bool):
        raise read.wrong("trail", "true or false", fields["custom"])
    op, place, reason = (read.text(fields[name], "trail") for name in ("op", "place", "reason"))
    became = read.items(fields, "became")
    check("inputs", len(became), "trail")
    return Origin(op, place, tuple(read.text(item, "trail") for item in became), reason, fields["custom"])


def lineage_of(value: Any) -> Lineage:
    """Return the lineage of a file; raises CaptureError."""
    fields = read.fields(value, "lineage", "commit data_sha256 seed registry environment")
    commit, seed, registry = (
        read.text(fields[name], f"lineage {name}", MAX_VALUE) for name in ("commit", "seed", "registry")
    )
    pairs = read.items(fields, "environment")
    check("environment", len(pairs), "lineage environment")
    environment = []
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise read.wrong("lineage environment", "pairs of name and release", pair)
        name, release = (read.text(item, "lineage environment", MAX_VALUE) for item in pair)
        environment.append((name, release))
    if environment != sorted(dict(environment).items()):
        raise read.wrong("lineage environment", "each name once, sorted", [name for name, _ in environment])
    data_sha256 = read.sha256(fields["data_sha256"], "lineage data_sha256")
    return Lineage(commit, data_sha256, seed, registry, tuple(environment))


def _recipe(value: Any) -> tuple[tuple[str, str | int], ...]:
    legal = isinstance(value, list) and all(
        isinstance(item, list) and len(item) == 2 and type(item[0]) is str and type(item[1]) in {str, int}
        for item in value
    )
    if not legal or len(value) > 100:
        raise read.wrong("recipe", "at most 100 pairs", value)
    return tuple((key, item) for key, item in value)
