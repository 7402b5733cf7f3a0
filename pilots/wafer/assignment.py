"""Which region keeps which weight and cache: calls in order fill one region after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pilots.graph.ir import DType, Graph, Node
from pilots.wafer.lowering import Work
from pilots.wafer.placement import resident_bytes_of
from pilots.wafer.program import Mode, Rect


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
    """Return everything that stays, by name; weights that come in from outside take no bytes.

    rounds: how many batches take turns, each with caches of its own.
    """
    streaming = mode is Mode.WEIGHT_STREAMING
    kind, item_bytes = ("streamed", 0) if streaming else ("weight", dtype.item_bytes)

    def filled(shape: tuple[int | None, ...]) -> tuple[int, ...]:
        return tuple(batch if size is None else size for size in shape)

    kept = {item.name: Kept(kind, filled(item.tensor.shape), item_bytes) for item in graph.constants}
    return kept | {
        node.inputs[0]: Kept("cache", filled(node.tensor.shape), dtype.item_bytes * rounds)
        for node, work in zip(graph.nodes, works, strict=True)
        if work.caches
    }


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
