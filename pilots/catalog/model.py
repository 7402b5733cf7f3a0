"""The model of a workload: what its text says, and the fingerprint of running it."""

from __future__ import annotations

from pilots.graph.errors import GraphError
from pilots.graph.fingerprint import fingerprint, seeded_dataset_hash
from pilots.graph.ir import Graph, Weights
from pilots.graph.mlp import describe, mlp_from_text
from qms.core.errors import CriterionNotMet
from qms.workloads.providers import ModelFacts

PRECISION_POLICY = "float32, Akkumulation float32"


def load_model(text: str) -> tuple[Graph, Weights]:
    """Return graph and weights of a model text such as "64-256-256-8"; raises CriterionNotMet (G0-5)."""
    try:
        return mlp_from_text(text)
    except GraphError as error:
        raise CriterionNotMet(error.message_de, id="G0-5") from error


def read_model(text: str) -> ModelFacts:
    """Return digest and facts of a model text; raises CriterionNotMet (G0-5)."""
    graph, _weights = load_model(text)
    summary = describe(graph)
    return ModelFacts(digest=summary.model_digest, facts=summary.to_json())


def workload_fingerprint(text: str, *, batch: int, seed: int) -> str:
    """Return the platform-free fingerprint of running this model on its seeded inputs (spec 3.7.3)."""
    graph, _weights = load_model(text)
    return fingerprint(
        graph,
        dataset_manifest_hash=seeded_dataset_hash(graph, inputs_seed=seed),
        batch_set=(batch,),
        precision_policy=PRECISION_POLICY,
        seed_policy=f"fester Startwert {seed}",
        request_profile="geschlossene Schleife, ein Stapel nach dem anderen",
    )
