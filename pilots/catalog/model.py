"""The model of a workload: its text or its capture, the inputs it runs on, and the fingerprint of running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pilots.graph.capture import Captured, Example, from_bytes
from pilots.graph.errors import GraphError
from pilots.graph.fingerprint import batch_of, example_fingerprint, seeded_fingerprint
from pilots.graph.ir import Array, Graph, Weights
from pilots.graph.lineage import Lineage
from pilots.graph.mlp import describe, input_samples, mlp_from_text
from pilots.graph.trail import Trail
from qms.core import store
from qms.core.errors import CriterionNotMet
from qms.workloads.providers import ModelFacts


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far outputs may differ (POL-06): relative to the largest value by element type, 16 bit also by direction."""

    fp32_rtol: float
    bit16_rtol: float
    bit16_cosine_min: float


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """Graph and weights of a run. A capture has an example and its file's SHA-256; a text has neither."""

    graph: Graph
    weights: Weights
    example: Example | None = None
    trail: Trail = field(default_factory=Trail)
    lineage: Lineage = field(default_factory=Lineage)
    file_sha256: str = ""

    def inputs(self, parameters: Mapping[str, Any], count: str) -> dict[str, Array]:
        """Return the inputs by name: those of the example, or as many seeded samples as the parameter `count` says."""
        if self.example is not None:
            return self.example.inputs
        samples = input_samples(self.graph, inputs_seed=parameters["seed"], batch=parameters[count])
        return {self.graph.inputs[0][0]: samples}

    def batch(self, parameters: Mapping[str, Any], count: str) -> int:
        """Return how many samples one request holds: those of the example, or the parameter `count`."""
        return int(parameters[count]) if self.example is None else batch_of(self.graph, self.example.inputs)


def load_model(parameters: Mapping[str, Any]) -> LoadedModel:
    """Return the model that the parameters of a run name; raises CriterionNotMet (G0-5) with one German sentence."""
    sha256 = parameters.get("model_file_sha256", "")
    if not sha256:
        return LoadedModel(*_from_text(parameters["model_text"]))
    captured, example = _captured(sha256)
    return LoadedModel(
        captured.graph, captured.weights, example, captured.trail, captured.lineage, file_sha256=sha256
    )


def read_model(text: str) -> ModelFacts:
    """Return digest and facts of a model text; raises CriterionNotMet (G0-5)."""
    graph, _weights = _from_text(text)
    summary = describe(graph)
    return ModelFacts(digest=summary.model_digest, facts=summary.to_json())


def workload_fingerprint(model: LoadedModel, parameters: Mapping[str, Any]) -> str:
    """Return the platform-free fingerprint of running this model on its inputs (spec 3.7.3); parameters of the run."""
    batch = model.batch(parameters, "batch")
    if model.example is None:
        return seeded_fingerprint(model.graph, batch=batch, seed=parameters["seed"])
    return example_fingerprint(model.graph, batch=batch, inputs_sha256=model.example.inputs_sha256)


def stored_file(sha256: str) -> bytes:
    """Return the bytes of a stored model file; raises CriterionNotMet (G0-5) if it is missing or was changed."""
    try:
        return store.get(sha256)
    except store.StoredFileMissing as error:
        sentence = (
            "Die Modelldatei fehlt im Speicher dieser Installation. Bitte laden Sie die Datei erneut hoch."
        )
        raise CriterionNotMet(sentence, id="G0-5") from error
    except store.StoredFileChanged as error:
        sentence = (
            "Die gespeicherte Modelldatei wurde verändert: Ihre Prüfsumme stimmt nicht mehr. "
            "Bitte informieren Sie das Qualitätsmanagement und laden Sie die Datei erneut hoch."
        )
        raise CriterionNotMet(sentence, id="G0-5") from error


def _from_text(text: str) -> tuple[Graph, Weights]:
    try:
        return mlp_from_text(text)
    except GraphError as error:
        raise CriterionNotMet(error.message_de, id="G0-5") from error


def _captured(sha256: str) -> tuple[Captured, Example]:
    try:
        captured = from_bytes(stored_file(sha256))
    except GraphError as error:
        raise CriterionNotMet(error.message_de, id="G0-5") from error
    if captured.example is None:
        sentence = "Die Aufzeichnung enthält keine Beispieleingaben. Bitte zeichnen Sie das Modell mit Beispieleingaben neu auf."
        raise CriterionNotMet(sentence, id="G0-5")
    return captured, captured.example
