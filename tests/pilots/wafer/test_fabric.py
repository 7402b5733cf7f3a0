from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import log2, sqrt

import pytest

from pilots.wafer.fabric import Latency, NoNeighbour, all_reduce, broadcast, latencies, weakest
from pilots.wafer.machine import WSE_1, WSE_2, WSE_3, Machine, find, lab_mesh
from pilots.wafer.machine.figure import chosen
from qms.core.values import Provenance

TURNING = replace(lab_mesh(), turn_cycles=chosen(20, "test"), hop_cycles=chosen(3, "test"))


def by_key(machine: Machine, **size: int) -> dict[str, Latency]:
    return {item.key: item for item in latencies(machine, **size)}


@pytest.mark.parametrize("size", [(1, 2), (2, 1), (2, 2), (5, 3), (1, 7), (4, 6)])
def test_hops_and_turns_are_those_of_counting_every_pair(size: tuple[int, int]) -> None:
    width, height = size
    places = list(product(range(width), range(height)))
    pairs = [(a, b) for a in places for b in places if a != b]
    hops = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairs]
    turns = [a[0] != b[0] and a[1] != b[1] for a, b in pairs]
    found = by_key(TURNING, width=width, height=height)
    assert found["mean"].hops == Fraction(sum(hops), len(pairs))
    assert dict(found["mean"].terms)["turns"] == 20 * Fraction(sum(turns), len(pairs))
    assert found["worst"].hops == max(hops)
    assert dict(found["worst"].terms)["turns"] == 20 * max(turns)
    assert found["neighbour"].hops == 1


def test_the_square_mesh_of_the_specification() -> None:
    found = by_key(WSE_2.with_clock("research"), width=949, height=949)
    assert round(found["mean"].hops) == 633
    assert found["worst"].hops == 1896
    wire = {key: dict(item.terms)["hops"] * 1000 / 1100 for key, item in found.items()}
    assert round(float(wire["mean"])) == 575  # ns, about 0.57 us
    assert round(float(wire["worst"])) == 1724  # ns, about 1.72 us


@pytest.mark.parametrize(
    ("machine_id", "neighbour", "mean", "worst"),
    [
        ("wse-2", "14.1", "696.9", "2062.4"),
        ("wse-2@research", "10.9", "538.5", "1593.6"),
        ("wse-3", "15.3", "1546.2", "4561.2"),
        ("wse-3@unconstrained", "11.8", "1194.8", "3524.5"),
    ],
)
def test_sub_microsecond_holds_only_as_far_as_computed(
    machine_id: str, neighbour: str, mean: str, worst: str
) -> None:
    found = by_key(find(machine_id))
    shown = [f"{float(found[key].nanoseconds):.1f}" for key in ("neighbour", "mean", "worst")]
    assert shown == [neighbour, mean, worst]


def test_terms_are_send_ramps_hops_and_turns() -> None:
    worst = by_key(WSE_3)["worst"]
    assert dict(worst.terms) == {"send": 7, "ramps": 4, "hops": 2 * 1923, "turns": 20}
    assert worst.cycles == 3877
    assert worst.nanoseconds == Fraction(3877 * 10**9, 850_000_000)


@pytest.mark.parametrize(("width", "extra"), [(32, "0"), (33, "0"), (34, "0.909"), (755, "656.298")])
def test_westbound_paths_cost_more_beyond_32_hops(width: int, extra: str) -> None:
    found = by_key(WSE_3, width=width, height=2)
    assert dict(found["worst_westbound"].terms)["westbound"] == Fraction(extra)
    assert found["worst_westbound"].cycles == found["worst"].cycles + Fraction(extra)
    assert "worst_westbound" not in by_key(WSE_2)


@pytest.mark.parametrize("size", [(1, 1), (-1, 4), (4, -1), (-2, -2)])
def test_a_single_element_has_no_path(size: tuple[int, int]) -> None:
    width, height = size
    for call in (latencies, broadcast, all_reduce):
        with pytest.raises(NoNeighbour) as caught:
            call(WSE_2, width=width, height=height)
        assert "mindestens zwei" in caught.value.message_de


def test_the_usable_rectangle_is_the_default() -> None:
    assert latencies(WSE_2) == latencies(WSE_2, width=750, height=994)
    assert by_key(WSE_2, width=757, height=996)["worst"].hops == 757 + 996 - 2


def test_sentences_are_german() -> None:
    neighbour, mean, _worst = latencies(WSE_2)
    assert neighbour.sentence_de == "Nachbar: 1 Sprung, 12 Takte, 14,1\u00a0ns"
    assert mean.sentence_de == "Mittel aller Paare: 581,3 Sprünge, 592,3 Takte, 696,9\u00a0ns"
    assert "auf dieser Maschine nicht gemessen" in broadcast(WSE_3).sentence_de
    assert "nicht gemessen" not in broadcast(WSE_2).sentence_de


def test_the_weakest_input_travels_with_the_result() -> None:
    assert {row.weakest for row in latencies(WSE_2)} == {Provenance.VENDOR_STATED}
    assert {row.weakest for row in latencies(WSE_1)} == {Provenance.ESTIMATED}
    assert weakest(WSE_2, ["hop_cycles"]) is Provenance.VENDOR_STATED
    assert weakest(WSE_2, ["turn_cycles", "hop_cycles"]) is Provenance.VENDOR_STATED
    assert weakest(lab_mesh(), ["hop_cycles", "width_pes"]) is Provenance.ESTIMATED


@pytest.mark.parametrize("words", [1, 2, 64])
@pytest.mark.parametrize("size", [(2, 2), (8, 8), (16, 4), (750, 994)])
def test_broadcast_is_the_published_formula(words: int, size: tuple[int, int]) -> None:
    width, height = size
    assert broadcast(WSE_2, words=words, width=width, height=height).cycles == words + width + height - 2 + 5


@pytest.mark.parametrize("words", [1, 8, 100, 4000])
@pytest.mark.parametrize("length", [2, 4, 16, 64, 256])
def test_all_reduce_takes_the_best_published_reduce(words: int, length: int) -> None:
    levels, root = int(log2(length)), int(sqrt(length))
    star = max(words * (length - 1), length - 1) + 5
    chain = words + 6 * (length - 1)
    tree = max(words * levels, Fraction(words * length * levels, 2 * (length - 1)) + length - 1) + 5 * levels
    best = min(star, chain, tree)
    if root * root == length:
        two = max(Fraction(2 * words), 2 * words - Fraction(words, root) + length - 1) + (2 * root - 2) * 5
        best = min(best, two)
    found = all_reduce(WSE_2, words=words, width=length, height=1)
    rows, column, back = (value for _, value in found.terms)
    assert rows <= best if root * root != length else rows == best
    assert column == 0
    assert back == broadcast(WSE_2, words=words, width=length, height=1).cycles


def test_collectives_over_the_wafer_take_microseconds() -> None:
    assert broadcast(WSE_2).cycles == 1748
    assert all_reduce(WSE_2).cycles == 3500
    assert round(float(all_reduce(WSE_2).nanoseconds) / 1000, 1) == 4.1
    assert round(float(all_reduce(WSE_3).nanoseconds) / 1000, 1) == 9.1
    assert broadcast(WSE_3).cycles == Fraction(9, 8) + 2 * 1923 + 20 + 5


def test_a_reduce_is_never_faster_than_the_way() -> None:
    far = all_reduce(WSE_3)
    assert far.terms[0][1] >= 754 * 2
    assert far.terms[1][1] >= 1169 * 2
