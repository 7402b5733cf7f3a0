"""The workload fingerprint (spec 3.7.3): the same on every platform that runs the same workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pilots.graph.ir import Array, Graph, graph_signature, model_digest
from qms.core import canonical

LOOP: Final = "geschlossene Schleife, ein Stapel nach dem anderen"


def fingerprint(
    graph: Graph,
    *,
    dataset_manifest_hash: str,
    batch_set: tuple[int, ...],
    precision_policy: str,
    seed_policy: str,
    request_profile: str,
) -> str:
    """Return the SHA-256 over the platform-free description of a workload; batch sizes are sorted first."""
    return canonical.digest(
        {
            "model_digest": model_digest(graph),
            "graph_signature": graph_signature(graph),
            "dataset_manifest_hash": dataset_manifest_hash,
            "batch_set": sorted(set(batch_set)),
            "precision_policy": precision_policy,
            "seed_policy": seed_policy,
            "request_profile": request_profile,
        }
    )


def seeded_dataset_hash(graph: Graph, *, inputs_seed: int) -> str:
    """Return the manifest hash of the seeded input streams used as data set (generator, seed, shapes, types)."""
    streams = [{"stream": name, "type": tensor.to_json()} for name, tensor in graph.inputs]
    source = {"generator": "splitmix64-uniform-1", "seed": inputs_seed}
    return canonical.digest(source | (streams[0] if len(streams) == 1 else {"streams": streams}))


def seeded_fingerprint(graph: Graph, *, batch: int, seed: int) -> str:
    """Return the fingerprint of running a graph on `batch` seeded samples, one batch after the other."""
    data = seeded_dataset_hash(graph, inputs_seed=seed)
    return _in_a_loop(graph, data=data, batch=batch, seeds=f"fester Startwert {seed}")


def example_fingerprint(graph: Graph, *, batch: int, inputs_sha256: str) -> str:
    """Return the fingerprint of running a capture on its own example (ADR 0112)."""
    return _in_a_loop(graph, data=inputs_sha256, batch=batch, seeds="feste Beispieleingaben")


def batch_of(graph: Graph, inputs: Mapping[str, Array]) -> int:
    """Return how many samples the inputs hold: the size of the open dimension, 1 where every size is fixed."""
    opened = (len(inputs[name]) for name, tensor in graph.inputs if tensor.shape[0] is None)
    return next(opened, 1)


def _in_a_loop(graph: Graph, *, data: str, batch: int, seeds: str) -> str:
    return fingerprint(
        graph,
        dataset_manifest_hash=data,
        batch_set=(batch,),
        precision_policy=f"{graph.dtype.value}, Akkumulation float32",
        seed_policy=seeds,
        request_profile=LOOP,
    )
