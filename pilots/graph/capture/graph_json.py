"""The graph of a capture as JSON and back. What is read is built anew, operation by operation, and so verified."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pilots.graph.builder import GraphBuilder
from pilots.graph.capture.errors import CaptureError, refuse
from pilots.graph.capture.limits import check
from pilots.graph.errors import GraphError
from pilots.graph.ir import SHAPE_ONLY, Array, Attr, Constant, DType, Graph, Shape, Tensor, model_digest
from pilots.graph.trail import MAX_TEXT, Origin, Trail

FORMAT: Final = "wgraph-1"
_NAME: Final = re.compile(r"[A-Za-z0-9_.:/+-]+", re.ASCII)
_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


def to_json(graph: Graph, trail: Trail) -> dict[str, Any]:
    """Return the object a capture holds; types of nodes are left out, they follow from the table of operations."""
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


def from_json(value: Any, weights: Mapping[str, tuple[Tensor, Array]]) -> tuple[Graph, Trail]:
    """Return graph and trail; every constant must agree with its weight. Raises CaptureError."""
    fields = _fields(value, "graph", "format inputs constants nodes outputs recipe trail model_digest")
    if fields["format"] != FORMAT:
        sentence = f"Die Datei ist keine Aufzeichnung der Fassung {FORMAT}; bitte neu erzeugen."
        raise refuse("FORMAT", "graph", FORMAT, fields["format"], sentence)
    inputs, constants = _list(fields, "inputs"), _list(fields, "constants")
    check("tensors", len(inputs) + len(constants), "graph")
    nodes = _list(fields, "nodes")
    check("nodes", len(nodes), "graph")
    try:
        graph = _built(inputs, constants, nodes, fields)
    except CaptureError:
        raise
    except (GraphError, TypeError) as error:
        sentence = getattr(error, "message_de", "Der Graph hat eine Angabe von unzulässiger Art.")
        sentence = f"Der Graph der Datei ist nicht zulässig: {sentence.replace('. (', ' (').rstrip('.')}."
        raise refuse(
            "GRAPH", getattr(error, "position", "graph"), "a legal graph", error, sentence
        ) from error
    _check_weights(graph, weights)
    if model_digest(graph) != fields["model_digest"]:
        sentence = "Die Prüfsumme des Graphen stimmt nicht; bitte die Datei neu erzeugen."
        raise refuse("DIGEST", "graph", str(fields["model_digest"]), model_digest(graph), sentence)
    return graph, _trail(fields["trail"])


def _built(inputs: list[Any], constants: list[Any], nodes: list[Any], fields: dict[str, Any]) -> Graph:
    builder = GraphBuilder()
    for index, item in enumerate(inputs):
        entry = _fields(item, f"input {index}", "name shape dtype")
        tensor = _tensor(entry, f"input {index}")
        builder.input(_name(entry["name"], f"input {index}"), tensor.shape, tensor.dtype)
    declared = []
    for index, item in enumerate(constants):
        entry = _fields(item, f"constant {index}", "name shape dtype sha256")
        tensor = _tensor(entry, f"constant {index}")
        name = _name(entry["name"], f"constant {index}")
        if None in tensor.shape:
            raise _dynamic(f"constant {index}", entry["shape"])
        builder.shape_only(name, tuple(size or 1 for size in tensor.shape), tensor.dtype)
        declared.append(Constant(name, tensor, _sha256(entry["sha256"], f"constant {index}")))
    for index, item in enumerate(nodes):
        _add_node(builder, item, f"node {index}")
    outputs = [_name(name, "outputs") for name in _list(fields, "outputs")]
    graph, _ = builder.build(*outputs, recipe=_recipe(fields["recipe"]))
    return Graph(graph.inputs, tuple(declared), graph.nodes, graph.outputs, graph.recipe)


def _add_node(builder: GraphBuilder, item: Any, position: str) -> None:
    entry = _fields(item, position, "op in out attrs")
    names = [_name(name, position) for name in _list(entry, "in")]
    check("inputs", len(names), position)
    if not isinstance(entry["op"], str) or not isinstance(entry["attrs"], dict):
        raise _wrong(position, "op and attrs", entry["op"])
    attrs: dict[str, Attr] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry["attrs"].items()
    }
    if set(attrs) & {"name", "op", "self"}:
        raise _wrong(position, "attributes of the operation", sorted(attrs))
    builder.op(entry["op"], *names, name=_name(entry["out"], position), **attrs)


def _check_weights(graph: Graph, weights: Mapping[str, tuple[Tensor, Array]]) -> None:
    known = {item.name: item for item in graph.constants if item.sha256 != SHAPE_ONLY}
    if set(known) != set(weights):
        odd = min(set(known) ^ set(weights))
        sentence = f"Graph und Gewichte gehören nicht zusammen: {odd} steht nur in einem von beiden."
        raise refuse("WEIGHTS", f"constant {odd}", "the same names", odd, sentence)
    for name, (tensor, _array) in weights.items():
        if known[name].tensor != tensor:
            sentence = f"Form oder Zahlentyp des Gewichts {name} widersprechen dem Graphen."
            raise refuse("WEIGHTS", f"constant {name}", str(known[name].tensor.to_json()), tensor, sentence)


def _trail(value: Any) -> Trail:
    fields = _fields(value, "trail", "framework version rows")
    rows = _list(fields, "rows")
    check("rows", len(rows), "trail")
    framework, version = (_text(fields[name], "trail") for name in ("framework", "version"))
    return Trail(framework, version, tuple(_origin(item) for item in rows))


def _origin(value: Any) -> Origin:
    fields = _fields(value, "trail", "op place became reason custom")
    if not isinstance(fields["custom"], bool):
        raise _wrong("trail", "true or false", fields["custom"])
    op, place, reason = (_text(fields[name], "trail") for name in ("op", "place", "reason"))
    became = _list(fields, "became")
    check("inputs", len(became), "trail")
    return Origin(op, place, tuple(_text(item, "trail") for item in became), reason, fields["custom"])


def _recipe(value: Any) -> tuple[tuple[str, str | int], ...]:
    legal = isinstance(value, list) and all(
        isinstance(item, list) and len(item) == 2 and type(item[0]) is str and type(item[1]) in {str, int}
        for item in value
    )
    if not legal or len(value) > 100:
        raise _wrong("recipe", "at most 100 pairs", value)
    return tuple((key, item) for key, item in value)


def _tensor(entry: dict[str, Any], position: str) -> Tensor:
    shape, dtype = entry["shape"], entry["dtype"]
    if dtype not in [item.value for item in DType]:
        sentence = f"Der Zahlentyp ist unbekannt ({position}); möglich sind: {', '.join(DType)}."
        raise refuse("DTYPE", position, ", ".join(DType), dtype, sentence)
    if not isinstance(shape, list):
        raise _wrong(position, "a list of sizes", shape)
    check("dimensions", len(shape), position)
    for index, size in enumerate(shape):
        if size is None and index > 0:
            raise _dynamic(position, shape)
        if size is not None and (type(size) is not int or size < 1):
            sentence = f"Die Form ist unzulässig ({position}); jede Größe ist eine ganze Zahl ab 1."
            raise refuse("SHAPE", position, "sizes from 1 on", shape, sentence)
    whole: Shape = tuple(shape)
    return Tensor(whole, DType(dtype))


def _fields(value: Any, position: str, names: str) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != set(names.split(" ")):
        raise _wrong(position, f"exactly {names}", sorted(value) if isinstance(value, dict) else value)
    return value


def _list(fields: dict[str, Any], name: str) -> list[Any]:
    value = fields[name]
    if not isinstance(value, list):
        raise _wrong(name, "a list", value)
    return value


def _name(value: Any, position: str) -> str:
    if isinstance(value, str):
        check("name", len(value), position)
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        sentence = f"Ein Name besteht aus Buchstaben, Ziffern und _.:/+- ({position})."
        raise refuse("NAME", position, _NAME.pattern, value, sentence)
    return value


def _text(value: Any, position: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT or not value.isprintable():
        raise _wrong(position, f"a printable text of at most {MAX_TEXT} characters", value)
    return value


def _sha256(value: Any, position: str) -> str:
    if not isinstance(value, str) or (value != SHAPE_ONLY and not _SHA256.fullmatch(value)):
        raise _wrong(position, "a SHA-256 in lower-case hexadecimal", value)
    return value


def _dynamic(position: str, got: object) -> CaptureError:
    sentence = f"Nur die erste Dimension eines Eingangs darf offen sein (Stapel), nicht bei {position}."
    return refuse("DYNAMIC", position, "known sizes but for the batch", got, sentence)


def _wrong(position: str, expected: str, got: object) -> CaptureError:
    sentence = f"Die Beschreibung des Graphen ist unvollständig oder falsch ({position}); bitte neu erzeugen."
    return refuse("FIELD", position, expected, got, sentence)
