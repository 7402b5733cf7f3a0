"""Time of a collective from its kind, bytes, group and fabric: a floor, the links inside nodes, the network between.

Inside a node: a ring, whose ramp (square root of the bytes) stands for the library's change from latency to bandwidth
protocols, or from Hopper on a sum in the switch, which has none. Between nodes: trees over the ports of all GPUs
(reduce-scatter inside, all-reduce of the shares between, all-gather inside), or where a node has one slow port, one ring
over all GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Final

import numpy as np

from pilots.cluster.costs.terms import Columns, Constants, Terms, table
from pilots.cluster.errors import RequestError
from pilots.cluster.topology import Span
from pilots.cluster.workloads import Case, Collective

PRIOR: Final[dict[str, tuple[float, str]]] = {
    "floor_s": (2e-5, "cluster.md section 2: 8 H100 about 20 us"),
    "node_floor_s": (4e-5, "cluster.md section 2: two nodes of 8, 65 to 164 us"),
    "link_share": (0.8, "gpu.json net_a100_8_allreduce_16GiB: 235 of 300 GB/s"),
    "nvls_gain": (1.3, "gpu.json net_h200_8_allreduce_16GiB_nvls against _ring: 482 to 368 GB/s"),
    "network_share": (0.7, "cluster.md section 2: 65 to 84 % of the ports of a node"),
    "ramp_s": (1e-8, "seconds per square root of a byte of a ring inside a node; start value, fitted"),
    "network_ramp_s": (1e-7, "seconds per square root of a byte between nodes; start value, fitted"),
}
# bytes that cross each GPU's links, as multiples of (N-1)/N * size: the bus bandwidth factors of nccl-tests
FACTORS: Final[dict[str, float]] = {
    "all_reduce": 2.0,
    "all_gather": 1.0,
    "reduce_scatter": 1.0,
    "all_to_all": 1.0,
}
SWITCHED_SUMS: Final = ("hopper", "blackwell")  # the switch adds up from Hopper on
BROADCAST: Final = ("broadcast", "send")
SLOW_NODE_PORT: Final = (
    12.5e9  # bytes per second of a node; up to here one port serves all its GPUs in one ring
)
# NCCL, src/graph/tuning.cc (commit 01afd20a77b5): where one GPU of a node sends and receives through its port alone, rings
# reach 0.7 of the bandwidth instead of 0.92
ALONE_AT_PORT: Final = 0.7 / 0.92
_NAMES: Final = ("inside", "ramped", "between", "node_steps", "many", "nvls", "link", "network", "latency")


def bus_factor(kind: str, gpus: int) -> float:
    """Return bytes per link over size of a collective; raises RequestError for a kind without one."""
    if kind in BROADCAST:
        return 1.0
    if kind not in FACTORS:
        sentence = f"Die Kommunikation „{kind[:40]}“ ist nicht bekannt; bekannt sind: {', '.join((*FACTORS, *BROADCAST))}."
        raise RequestError(f"unknown collective {kind[:40]}", message_de=sentence)
    return FACTORS[kind] * (gpus - 1) / gpus


def columns(cases: Sequence[Case]) -> Columns:
    """Return the columns of collective cases."""
    return table(_NAMES, [_row(case) for case in cases])


def terms(given: Columns, constants: Constants) -> Terms:
    """Return the parts of the time; all of it is communication."""
    inside, between = given["inside"], given["between"]
    speed = given["link"] * constants["link_share"] * np.where(given["nvls"] > 0, constants["nvls_gain"], 1.0)
    local = inside / speed + constants["ramp_s"] * np.sqrt(given["ramped"])
    network = between / (given["network"] * constants["network_share"])
    network = network + constants["network_ramp_s"] * np.sqrt(between)
    floor = constants["floor_s"] * given["many"] + constants["node_floor_s"] * given["node_steps"]
    nothing = np.zeros_like(local)
    return Terms(nothing, nothing, floor + given["latency"] + local + network, nothing, nothing, nothing)


def _row(case: Case) -> tuple[float, ...]:
    work, span = case.workload, case.span
    assert isinstance(work, Collective)
    if span.gpus == 1:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, span.local_bytes_per_s, span.remote_bytes_per_s, 0.0
    inside = work.size_bytes * bus_factor(work.kind, span.per_node) if span.per_node > 1 else 0.0
    in_switch = work.algorithm == "nvls" or (not work.algorithm and case.device.generation in SWITCHED_SUMS)
    nvls = work.kind == "all_reduce" and in_switch and span.switched and span.per_node > 1
    return (
        inside,
        0.0 if nvls else inside,
        _between(work, span) if span.nodes > 1 else 0.0,
        log2(span.nodes) if span.nodes > 1 else 0.0,
        1.0,
        float(nvls),
        span.local_bytes_per_s,
        span.remote_bytes_per_s,
        _steps(work, span) * span.latency_s,
    )


def _one_ring(work: Collective, span: Span) -> bool:
    """Say whether one ring over all GPUs joins several nodes."""
    return span.nodes > 1 and (work.algorithm == "ring" or span.remote_bytes_per_s <= SLOW_NODE_PORT)


def _steps(work: Collective, span: Span) -> float:
    """Return the links one after the other: twice round a ring, or up a tree and down."""
    return 2.0 * (span.gpus - 1) if _one_ring(work, span) else 2 * log2(span.gpus)


def _between(work: Collective, span: Span) -> float:
    """Return the bytes that cross the ports of each node, at the full bandwidth of a port."""
    if not _one_ring(work, span):
        return work.size_bytes * bus_factor(work.kind, span.nodes)
    share = ALONE_AT_PORT if span.per_node == 1 else 1.0
    return work.size_bytes * bus_factor(work.kind, span.gpus) / share
