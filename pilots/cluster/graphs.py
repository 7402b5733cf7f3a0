"""A workload graph on one GPU: every operation on the roofline, one after the other, and whether it fits (S001, S005).

The operators were measured in 16 bit, one kernel per operation; a graph in another number type is computed as if it were
in 16 bit, and says so.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, prod
from typing import Final

from pilots.cluster.constants import constants, record
from pilots.cluster.costs import memory
from pilots.cluster.costs.terms import PARTS
from pilots.cluster.device import Device
from pilots.cluster.errors import DoesNotFit
from pilots.cluster.formulas import formula_of
from pilots.cluster.predict import Prediction
from pilots.cluster.reading.inputs import span_of
from pilots.cluster.reading.operators import STACK
from pilots.cluster.validity import EXTRAPOLATED, OUTSIDE, Trust, trust
from pilots.cluster.workloads import Case, Operation
from pilots.graph.ir import DType, Graph, Node, Shape, Tensor
from pilots.graph.spec import node_flops

ITEM_BYTES: Final = 2  # of floating point numbers, whatever the graph says
FREE: Final = frozenset({"reshape"})  # another view of the same bytes: no kernel
# Products on matrix units, and over which dimensions (from, to) of which input they sum; the rest waits for memory alone.
PRODUCTS: Final[dict[str, tuple[int, int | None, int | None]]] = {
    "matmul": (0, -1, None),
    "batch_matmul": (0, -1, None),
    "conv2d": (1, 1, None),
    "attention": (0, -1, None),
    "attention_cached": (0, -1, None),
    "expert_ffn": (2, 1, 2),
}
SAMPLED: Final = frozenset({"gather", "embedding"})  # of the first input only as much is read as comes out
NOT_16_BIT: Final = "das Modell rechnet nicht in 16 Bit; gerechnet ist, als täte es das"
RANK: Final = {"KALIBRIERT": 0, EXTRAPOLATED: 1, OUTSIDE: 2}


def predict_graph(graph: Graph, device: Device, *, batch: int) -> Prediction:
    """Return the time of one pass over `batch` samples with its parts; raises DoesNotFit for weights beyond the memory."""
    _check_memory(graph, device, batch)
    cases = [Case(device, span_of(device, 1), STACK, work) for work in operations(graph, batch)]
    formula = formula_of(cases[0].key)
    terms = formula.terms(formula.columns(cases), constants().get(cases[0].key, formula.start))
    parts = {name: float(terms.part(name).sum()) for name in PARTS}
    return Prediction(sum(parts.values()), parts, _trust(graph, cases))


def operations(graph: Graph, batch: int) -> list[Operation]:
    """Return what the kernels of a pass do, in order; an empty graph has one that does nothing."""
    types = graph.tensors()
    found = [_operation(node, types, batch) for node in graph.nodes if node.op not in FREE]
    return found or [Operation(0.0, 1, 0.0, 1, product=False)]


def need_bytes(graph: Graph, batch: int) -> int:
    """Return weights, inputs and the largest pair of neighbouring values of a pass in bytes."""
    held = sum(_bytes(item.tensor, batch) for item in graph.constants)
    held += sum(_bytes(tensor, batch) for _, tensor in graph.inputs)
    values = [_bytes(node.tensor, batch) for node in graph.nodes]
    pairs = zip(values, [0, *values], strict=False)
    return held + max((own + before for own, before in pairs), default=0)


def _operation(node: Node, types: dict[str, Tensor], batch: int) -> Operation:
    out = _bytes(node.tensor, batch)
    read = [_bytes(types[name], batch) for name in node.inputs]
    if node.op in SAMPLED:
        read[0] = min(read[0], out)
    place, first, end = PRODUCTS.get(node.op, (0, 0, 0))
    shape: Shape = types[node.inputs[place]].shape
    depth = prod(item or 1 for item in shape[first:end])
    grows = node.tensor.shape[0] is None
    return Operation(
        flops=float(node_flops(node, types) * (batch if grows else 1)),
        depth=depth,
        moved_bytes=float(sum(read) + out),
        rows=_size(node.tensor.shape[:1], batch),
        product=node.op in PRODUCTS,
    )


def _trust(graph: Graph, cases: list[Case]) -> Trust:
    """Return the widest trust of all operations: a sum is worth no more than its worst part."""
    known = record()
    worst = max((trust(case, known) for case in cases), key=lambda item: (RANK[item.state], item.log_width))
    if graph.dtype in {DType.FLOAT16, DType.BFLOAT16}:
        return worst
    reasons = [text for text in (worst.reason, NOT_16_BIT) if text]
    state = max(worst.state, EXTRAPOLATED, key=lambda code: RANK[code])
    return replace(worst, state=state, reason="; ".join(reasons))


def _check_memory(graph: Graph, device: Device, batch: int) -> None:
    needed, usable = need_bytes(graph, batch), memory.usable_bytes(device)
    if needed > usable:
        smallest = 2 ** (ceil(needed / usable) - 1).bit_length()
        raise DoesNotFit(needed_bytes=needed, usable_bytes=usable, smallest_gpus=smallest)


def _size(shape: Shape, batch: int) -> int:
    return prod(batch if item is None else item for item in shape)


def _bytes(tensor: Tensor, batch: int) -> int:
    item = ITEM_BYTES if tensor.dtype.is_float else tensor.dtype.item_bytes
    return _size(tensor.shape, batch) * item
