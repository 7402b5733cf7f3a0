"""The steady state of a queue that never empties: output tokens per second at the largest batch that fits.

Every request pays its prompt once and its answer in steps shared by the batch. A limit on the time per token holds the
batch down. The time of a case is that of one output token over all replicas.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Final

import numpy as np

from pilots.cluster.costs import memory
from pilots.cluster.costs.serving import PRIOR as SERVING
from pilots.cluster.costs.serving import prompt_terms, read_bytes, step_terms
from pilots.cluster.costs.terms import Columns, Constants, Terms, Vector, table
from pilots.cluster.workloads import Case, Offline

MAX_BATCH: Final = 2048.0  # engines cap the sequences of a step
USABLE: Final = 0.95  # offline runs give the cache everything that is left
PRIOR: Final[dict[str, tuple[float, str]]] = {
    name: SERVING[name]
    for name in ("memory_share", "product_share", "attention_share", "reduce_s", "link_share", "step_s")
} | {
    "layer_s": (2e-6, "graphs of kernels leave little per layer; start value, fitted"),
    "fp4_share": (0.8, "share of the assumed FP4 rate; the catalogue has no FP4 measurement; fitted"),
    "sequence_s": (2e-6, "what the engine adds per step and sequence; start value, fitted"),
}
_NAMES: Final = (
    "gpus", "layers", "hidden", "batch", "prompt", "answer", "layer_params", "active_params", "read_bytes", "cache_bytes",
    "score_flops", "peak", "bandwidth", "link", "latency", "replicas", "limit", "fp4",
)  # fmt: skip


def columns(cases: Sequence[Case]) -> Columns:
    """Return the columns of steady states at the batch that memory allows."""
    return table(_NAMES, [_row(case) for case in cases])


def terms(given: Columns, constants: Constants) -> Terms:
    """Return the parts of the time of one output token."""
    given = dict(given) | {"peak": given["peak"] * np.where(given["fp4"] > 0, constants["fp4_share"], 1.0)}
    limited = dict(given) | {"batch": _batch(given, constants)}
    batch, answer = limited["batch"], limited["answer"]
    one = dict(limited) | {"batch": np.ones_like(batch)}
    first, each = prompt_terms(one, constants), step_terms(limited, constants)
    scale = 1 / given["replicas"]
    launch_scale = 1 / batch  # the prompts of a step share its launches
    return Terms(
        scale * (first.compute / answer + each.compute / batch),
        scale * each.mem_wall / batch,
        scale * (first.net_serialisation / answer + each.net_serialisation / batch),
        np.zeros_like(batch),
        scale * (first.launch * launch_scale / answer + each.launch / batch),
        scale * each.host / batch,
    )


def _batch(given: Columns, constants: Constants) -> Vector:
    """Return the batch: what fits, or less where a step with its share of prompts would take longer than the limit."""
    most = given["batch"]
    if not np.any(given["limit"] > 0):
        return most
    low, high = np.ones_like(most), most.copy()
    for _ in range(12):
        middle = np.sqrt(low * high)
        fits = (_token_seconds(given, constants, middle) <= given["limit"]) | (given["limit"] <= 0)
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.where(given["limit"] > 0, low, most)


def _token_seconds(given: Columns, constants: Constants, batch: Vector) -> Vector:
    changed = dict(given) | {"batch": batch}
    one = dict(given) | {"batch": np.ones_like(batch)}
    prompts = prompt_terms(one, constants)
    first = prompts.compute + prompts.net_serialisation
    return step_terms(changed, constants).seconds + first * batch / given["answer"]


def _row(case: Case) -> tuple[float, ...]:
    work, device, span = case.workload, case.device, case.span
    assert isinstance(work, Offline)
    shape = work.shape
    cache = memory.cache_bytes_per_token(shape, 1.0 if work.weights != "bf16" else memory.CACHE_BYTES)
    left = span.gpus * device.hbm_bytes * USABLE - memory.weight_bytes(shape, work.weights)
    batch = min(MAX_BATCH, max(1.0, left / (cache * (work.prompt + work.answer / 2))))
    return (
        float(span.gpus),
        float(shape.layers),
        float(shape.hidden),
        batch,
        work.prompt,
        work.answer,
        shape.layers * shape.layer_params(shape.chosen),
        shape.active_params,
        read_bytes(shape, batch, work.weights, one_input=False),
        cache,
        4.0 * shape.layers * shape.heads * shape.head_dim,
        device.best(work.weights),
        device.hbm_bytes_per_s,
        span.local_bytes_per_s,
        2 * log2(span.gpus) * span.latency_s,
        float(work.replicas),
        work.tpot_s,
        1.0 if work.weights == "fp4" else 0.0,
    )
