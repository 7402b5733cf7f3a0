"""Which region keeps which weight: regions fill in the order of the calls, each up to its last byte."""

from __future__ import annotations

import pytest

from pilots.graph.ir import DType, Node, Tensor
from pilots.wafer.assignment import Assigned, Kept, assign, kept_tensors
from pilots.wafer.lowering import lower
from pilots.wafer.program import Mode, Rect
from tests.pilots.wafer.graphs import decoder

RECT = Rect(0, 0, 2, 2)
WEIGHT = Kept("weight", (4, 4), 2)  # four of the sixteen numbers in each element
SIZE = 8


def chain(*weights: str) -> list[Node]:
    """Return products one after the other, each with the weight of this name, "" for none."""
    tensor = Tensor((4, 4), DType.FLOAT16)
    return [
        Node("matmul", (f"v{index}", *([name] if name else [])), f"v{index + 1}", tensor)
        for index, name in enumerate(weights)
    ]


def assigned(weights: tuple[str, ...], living: tuple[int, ...], room: int, kept: Kept = WEIGHT) -> Assigned:
    return assign(chain(*weights), {name: kept for name in weights if name}, living, RECT, room)


@pytest.mark.parametrize(
    ("living", "room", "regions"),
    [
        ((5, 7), 2 * SIZE + 7, (0, 0)),
        ((5, 7), 2 * SIZE + 6, (0, 1)),
        ((7, 5), 2 * SIZE + 7, (0, 0)),  # an earlier call of the region takes the most
        ((7, 5), 2 * SIZE + 6, (0, 1)),
        ((1, 100), 10, (0, 1)),  # what fits nowhere still has a place: the caller says what is missing
    ],
)
def test_a_region_is_full_when_weights_and_the_largest_call_leave_nothing(
    living: tuple[int, int], room: int, regions: tuple[int, int]
) -> None:
    found = assigned(("a", "b"), living, room)
    assert found.region_of == regions
    assert found.regions == regions[-1] + 1
    assert found.residents == {(regions[0], "a"): SIZE, (regions[1], "b"): SIZE}
    assert found.largest_bytes == SIZE + max(living)


def test_a_weight_used_twice_in_a_region_lies_there_once_and_in_two_regions_twice() -> None:
    assert assigned(("a", "a"), (1, 1), SIZE + 1).residents == {(0, "a"): SIZE}
    found = assigned(("a", "b", "a"), (1, 1, 1), SIZE + 1)
    assert found.region_of == (0, 1, 2)
    assert found.residents == {(0, "a"): SIZE, (1, "b"): SIZE, (2, "a"): SIZE}


def test_a_call_of_the_next_region_counts_from_nothing() -> None:
    found = assigned(("a", "b", "c"), (9, 1, 1), 2 * SIZE + 1)
    assert found.region_of == (0, 1, 1)


def test_calls_without_weights_need_their_place_too() -> None:
    assert assigned(("a", "", "b"), (1, 5, 1), 2 * SIZE + 5).region_of == (0, 0, 0)
    assert assigned(("a", "", "b"), (1, 5, 1), 2 * SIZE + 4).region_of == (0, 0, 1)
    assert assigned(("", "", ""), (1, 99, 1), 10).region_of == (0, 0, 0)
    assert assigned(("", ""), (3, 4), 10).largest_bytes == 4


@pytest.mark.parametrize("rounds", [1, 2, 16])
def test_caches_of_all_rounds_stay_and_weights_are_shared(rounds: int) -> None:
    graph = decoder(context=8)
    works = lower(graph, batch=1)
    kept, once = (
        kept_tensors(graph, works, DType.FLOAT16, Mode.RESIDENT, 1, rounds=count) for count in (rounds, 1)
    )
    assert {item.kind for item in kept.values()} == {"weight", "cache"}
    for name, item in kept.items():
        times = rounds if item.kind == "cache" else 1
        assert item.item_bytes == times * once[name].item_bytes == times * 2


def test_weights_from_outside_fill_no_region() -> None:
    streamed = Kept("streamed", (4, 4), 0)
    found = assigned(("a", "b"), (10, 10), 10, streamed)
    assert found.region_of == (0, 0)
    assert set(found.residents.values()) == {0}
