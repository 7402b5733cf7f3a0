"""`inspect`: what a `.wgraph` or ONNX file holds, without running anything of it."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

from pilots.graph.capture import Captured, read
from pilots.graph.cli.capture import front_end
from pilots.graph.ir import graph_signature, model_digest
from pilots.graph.porting import porting_report, weight_bytes
from qms.core import canonical

HELP: Final = "Inhalt einer .wgraph- oder ONNX-Datei zeigen"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", type=Path, metavar="DATEI")
    parser.add_argument("--json", action="store_true", help="als JSON, mit dem Bericht über alle Operationen")


def execute(arguments: argparse.Namespace) -> int:
    """Write what the file holds and return 0; raises GraphError or OSError."""
    path: Path = arguments.file
    captured = front_end("onnx").capture(path) if path.suffix == ".onnx" else read(path)
    found = summary(captured)
    sys.stdout.write(canonical.dumps(found).decode() + "\n" if arguments.json else text(found))
    return 0


def summary(captured: Captured) -> dict[str, Any]:
    """Return counts, inputs, outputs, digests and the porting report of a capture."""
    graph = captured.graph
    types = graph.tensors()
    return {
        "framework": captured.trail.framework,
        "version": captured.trail.version,
        "inputs": [tensor.to_json() | {"name": name} for name, tensor in graph.inputs],
        "outputs": [types[name].to_json() | {"name": name} for name in graph.outputs],
        "weights": len(graph.constants),
        "weight_bytes": weight_bytes(graph),
        "ops": dict(sorted(Counter(node.op for node in graph.nodes).items())),
        "model_digest": model_digest(graph),
        "graph_signature": graph_signature(graph),
        "porting_report": porting_report(captured.trail, graph).to_json(),
    }


def text(found: dict[str, Any]) -> str:
    """Return the summary as lines for people."""
    source = f"{found['framework']} {found['version']}".strip() or "nicht angegeben"
    lines = [
        f"Herkunft       {source}",
        *(f"Eingang        {_value(item)}" for item in found["inputs"]),
        *(f"Ausgang        {_value(item)}" for item in found["outputs"]),
        f"Gewichte       {found['weights']} mit {found['weight_bytes']} Byte",
        f"Operationen    {sum(found['ops'].values())}",
        *(f"  {op:<20} {count}" for op, count in found["ops"].items()),
        f"Modell         {found['model_digest']}",
        f"Aufbau         {found['graph_signature']}",
    ]
    return "\n".join(lines) + "\n"


def _value(item: dict[str, Any]) -> str:
    sizes = " × ".join("Stapel" if size is None else str(size) for size in item["shape"])
    return f"{item['name']} {sizes} {item['dtype']}"
