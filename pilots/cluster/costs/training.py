"""One optimiser step: products, attention and pointwise traffic of every layer, tensor, pipeline and data parallelism.

Backward takes twice the forward; what is recomputed comes on top. Exposed communication of data parallelism is a fitted
share of the whole, which must not depend on memory bandwidth (S008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pilots.cluster.costs.terms import Columns, Constants, Terms, Vector, ring, table
from pilots.cluster.workloads import Case, Step

PRIOR: Final[dict[str, tuple[float, str]]] = {
    "product_share": (0.9, "share of the best measured product (gpu.json mamf_*); start value, fitted"),
    "width": (200.0, "width of a model at which products reach half their rate; start value, fitted"),
    "pointwise_bytes": (90.0, "bytes moved per token and feature of a layer forward; start value, fitted"),
    "score_bytes": (10.0, "bytes moved per score without flash attention; start value, fitted"),
    "attention_share": (
        0.45,
        "share of the dense peak of flash attention before Hopper; start value, fitted",
    ),
    "attention_share_hopper": (0.25, "the same from Hopper on; start value, fitted"),
    "reduce_s": (2e-5, "floor of an all-reduce; cluster.md section 2"),
    "link_share": (0.7, "share of link bandwidth of an all-reduce; start value, fitted"),
    "exposed_share": (0.4, "share of the traffic of data parallelism that computing does not hide; fitted"),
    "gather_s": (4e-6, "exposed latency per layer, pass and data-parallel rank of sharded weights; fitted"),
    "layer_s": (4e-5, "what a layer adds per pass; start value, fitted"),
    "fp8_gain": (0.8, "share of the FP8 rate that layers in FP8 reach against 16 bit; start value, fitted"),
}
MEMORY_SHARE: Final = 0.85  # streaming reads and writes; the fitted bytes carry the rest
OPTIMISER_BYTES: Final = 28.0  # per parameter: states read and written, gradients read, weights written
UNFLASHED_SHARE: Final = 0.6  # batched products of scores without flash attention, share of the peak
_NAMES: Final = (
    "layers", "hidden", "vocab", "params", "layer_params", "query_width", "tokens", "sequence", "rounds", "tensor", "pipeline", "data", "interleave", "again",
    "scores_again", "pointwise_share", "sharded", "flash", "score_width", "fp8", "hopper", "peak", "best", "bandwidth", "link",
    "remote", "latency", "per_node",
)  # fmt: skip


def columns(cases: Sequence[Case]) -> Columns:
    """Return the columns of training steps."""
    return table(_NAMES, [_row(case) for case in cases])


def terms(given: Columns, constants: Constants) -> Terms:
    """Return the parts of a step on the slowest stage."""
    share = given["layers"] / given["pipeline"]  # layers of one stage
    products, scores, wall = _forward(given, constants)
    passes = 3 + given["again"]
    compute = share * (passes * products + (passes + given["scores_again"]) * scores)
    wall = share * (passes + given["scores_again"] * 0.5) * wall
    head = 6 * given["tokens"] * given["hidden"] * given["vocab"] / given["tensor"] / given["pipeline"]
    compute = compute + head / (given["best"] * constants["product_share"])
    reduced = 2 * ring(
        2 * given["tokens"] * given["hidden"],
        given["tensor"],
        given["link"] * constants["link_share"],
        constants["reduce_s"] + given["latency"],
    )
    network = share * (2 + given["again"]) * reduced
    launch = share * passes * constants["layer_s"]
    per_round = compute + wall + network + launch
    bubble = (given["pipeline"] - 1) / given["interleave"] * per_round
    rounds = given["rounds"]
    optimiser = _shard(given) * OPTIMISER_BYTES / (given["bandwidth"] * MEMORY_SHARE)
    exposed = constants["exposed_share"] * _data_parallel(given, constants)
    gathering = given["sharded"] * rounds * given["layers"] * given["data"] * constants["gather_s"]
    return Terms(
        rounds * compute,
        rounds * wall + optimiser,
        rounds * network + exposed + gathering,
        bubble,
        rounds * launch,
        np.zeros_like(compute),
    )


def _forward(given: Columns, constants: Constants) -> tuple[Vector, Vector, Vector]:
    """Return products, scores and memory traffic of one layer forward of one micro-batch."""
    tokens, hidden, tensor = given["tokens"], given["hidden"], given["tensor"]
    rate = given["best"] * constants["product_share"]
    rate = rate * hidden / (hidden + constants["width"] * np.sqrt(tensor))
    rate = rate * np.where(given["fp8"] > 0, constants["fp8_gain"], 1.0)
    products = 2 * tokens * given["layer_params"] / tensor / rate
    flash = np.where(given["hopper"] > 0, constants["attention_share_hopper"], constants["attention_share"])
    causal = np.where(given["flash"] > 0, 0.5 / flash, 1 / UNFLASHED_SHARE)
    scores = 4 * tokens * given["sequence"] * given["query_width"] / tensor * causal / given["peak"]
    moved = tokens * hidden * constants["pointwise_bytes"] * given["pointwise_share"]
    loud = tokens * given["score_width"] * constants["score_bytes"] * (1 - given["flash"])
    return products, scores, (moved + loud) / (given["bandwidth"] * MEMORY_SHARE)


def _shard(given: Columns) -> Vector:
    """Return the parameters whose optimiser states one GPU holds."""
    own = given["params"] / given["tensor"] / given["pipeline"]
    return np.where(given["sharded"] > 0, own / given["data"], own)


def _data_parallel(given: Columns, constants: Constants) -> Vector:
    """Return the traffic of data parallelism: gradients once a step, sharded weights three times a round."""
    own = given["params"] / given["tensor"] / given["pipeline"]
    data = given["data"]
    ways = np.where(given["sharded"] > 0, 3 * given["rounds"], 3.0)  # else gradients in 32 bit, weights in 16
    size = 2 * own * ways * (data - 1) / data
    node = given["per_node"]
    whole = data * given["tensor"] * given["pipeline"]
    speed = np.where(
        whole > node,
        np.where(given["sharded"] > 0, given["remote"], given["remote"] / node),
        given["link"] * constants["link_share"],
    )
    return np.where(data > 1, size / speed, 0.0)


def _row(case: Case) -> tuple[float, ...]:
    work, device, span = case.workload, case.device, case.span
    assert isinstance(work, Step)
    shape, tensor = work.shape, work.tensor
    again = {"none": 0.0, "selective": 0.0, "full": 1.0}[work.recompute]
    # without sequence parallelism norms and dropout are repeated on every GPU: 10 of 34 parts (Korthikanti 2022)
    pointwise = 1 / tensor if work.sequence_parallel else 10 / 34 + 24 / 34 / tensor
    return (
        float(shape.layers),
        float(shape.hidden),
        float(shape.vocab),
        shape.params,
        shape.layer_params(shape.chosen),
        float(shape.heads * shape.head_dim),
        float(work.micro_batch * work.sequence),
        float(work.sequence),
        float(work.micro_batches),
        float(tensor),
        float(work.pipeline),
        float(work.data),
        float(work.interleave),
        again,
        1.0 if work.recompute == "selective" else 0.0,
        pointwise,
        1.0 if work.sharded else 0.0,
        1.0 if work.flash else 0.0,
        work.sequence * shape.heads / tensor,
        1.0 if work.precision == "fp8" else 0.0,
        0.0 if device.generation == "ampere" else 1.0,
        device.peak("bf16"),
        device.best(work.precision),
        device.hbm_bytes_per_s,
        span.local_bytes_per_s,
        span.remote_bytes_per_s,
        span.latency_s,
        float(span.per_node),
    )
