"""Which region keeps which weight and cache: calls in order fill one region after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pilots.graph.ir import DType, Graph, Node
from pilots.wafer.lowering import KERNEL_OF, Work
from pilots.wafer.placement import resident_bytes_of
from pilots.wafer.program import Kernel, Mode, Rect


@dataclass(frozen=True, slots=True)
class Kept:
    """A tensor that stays: kind as `program.Resident` says, shape with the batch filled in, bytes per number."""

    kind: str
    shape: tuple[int, ...]
    item_bytes: int


@dataclass(frozen=True, slots=True)
class Assigned:
    """region_of: region of every call; residents: bytes per element by (region, name); largest_bytes: most of any call,
    with what it takes while it runs.
    """

    region_of: tuple[int, ...]
    residents: dict[tuple[int, str], int]
    largest_bytes: int

    @property
    def regions(self) -> int:
        """How many regions are used."""
        return self.region_of[-1] + 1


def kept_tensors(
    graph: Graph, works: Sequence[Work], dtype: DType, mode: Mode, batch: int, *, rounds: int = 1
) -> dict[str, Kept]:
    """Return everything that stays, by name: weights, also those an optimiser changes, with its own state, and caches.

    Weights that come in from outside take no bytes.

    rounds: how many batches take turns, each with caches of its own.
    """
    streaming = mode is Mode.WEIGHT_STREAMING
    kind = "streamed" if streaming else "weight"

    def filled(shape: tuple[int | None, ...]) -> tuple[int, ...]:
        return tuple(batch if size is None else size for size in shape)

    updated = _updated(graph)
    staying = [(item.name, item.tensor) for item in graph.constants]
    staying += [(name, tensor) for name, tensor in graph.inputs if name in updated]
    kept = {
        name: Kept(kind, filled(tensor.shape), 0 if streaming else _item_bytes(tensor.dtype, dtype))
        for name, tensor in staying
    }
    return kept | {
        node.inputs[0]: Kept(
            "cache", filled(node.tensor.shape), _item_bytes(node.tensor.dtype, dtype) * rounds
        )
        for node, work in zip(graph.nodes, works, strict=True)
        if work.caches
    }


def _updated(graph: Graph) -> frozenset[str]:
    """Return what the optimiser reads: parameters and moments are inputs and outputs of a training step, but stay."""
    steps = (node for node in graph.nodes if KERNEL_OF.get(node.op) is Kernel.OPTIMISER)
    return frozenset(name for node in steps for name in node.inputs)


def _item_bytes(own: DType, dtype: DType) -> int:
    """Return the bytes of one number; whole numbers and truth values take as much as the program's own type."""
    return (own if own.is_float else dtype).item_bytes


def assign(
    nodes: Sequence[Node],
    kept: Mapping[str, Kept],
    living_bytes: Sequence[int],
    rect: Rect,
    room_bytes: int,
) -> Assigned:
    """Fill regions of the size of `rect`, each with `room_bytes` per element, in the order of the calls.

    living_bytes: what each call takes beside what stays; a region needs the most of any of its calls.
    """
    sizes: dict[tuple[tuple[int, ...], int], int] = {}
    residents: dict[tuple[int, str], int] = {}
    region_of: list[int] = []
    region = filled = most = largest = 0
    for node, living in zip(nodes, living_bytes, strict=True):
        needed = {}
        for name in node.inputs:
            if name in kept:
                key = (kept[name].shape, kept[name].item_bytes)
                if key not in sizes:
                    sizes[key] = resident_bytes_of(key[0], rect, key[1])
                needed[name] = sizes[key]
        fresh = sum(size for name, size in needed.items() if (region, name) not in residents)
        if filled and filled + fresh + max(most, living) > room_bytes:
            region, filled, most, fresh = region + 1, 0, 0, sum(needed.values())
        filled, most = filled + fresh, max(most, living)
        largest = max(largest, sum(needed.values()) + living)
        residents |= {(region, name): size for name, size in needed.items()}
        region_of.append(region)
    return Assigned(tuple(region_of), residents, largest)
