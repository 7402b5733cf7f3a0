"""Reading operators, layers and collectives."""

from __future__ import annotations

import re
from typing import Final

from pilots.cluster.costs.collectives import BROADCAST, FACTORS, SLOW_NODE_PORT, bus_factor
from pilots.cluster.device import Device
from pilots.cluster.reading.inputs import Inputs, Question, Refused, device_in, span_of
from pilots.cluster.workloads import Case, Collective, Gemm, Layer, Pointwise, Workload

STACK: Final = "16 Bit"
NCCL: Final = "NCCL"
DGX_NETWORK: Final = (
    "NCCL, langsames Netz"  # sites differ widely: a network of its own has constants of its own
)
_PORT: Final = re.compile(r"(\d+)\s*Gb/s(?:\s+\w+)?(?:\s+(per GPU))?", re.IGNORECASE)
_COLLECTIVE: Final = re.compile(r"(all_reduce|all_gather|reduce_scatter|all_to_all|broadcast)", re.IGNORECASE)
_SIZE: Final = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB)\b")
_UNITS: Final = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def gemm(given: Inputs) -> Question | Refused:
    """Return a matrix product; its figure is TFLOP/s or microseconds."""
    device = device_in(given.text("gpu") or given.system)
    if device is None:
        return Refused("unbekannte GPU")
    work = Gemm(given.whole("m"), given.whole("n"), given.whole("k"), given.whole("batch", default=1))
    case = Case(device, span_of(device, 1), STACK, work)
    flops = 2.0 * work.m * work.n * work.k * work.count
    return _timed(case, given, flops)


def layer(given: Inputs) -> Question | Refused:
    """Return one decoder layer, or one operation of it."""
    device = device_in(given.system)
    if device is None:
        return Refused("unbekannte GPU")
    tensor = given.whole("tensor_parallel", "gpus", default=1)
    decode = "decode" in given.workload.casefold()
    hidden, batch = given.whole("hidden"), given.whole("batch")
    heads = given.whole("heads", default=max(1, hidden // 128))
    context = given.whole("context", "seq", default=3072 if decode else 2048)
    span = span_of(device, tensor)
    op = given.text("op")
    if op:
        work = _operation(op, Layer(hidden, heads, batch, context, tensor, decode))
        if work is None:
            return Refused(f"unbekannte Operation {op[:30]}")
        alone = span if isinstance(work, Collective) else span_of(device, 1)
        stack = NCCL if isinstance(work, Collective) else STACK
        return _timed(Case(device, alone, stack, work), given, 0.0)
    return _timed(Case(device, span, STACK, Layer(hidden, heads, batch, context, tensor, decode)), given, 0.0)


def _operation(op: str, of: Layer) -> Workload | None:
    """Return one operation of a layer by the name the publication gives it."""
    rows = of.batch * (1 if of.decode else of.context)
    hidden, share = of.hidden, of.hidden // of.tensor
    heads, length = max(1, of.heads // of.tensor), 1 if of.decode else of.context
    head = of.hidden // of.heads
    scores = of.batch * heads * length * of.context
    table: dict[str, Workload] = {
        "Q_K_V": Gemm(rows, 3 * share, hidden),
        "Q_mul_K": Gemm(length, of.context, head, of.batch * heads),
        "A_mul_V": Gemm(length, head, of.context, of.batch * heads),
        "Wo_proj": Gemm(rows, hidden, share),
        "W1_proj": Gemm(rows, 4 * share, hidden),
        "W2_proj": Gemm(rows, hidden, 4 * share),
        "Softmax": Pointwise(scores, 2),
        "LayerNorm_MHA": Pointwise(rows * hidden, 2),
        "LayerNorm_FFN": Pointwise(rows * hidden, 2),
        "GeLU": Pointwise(rows * 4 * share, 2),
        "AllReduce_MHA": Collective("all_reduce", 2 * rows * hidden),
        "AllReduce_FFN": Collective("all_reduce", 2 * rows * hidden),
    }
    return table.get(op)


def collective(given: Inputs) -> Question | Refused:
    """Return a collective; its figure is a bus bandwidth or a time."""
    device = device_in(given.system)
    if device is None:
        return Refused("unbekannte GPU")
    named = _COLLECTIVE.search(given.text("collective") or given.workload)
    if named is None or named[1].casefold() not in (*FACTORS, *BROADCAST):
        return Refused("keine bekannte Kommunikation")
    kind = named[1].casefold()
    size = given.whole("size_bytes", default=_size(given.workload))
    gpus, nodes = given.whole("gpus", default=2), given.whole("nodes", default=1)
    algorithm = given.text("algorithm").casefold()
    chosen = "nvls" if "nvls" in algorithm else ("ring" if "ring" in algorithm else "")
    span = span_of(
        device,
        gpus,
        nodes,
        given.whole("gpus_per_node", default=-(-gpus // nodes)),
        _port(given, device, gpus, nodes),
    )
    slow = nodes > 1 and span.remote_bytes_per_s <= SLOW_NODE_PORT
    case = Case(device, span, DGX_NETWORK if slow else NCCL, Collective(kind, size, chosen))
    if "gb" in given.unit.casefold():
        return Question(case, size * bus_factor(kind, gpus) / 1e9, rate=True)
    return _timed(case, given, 0.0)


def _port(given: Inputs, device: Device, gpus: int, nodes: int) -> float:
    """Return the one-way bandwidth of a node into the network, in bytes per second; 0 = the usual."""
    if nodes == 1:
        return 0.0
    if given.text("fabric") == "DGX":
        return SLOW_NODE_PORT  # one port per node, no faster than 100 Gb/s (cluster.md section 2)
    found = _PORT.search(f"{given.system} {given.text('fabric')}")
    if found is None:
        return 0.0
    each = float(found[1]) * 1e9 / 8
    return each * (gpus / nodes) if found[2] else each


def _size(text: str) -> int:
    found = _SIZE.search(text)
    return int(found[1]) * _UNITS[found[2]] if found else 2**30


def _timed(case: Case, given: Inputs, flops: float) -> Question | Refused:
    scales = {"s": 1.0, "ms": 1e3, "us": 1e6, "µs": 1e6}
    if given.unit in scales:
        return Question(case, scales[given.unit], rate=False)
    if given.unit == "TFLOP/s" and flops:
        return Question(case, flops / 1e12, rate=True)
    return Refused(f"unbekannte Einheit {given.unit[:20]}")
