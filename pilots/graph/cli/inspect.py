"""`inspect`: what a `.wgraph` or ONNX file holds, without running anything of it."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

from pilots.graph.capture import Captured, read
from pilots.graph.cli.capture import adapted
from pilots.graph.cli.factory import front_end
from pilots.graph.command_line import USAGE_ERROR
from pilots.graph.frontends.errors import UnsupportedModel
from pilots.graph.ir import Array, Tensor, graph_signature, model_digest
from pilots.graph.porting import byte_text, porting_report, weight_bytes
from qms.core import canonical

HELP: Final = "Inhalt einer .wgraph- oder ONNX-Datei zeigen"
NOT_STATED_DE: Final = "nicht angegeben"
NO_EXAMPLE_DE: Final = "fehlt; für ein Modell eines Workloads bitte ohne --no-example neu aufzeichnen"
ORIGIN_DE: Final = {
    "commit": "Quellstand",
    "data_sha256": "Datensatz",
    "seed": "Startwert",
    "registry": "Verzeichnis",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", type=Path, metavar="DATEI")
    parser.add_argument("--json", action="store_true", help="als JSON, mit dem Bericht über alle Operationen")


def execute(arguments: argparse.Namespace) -> int:
    """Write what the file holds and return 0; of an ONNX file that is not supported the report, and return 2.

    Raises GraphError or OSError.
    """
    path: Path = arguments.file
    try:
        captured = front_end("onnx").capture(path, example=False) if path.suffix == ".onnx" else read(path)
    except UnsupportedModel as error:
        found = {"porting_report": porting_report(error.trail, None).to_json()}
        lines, code = coverage(found["porting_report"]), USAGE_ERROR
    else:
        found = summary(captured)
        lines, code = text(found), 0
    sys.stdout.write((canonical.dumps(found).decode() if arguments.json else "\n".join(lines)) + "\n")
    return code


def summary(captured: Captured) -> dict[str, Any]:
    """Return counts, inputs, outputs, digests, example, lineage and the porting report of a capture."""
    graph, example = captured.graph, captured.example
    types = graph.tensors()
    shapes = None
    if example is not None:
        shapes = {
            "inputs": _shapes(example.inputs, types),
            "outputs": _shapes(example.outputs, types),
            "inputs_sha256": example.inputs_sha256,
        }
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
        "example": shapes,
        "lineage": captured.lineage.to_json() | {"open_links": list(captured.lineage.open_links)},
        "porting_report": porting_report(captured.trail, graph).to_json(),
    }


def text(found: dict[str, Any]) -> list[str]:
    """Return the summary as lines for people."""
    source = f"{found['framework']} {found['version']}".strip() or NOT_STATED_DE
    example, lineage = found["example"], found["lineage"]
    software = ", ".join(" ".join(pair) for pair in lineage["environment"]) or NOT_STATED_DE
    return [
        _line("Herkunft", source),
        *(_line("Eingang", _value(item)) for item in found["inputs"]),
        *(_line("Ausgang", _value(item)) for item in found["outputs"]),
        _line("Gewichte", f"{found['weights']} mit {byte_text(found['weight_bytes'])}"),
        _line("Operationen", f"{sum(found['ops'].values())} im Graphen"),
        *(f"  {op:<20} {count}" for op, count in found["ops"].items()),
        _line("Modell", found["model_digest"]),
        _line("Aufbau", found["graph_signature"]),
        *coverage(found["porting_report"]),
        *(_line("Beispiel", item) for item in (_example(example) if example else [NO_EXAMPLE_DE])),
        *(_line(label, lineage[name] or NOT_STATED_DE) for name, label in ORIGIN_DE.items()),
        _line("Software", software),
    ]


def coverage(report: dict[str, Any]) -> list[str]:
    """Return how much of a model is translated, and every place of what is not, with its reason."""
    total, missing = report["total_ops"], report["unsupported_ops"]
    share = f"{total - missing} von {total} Operationen des Frameworks übersetzt"
    if report["provenance"]:
        share += f"; {report['provenance']}"
    return [
        _line("Abdeckung", share),
        *(
            f"  {item['op']} ({', '.join(item['places']) or 'ohne Ort'}), {item['count']}-mal: {item['reason']}"
            for item in report["operations"]
            if item["reason"]
        ),
        *adapted(report["adaptations"]),
    ]


def _example(example: dict[str, Any]) -> list[str]:
    rows = [*example["inputs"], *example["outputs"]]
    return [*(_value(item) for item in rows), f"Prüfsumme der Eingaben {example['inputs_sha256']}"]


def _shapes(arrays: dict[str, Array], types: dict[str, Tensor]) -> list[dict[str, Any]]:
    return [
        {"name": name, "shape": list(array.shape), "dtype": types[name].dtype.value}
        for name, array in arrays.items()
    ]


def _line(label: str, value: str) -> str:
    return f"{label:<14} {value}"


def _value(item: dict[str, Any]) -> str:
    sizes = " × ".join("Stapel" if size is None else str(size) for size in item["shape"])
    return f"{item['name']} {sizes} {item['dtype']}"
