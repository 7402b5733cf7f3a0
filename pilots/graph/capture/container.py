"""The file `.wgraph`: magic, length and SHA-256 of the graph, the graph as canonical JSON, all arrays as safetensors.

bytes 0..7    WGRAPH1 and a line feed
bytes 8..15   length of the graph in bytes, little endian
bytes 16..47  SHA-256 of the graph
then          the graph (canonical JSON, RFC 8785), then safetensors to the end of the file
Each weight and each array of the example is covered by its SHA-256 in the graph, so every byte is covered by one check.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pilots.graph.capture import example as examples
from pilots.graph.capture import graph_json, tensors
from pilots.graph.capture.errors import refuse
from pilots.graph.capture.example import Example
from pilots.graph.capture.limits import LIMITS, check
from pilots.graph.ir import Array, Graph, Weights, array_sha256
from pilots.graph.lineage import Lineage
from pilots.graph.spec import verify
from pilots.graph.trail import Trail
from qms.core import canonical

__all__ = ["MAGIC", "Captured", "Example", "Lineage", "from_bytes", "read", "to_bytes"]

MAGIC: Final = b"WGRAPH1\n"
_START: Final = 48


@dataclass(frozen=True, slots=True)
class Captured:
    """A graph with its weights by constant name, where it came from, and what the framework computed of an example."""

    graph: Graph
    weights: dict[str, Array]
    trail: Trail = field(default_factory=Trail)
    example: Example | None = None
    lineage: Lineage = field(default_factory=Lineage)


def to_bytes(captured: Captured) -> bytes:
    """Return the file of a verified graph; the same capture gives the same bytes. Raises GraphError, CaptureError."""
    graph, weights, example = captured.graph, captured.weights, captured.example
    shape_only = [item for item in graph.constants if not item.sha256]
    verify(graph, None if shape_only else weights)
    if example is not None:
        examples.verify(graph, example)
    lineage = graph_json.lineage_of(captured.lineage.to_json()).to_json()
    listed = {item.name: (item.tensor, weights[item.name]) for item in graph.constants if item.sha256}
    described = graph_json.to_json(graph, captured.trail)
    described |= {"example": examples.to_json(graph, example), "lineage": lineage}
    text = canonical.dumps(described)
    check("graph_bytes", len(text), "graph")
    data = MAGIC + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest() + text
    data += tensors.write(listed | examples.stored(graph, example))
    check("file_bytes", len(data), "file")
    return data


def from_bytes(data: bytes) -> Captured:
    """Return what a file holds, all of it verified; raises CaptureError with one German sentence."""
    check("file_bytes", len(data), "file")
    if data[: len(MAGIC)] != MAGIC:
        sentence = (
            "Die Datei ist keine Aufzeichnung eines Graphen (.wgraph); bitte die richtige Datei wählen."
        )
        raise refuse("MAGIC", "file", repr(MAGIC), data[:8], sentence)
    size = int.from_bytes(data[8:16], "little")
    check("graph_bytes", size, "graph")
    if len(data) < _START + size:
        raise refuse("TRUNCATED", "graph", f"{_START + size} bytes", len(data), tensors.TRUNCATED_DE)
    text = data[_START : _START + size]
    if hashlib.sha256(text).digest() != data[16:_START]:
        sentence = "Die Prüfsumme des Graphen stimmt nicht; die Datei ist beschädigt."
        raise refuse("GRAPH_HASH", "graph", data[16:_START].hex(), hashlib.sha256(text).hexdigest(), sentence)
    value = tensors.parse(text, "graph", "Die Beschreibung des Graphen")
    if canonical.dumps(value) != text:
        sentence = "Die Beschreibung des Graphen steht nicht in der festgelegten Schreibweise."
        raise refuse("NOT_CANONICAL", "graph", "canonical JSON", text[:60], sentence)
    arrays = tensors.read(memoryview(data)[_START + size :])
    weights = {name: item for name, item in arrays.items() if not name.startswith(examples.PREFIX)}
    graph, trail, lineage = graph_json.from_json(value, weights)
    _check_hashes(graph, {name: array for name, (_, array) in weights.items()})
    order = [item.name for item in graph.constants if item.sha256]
    if list(arrays)[: len(weights)] != order:
        sentence = "Die Gewichte stehen nicht in der Reihenfolge des Graphen; bitte die Datei neu erzeugen."
        raise refuse("ORDER", "weights", "the order of the constants", list(weights)[:3], sentence)
    rest = {name: item for name, item in arrays.items() if name not in weights}
    example = examples.from_json(value["example"], graph, rest)
    return Captured(graph, {name: array for name, (_, array) in weights.items()}, trail, example, lineage)


def read(path: Path) -> Captured:
    """Return what the file at `path` holds; never reads more than a capture may have. Raises CaptureError, OSError."""
    with path.open("rb") as file:
        return from_bytes(file.read(LIMITS["file_bytes"].most + 1))


def _check_hashes(graph: Graph, weights: Weights) -> None:
    for item in graph.constants:
        actual = array_sha256(weights[item.name], item.tensor.dtype) if item.sha256 else item.sha256
        if actual != item.sha256:
            sentence = f"Die Prüfsumme des Gewichts {item.name} stimmt nicht; die Datei ist beschädigt."
            raise refuse("WEIGHT_HASH", f"constant {item.name}", item.sha256, actual, sentence)
