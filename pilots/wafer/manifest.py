"""The run manifest: canonical JSON with all that is needed to compute an emulated run again, and its result digest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pilots.graph.ir import Array, Graph, array_sha256, graph_signature, model_digest
from pilots.wafer.costs.constants import calibration_sha256
from pilots.wafer.machine import Machine
from pilots.wafer.predict import Prediction
from pilots.wafer.program import Program
from qms.core import canonical

EMULATOR_VERSION: Final = "0.2.0"
MANIFEST_FORMAT: Final = "wafer-manifest-3"
DIGESTED: Final = ("program_digest", "inputs", "prediction", "result")


def manifest(
    graph: Graph, program: Program, machine: Machine, prediction: Prediction, parts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the manifest with its digest; parts: model, kernels, inputs and result, which differ by kind of model."""
    content: dict[str, Any] = {
        "format": MANIFEST_FORMAT,
        "emulator_version": EMULATOR_VERSION,
        "calibration_sha256": calibration_sha256(),
        "machine": {"id": machine.id, "sha256": machine.sha256()},
        "model_digest": model_digest(graph),
        "graph_signature": graph_signature(graph),
        "program_digest": program.digest(),
        "prediction": prediction.to_json(),
        **parts,
    }
    return content | {"result_digest": canonical.digest({key: content[key] for key in DIGESTED})}


def samples_result(outputs: Array) -> dict[str, Any]:
    """Return what a manifest says about the one output of seeded samples."""
    return {
        "outputs_sha256": array_sha256(outputs),
        "shape": list(outputs.shape),
        "dtype": outputs.dtype.name,
    }


def named_result(graph: Graph, outputs: Mapping[str, Array]) -> dict[str, Any]:
    """Return what a manifest says about the outputs of a capture, in the order of the graph."""
    types = graph.tensors()
    rows = [
        {
            "name": name,
            "shape": list(array.shape),
            "dtype": types[name].dtype.value,
            "sha256": array_sha256(array, types[name].dtype),
        }
        for name, array in outputs.items()
    ]
    return {"outputs": rows}
