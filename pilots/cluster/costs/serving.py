"""Serving a language model: a prompt, one step of answers, a whole batch, and the steady state of a full queue.

Constants belong to an engine of one version. A step takes the larger of reading the weights and multiplying with them,
then the attention over the cache, two all-reduces a layer, and what the engine adds per layer, step and sequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Final

import numpy as np

from pilots.cluster.costs.terms import Columns, Constants, Terms, Vector, ring, roofline, table
from pilots.cluster.device import ITEM_BYTES
from pilots.cluster.shapes import Shape
from pilots.cluster.workloads import Case, StaticBatch

PRIOR: Final[dict[str, tuple[float, str]]] = {
    "memory_share": (0.75, "cluster.md section 2: 0.70 on one H100 type"),
    "product_share": (0.5, "share of the dense peak in large products; start value, fitted"),
    "attention_share": (0.02, "share of the dense peak of attention over a cache; start value, fitted"),
    "layer_s": (5e-6, "cluster.md section 2: 9.9 us per layer; start value, fitted"),
    "reduce_s": (1.5e-5, "cluster.md section 2: floor of a small all-reduce 33.7 us; start value, fitted"),
    "link_share": (0.5, "share of link bandwidth of an all-reduce; start value, fitted"),
    "step_s": (5e-4, "what the engine adds per step; start value, fitted"),
    "sequence_s": (2e-5, "what the engine adds per step and sequence; start value, fitted"),
}
# In batches of copies of one input every token chooses the same experts; which engines were measured so.
ONE_INPUT: Final = ("TensorRT-LLM 2024",)
_NAMES: Final = (
    "gpus", "layers", "hidden", "batch", "prompt", "answer", "layer_params", "active_params", "read_bytes", "cache_bytes",
    "score_flops", "peak", "bandwidth", "link", "latency",
)  # fmt: skip


def columns(cases: Sequence[Case]) -> Columns:
    """Return the columns of static batches."""
    return table(_NAMES, [_row(case) for case in cases])


def terms(given: Columns, constants: Constants) -> Terms:
    """Return the parts of the time from the first prompt to the last token."""
    first, each = prompt_terms(given, constants), step_terms(given, constants)
    count = given["answer"]
    parts = [
        first_part + count * each_part
        for first_part, each_part in zip(_parts(first), _parts(each), strict=True)
    ]
    return Terms(*parts)


def prompt_terms(given: Columns, constants: Constants) -> Terms:
    """Return the parts of reading the prompts of a batch."""
    gpus, layers = given["gpus"], given["layers"]
    tokens = given["batch"] * given["prompt"]
    flops = 2 * given["layer_params"] * tokens + given["score_flops"] * tokens * given["prompt"] / 2
    compute = flops / (gpus * given["peak"] * constants["product_share"])
    nothing = np.zeros_like(compute)
    network = 2 * layers * _reduce(given, constants, tokens)
    return Terms(compute, nothing, network, nothing, layers * constants["layer_s"], nothing)


def step_terms(given: Columns, constants: Constants) -> Terms:
    """Return the parts of one step of a batch at the mean length of its contexts."""
    gpus, batch, layers = given["gpus"], given["batch"], given["layers"]
    context = given["prompt"] + given["answer"] / 2
    bandwidth = given["bandwidth"] * constants["memory_share"] * gpus
    arithmetic = 2 * given["active_params"] * batch / (gpus * given["peak"] * constants["product_share"])
    compute, wall = roofline(arithmetic, given["read_bytes"] / bandwidth)
    scores = batch * context * given["score_flops"] / (gpus * given["peak"] * constants["attention_share"])
    wall = wall + batch * context * given["cache_bytes"] / bandwidth
    network = 2 * layers * _reduce(given, constants, batch)
    host = constants["step_s"] + constants["sequence_s"] * batch
    launch = layers * constants["layer_s"]
    return Terms(compute + scores, wall, network, np.zeros_like(host), launch, host)


def _reduce(given: Columns, constants: Constants, rows: Vector) -> Vector:
    floor = constants["reduce_s"] + given["latency"]
    return ring(2.0 * rows * given["hidden"], given["gpus"], given["link"] * constants["link_share"], floor)


def _parts(given: Terms) -> tuple[Vector, ...]:
    return (
        given.compute,
        given.mem_wall,
        given.net_serialisation,
        given.bubble,
        given.launch,
        given.host,
    )


def read_bytes(shape: Shape, batch: float, weights: str, *, one_input: bool) -> float:
    """Return the bytes of weights one step reads: of the experts those that any sequence chooses."""
    experts = float(shape.chosen) if one_input else shape.touched_experts(batch)
    return ITEM_BYTES[weights] * (shape.layers * shape.layer_params(experts) + shape.head_params)


def _row(case: Case) -> tuple[float, ...]:
    work, device, span = case.workload, case.device, case.span
    assert isinstance(work, StaticBatch)
    shape = work.shape
    return (
        float(span.gpus),
        float(shape.layers),
        float(shape.hidden),
        float(work.batch),
        float(work.prompt),
        float(work.answer),
        shape.layers * shape.layer_params(shape.chosen),
        shape.active_params,
        read_bytes(shape, work.batch, work.weights, one_input=case.stack in ONE_INPUT),
        2.0 * shape.layers * shape.kv_values,
        4.0 * shape.layers * shape.heads * shape.head_dim,
        device.peak(work.weights),
        device.hbm_bytes_per_s,
        span.local_bytes_per_s,
        2 * log2(span.gpus) * span.latency_s,
    )
