"""What the measuring command runs: a model text with seeded samples, or a capture with its own example."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pilots.graph import capture
from pilots.graph.agreement import agreements
from pilots.graph.errors import refusal
from pilots.graph.fingerprint import batch_of, example_fingerprint, seeded_fingerprint
from pilots.graph.ir import Array, Graph, Weights, graph_signature, model_digest
from pilots.graph.mlp import input_samples, mlp_from_text
from qms.core import canonical

BATCH: Final = 32  # what the server runs a model text with, so that both have one fingerprint
SEED: Final = 1
MAX_BATCH: Final = 4096


@dataclass(frozen=True, slots=True)
class Source:
    """Which model: a text with batch and seed, or the path of a capture."""

    text: str = ""
    path: str = ""
    batch: int = BATCH
    seed: int = SEED

    def to_json(self) -> dict[str, Any]:
        """Return the form a process of a repetition is told."""
        return {"text": self.text, "path": self.path, "batch": self.batch, "seed": self.seed}

    def load(self) -> MeasuredModel:
        """Return the model ready to run; raises GraphError, OSError."""
        return _of_capture(Path(self.path)) if self.path else _of_text(self)


@dataclass(frozen=True, slots=True)
class MeasuredModel:
    """Graph, weights and the inputs of one request; `facts` is what a result says of them."""

    graph: Graph
    weights: Weights
    inputs: dict[str, Array]
    batch: int
    facts: dict[str, Any]


def _of_text(source: Source) -> MeasuredModel:
    if not 1 <= source.batch <= MAX_BATCH:
        sentence = f"Die Stapelgröße liegt außerhalb von 1 bis {MAX_BATCH}."
        raise refusal("BATCH", "batch", f"1..{MAX_BATCH}", str(source.batch), sentence)
    graph, weights = mlp_from_text(source.text)
    name = graph.inputs[0][0]
    inputs = {name: input_samples(graph, inputs_seed=source.seed, batch=source.batch)}
    mark = seeded_fingerprint(graph, batch=source.batch, seed=source.seed)
    origin = {"kind": "MODELLTEXT", "text": source.text, "seed": source.seed, "file_sha256": ""}
    return MeasuredModel(
        graph, weights, inputs, source.batch, _facts(graph, source.batch, mark) | {"source": origin}
    )


def _of_capture(path: Path) -> MeasuredModel:
    data = path.read_bytes()
    captured = capture.from_bytes(data)
    example = captured.example
    missing = next((item.name for item in captured.graph.constants if not item.sha256), None)
    if example is None or missing is not None:
        sentence = (
            "Die Aufzeichnung enthält keine Beispieleingaben oder keine Gewichte; bitte zeichnen Sie das Modell mit beiden "
            "neu auf."
        )
        raise refusal("NO_EXAMPLE", "capture", "an example and weights", str(missing), sentence)
    wrong = [row.name for row in agreements(captured) if not row.within]
    if wrong:
        sentence = (
            f"Nicht gemessen: Die Rechnung hier weicht bei {', '.join(wrong)} stärker vom Framework ab, als POL-06 erlaubt. "
            "Bitte zeichnen Sie das Modell neu auf."
        )
        raise refusal("DISAGREES", "capture", "outputs within POL-06", ", ".join(wrong), sentence)
    batch = batch_of(captured.graph, example.inputs)
    mark = example_fingerprint(captured.graph, batch=batch, inputs_sha256=example.inputs_sha256)
    origin = {"kind": "AUFZEICHNUNG", "text": "", "seed": None, "file_sha256": canonical.sha256_hex(data)}
    facts = _facts(captured.graph, batch, mark) | {"source": origin}
    return MeasuredModel(captured.graph, captured.weights, example.inputs, batch, facts)


def _facts(graph: Graph, batch: int, mark: str) -> dict[str, Any]:
    return {
        "fingerprint": mark,
        "model_digest": model_digest(graph),
        "graph_signature": graph_signature(graph),
        "batch": batch,
    }
