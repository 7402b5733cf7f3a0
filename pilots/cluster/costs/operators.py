"""Products, pointwise operations and one decoder layer on the roofline of a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pilots.cluster.costs.terms import Columns, Constants, Terms, ring, roofline, table
from pilots.cluster.workloads import Case, Gemm, Layer, Operation, Pointwise

PRIOR: Final[dict[str, tuple[float, str]]] = {
    "product_share": (1.0, "share of the best measured product (gpu.json mamf_*) a large product reaches"),
    "product_depth": (60.0, "depth k at which a product reaches half its rate; start value, fitted"),
    "memory_share": (0.8, "share of peak bandwidth; cluster.md section 2: 79 % at M = 64"),
    "pointwise_share": (0.6, "share of peak bandwidth of pointwise operations; start value, fitted"),
    "launch_s": (2e-5, "start of one kernel from the framework; start value, fitted"),
    "link_share": (0.7, "share of link bandwidth of an all-reduce inside a node; start value, fitted"),
}
_NAMES: Final = (
    "flops", "depth", "bytes", "pointwise_bytes", "kernels", "reduced_bytes", "reductions", "best", "bandwidth", "link", "gpus",
)  # fmt: skip


def columns(cases: Sequence[Case]) -> Columns:
    """Return the columns of operator cases."""
    return table(_NAMES, [(*_sizes(case), *_device(case)) for case in cases])


def terms(given: Columns, constants: Constants) -> Terms:
    """Return the parts of the time."""
    depth = given["depth"]
    rate = given["best"] * constants["product_share"] * depth / (depth + constants["product_depth"])
    bandwidth = given["bandwidth"]
    compute, wall = roofline(given["flops"] / rate, given["bytes"] / (bandwidth * constants["memory_share"]))
    wall = wall + given["pointwise_bytes"] / (bandwidth * constants["pointwise_share"])
    speed = given["link"] * constants["link_share"]
    nothing = np.zeros_like(compute)
    network = np.where(
        given["reductions"] > 0, ring(given["reduced_bytes"], given["gpus"], speed, nothing), 0.0
    )
    launch = given["kernels"] * constants["launch_s"]
    return Terms(compute, wall, network, nothing, launch, nothing)


def _device(case: Case) -> tuple[float, float, float, float]:
    device, span = case.device, case.span
    return device.best("bf16"), device.hbm_bytes_per_s, span.local_bytes_per_s, float(span.gpus)


def _sizes(case: Case) -> tuple[float, ...]:
    """Return flops, depth, bytes of products, bytes of the rest, kernels, bytes and number of reductions."""
    work = case.workload
    if isinstance(work, Gemm):
        count, m, n, k = work.count, work.m, work.n, work.k
        return 2.0 * count * m * n * k, float(k), 2.0 * count * (m * k + k * n + m * n), 0.0, 1.0, 0.0, 0.0
    if isinstance(work, Pointwise):
        return 0.0, 1.0, 0.0, 2.0 * work.elements * work.passes, 1.0, 0.0, 0.0
    if isinstance(work, Operation):
        products, rest = (work.moved_bytes, 0.0) if work.product else (0.0, work.moved_bytes)
        return work.flops if work.product else 0.0, float(work.depth), products, rest, 1.0, 0.0, 0.0
    assert isinstance(work, Layer)
    return _layer(work)


def _layer(work: Layer) -> tuple[float, ...]:
    """Add up the products, scores and norms of a layer; scores go to memory, as in the published runs."""
    hidden, share = float(work.hidden), float(work.tensor)
    rows = work.batch * (1.0 if work.decode else work.context)
    weights = 12.0 * hidden * hidden / share
    scores = rows * work.context * work.heads / share
    attention = 4.0 * rows * work.context * hidden / share
    cache = 4.0 * work.batch * work.context * hidden / share
    moved = 2.0 * (weights + rows * hidden * (8 + 14 / share)) + (cache if work.decode else 4.0 * scores * 2)
    rest = 2.0 * (2 * scores + rows * hidden * (4 + 8 / share))
    depth = hidden if work.decode else hidden / share
    return 2.0 * rows * weights + attention, depth, moved, rest, 12.0, 4.0 * rows * hidden, 2.0
