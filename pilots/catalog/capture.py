"""A capture as the model of a workload: what the file says, and which kernels of the emulator compute it."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from pilots.graph.capture import Captured, Example, from_bytes
from pilots.graph.capture.container import MAGIC
from pilots.graph.errors import GraphError
from pilots.graph.ir import Graph, Tensor, graph_signature, model_digest
from pilots.graph.mlp import array_size
from pilots.graph.porting import PortingReport, porting_report
from pilots.wafer.lowering import kernel_name
from qms.core.errors import CriterionNotMet
from qms.workloads.providers import ModelFacts

COMMAND: Final = "python -m pilots.graph capture"
MAX_LISTED: Final = 20  # inputs and outputs named in the facts, which every version of the content repeats
_ONNX_DE: Final = (
    "Eine ONNX-Datei enthält keine Beispieleingaben. Bitte zeichnen Sie das Modell mit „{command}“ auf "
    "und laden Sie die .wgraph-Datei hoch."
)
_EXAMPLE_DE: Final = (
    "Die Aufzeichnung enthält keine Beispieleingaben, mit denen sich die Rechnung vergleichen ließe. "
    "Bitte zeichnen Sie das Modell mit „{command}“ und Beispieleingaben neu auf."
)
_FRAMEWORK_DE: Final = "Die Aufzeichnung nennt nicht, aus welchem Framework sie stammt. Bitte zeichnen Sie das Modell mit „{command}“ neu auf."
_WEIGHTS_DE: Final = (
    "Die Aufzeichnung enthält nur die Form der Gewichte, nicht ihre Werte (zuerst: {name}). "
    "Bitte zeichnen Sie das Modell mit seinen Gewichten neu auf."
)


def read_model_file(data: bytes, filename: str) -> ModelFacts:
    """Return digest, facts and porting report of a capture; raises CriterionNotMet (G0-5) with one German sentence."""
    if filename.lower().endswith(".onnx") and not data.startswith(MAGIC):
        raise _refused(_ONNX_DE.format(command=COMMAND))
    captured, example = _opened(data)
    graph, report = captured.graph, _porting(captured)
    types = graph.tensors()
    counts = Counter(node.op for node in graph.nodes)
    facts = {
        "kind": "capture",
        "framework": report.framework,
        "version": report.version,
        "params": sum(array_size(item.tensor.shape) for item in graph.constants),
        "weight_bytes": report.weight_bytes,
        "dtype": ", ".join(sorted({item.tensor.dtype.value for item in graph.constants})),
        "inputs": _listed(dict(graph.inputs)),
        "outputs": _listed({name: types[name] for name in graph.outputs}),
        "ops": dict(sorted(counts.items())),
        "model_digest": model_digest(graph),
        "graph_signature": graph_signature(graph),
        "example": {"batch": _batch(graph, example), "inputs_sha256": example.inputs_sha256},
        "lineage": captured.lineage.to_json(),
        "open_links": list(captured.lineage.open_links),
    }
    return ModelFacts(model_digest(graph), facts, report.to_json())


def porting_of(data: bytes, *, capacity_bytes: int | None = None) -> PortingReport:
    """Return the porting report of a capture with the kernels of the emulator; raises CriterionNotMet (G0-5).

    capacity_bytes: memory for weights of one system.
    """
    return _porting(_read(data), capacity_bytes)


def _porting(captured: Captured, capacity_bytes: int | None = None) -> PortingReport:
    used = {node.op for node in captured.graph.nodes}
    used |= {op for row in captured.trail.rows for op in row.became}
    kernels = {op: kernel_name(op) for op in used}
    return porting_report(captured.trail, captured.graph, kernels=kernels, capacity_bytes=capacity_bytes)


def _opened(data: bytes) -> tuple[Captured, Example]:
    """Return a capture that can be run and compared: with its framework, its weights and an example."""
    captured = _read(data)
    missing = next((item.name for item in captured.graph.constants if not item.sha256), None)
    if missing is not None:
        raise _refused(_WEIGHTS_DE.format(name=missing))
    if captured.example is None:
        raise _refused(_EXAMPLE_DE.format(command=COMMAND))
    if not captured.trail.framework.strip():  # without one nothing would count as ported (G4-6)
        raise _refused(_FRAMEWORK_DE.format(command=COMMAND))
    return captured, captured.example


def _read(data: bytes) -> Captured:
    try:
        return from_bytes(data)
    except GraphError as error:
        raise _refused(error.message_de) from error


def _refused(sentence: str) -> CriterionNotMet:
    return CriterionNotMet(sentence, id="G0-5")


def _listed(values: dict[str, Tensor]) -> list[dict[str, Any]]:
    return [tensor.to_json() | {"name": name} for name, tensor in list(values.items())[:MAX_LISTED]]


def _batch(graph: Graph, example: Example) -> int | None:
    """Return the samples in the example, None where no input leaves their number open."""
    sizes = (example.inputs[name].shape[0] for name, tensor in graph.inputs if tensor.shape[0] is None)
    return next(sizes, None)
