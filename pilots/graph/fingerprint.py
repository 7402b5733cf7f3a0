"""The workload fingerprint (spec 3.7.3): the same on every platform that runs the same workload."""

from __future__ import annotations

from pilots.graph.ir import Graph, graph_signature, model_digest
from qms.core import canonical


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
