"""What moving data across the mesh costs, in cycles, as published for wafers (formulas in wafer.json, HPDC 2024).

words: 32-bit wavelets per element; pes: elements along the line. TR is the ramp latency, hop the cycles of one hop.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, isqrt, log2
from typing import Final

from pilots.wafer.machine import Machine
from pilots.wafer.meeting import root_of, spans_of


def turnaround(machine: Machine) -> int:
    """Return 2 TR + 1: up the ramp, one cycle, down the ramp."""
    return 2 * machine.ramp_cycles.value + 1


def broadcast(words: int, pes: int, machine: Machine) -> float:
    """Return the cycles of a broadcast along a line (bcast1d)."""
    return 0.0 if pes <= 1 else words + pes * machine.hop_cycles.value + 2 * machine.ramp_cycles.value


def broadcast_2d(words: int, width: int, height: int, machine: Machine) -> float:
    """Return the cycles of a broadcast over a rectangle (bcast2d)."""
    if width * height <= 1:
        return 0.0
    return words + (width + height - 2) * machine.hop_cycles.value + turnaround(machine)


def star(words: int, pes: int, machine: Machine) -> float:
    """Return the cycles when every element sends to one (star)."""
    if pes <= 1:
        return 0.0
    return words * (pes - 1) + turnaround(machine) + (pes - 1) * (machine.hop_cycles.value - 1)


def chain(words: int, pes: int, machine: Machine) -> float:
    """Return the cycles of a reduction handed from neighbour to neighbour (chain)."""
    step = turnaround(machine) + machine.hop_cycles.value
    return 0.0 if pes <= 1 else words + step * (pes - 1)


def tree(words: int, pes: int, machine: Machine) -> float:
    """Return the cycles of a binary tree along a line (tree)."""
    if pes <= 1:
        return 0.0
    levels = ceil(log2(pes))
    contention = words * pes * levels / (2 * (pes - 1)) + (pes - 1) * machine.hop_cycles.value
    return max(words * levels, contention) + turnaround(machine) * levels


def two_phase(words: int, pes: int, machine: Machine) -> float:
    """Return the cycles of a chain in groups of sqrt(P), then over their heads (two-phase)."""
    if pes <= 1:
        return 0.0
    group = max(1, isqrt(pes))
    busy = max(2 * words, 2 * words - words / group + (pes - 1) * machine.hop_cycles.value)
    return busy + (2 * group - 2) * turnaround(machine)


def ring(words: int, pes: int, machine: Machine) -> float:
    """Return the cycles of an all-reduce around a ring (ring)."""
    if pes <= 1:
        return 0.0
    hops = (4 * pes - 6) * machine.hop_cycles.value
    return 2 * (pes - 1) * words / pes + hops + 2 * (pes - 1) * turnaround(machine)


def two_level(words: int, pes: int, machine: Machine) -> float:
    """Return the cycles of a reduction in groups and over their middles (pilots.wafer.meeting).

    Structure of the allreduce in the open research kernels (formula meshgemv): chains grow from both ends of a group.
    Two things go beyond the published form. Groups have whole sizes. And where two streams meet, one ramp takes one
    wavelet per cycle, while the published form counts the vector once per level: of the second stream that is waited
    for which comes in later than the longer chain needs anyway. A few words take what was published, long vectors more.
    """
    hop, turn, spans = machine.hop_cycles.value, turnaround(machine), spans_of(pes)
    size = spans[0][1]
    return _both_ends(words, size, turn + hop) + _both_ends(words, len(spans), turn + size * hop)


def _both_ends(words: int, places: int, step: int) -> float:
    """Return the cycles of two chains that meet in the middle; the longer one has a place more if their number is even."""
    longer, shorter = places // 2, (places - 1) // 2
    second = max(0, words - (longer - shorter) * step) if shorter else 0
    return longer * step + words + second if longer else 0.0


def spread_back(words: int, pes: int, machine: Machine) -> float:
    """Return the cycles of a broadcast from where sums meet to both ends of a line."""
    if pes <= 1:
        return 0.0
    root = root_of(pes)
    return max(root, pes - 1 - root) * machine.hop_cycles.value + words + turnaround(machine)


def allreduce_line(words: int, pes: int, machine: Machine) -> float:
    """Return the cycles until every element of a line holds the sum: two-level reduction, then back."""
    return two_level(words, pes, machine) + spread_back(words, pes, machine)


def all_to_all(words_per_pair: float, pes: int) -> float:
    """Return the lower bound of an exchange along a line: its middle link carries P/4 of all pairs (alltoall1d)."""
    return pes * words_per_pair * pes / 4


Reduction = Callable[[int, int, Machine], float]
REDUCTIONS: Final[dict[str, Reduction]] = {
    "chain": chain,
    "star": star,
    "tree": tree,
    "two-phase": two_phase,
}


def reduce_line(algorithm: str, words: int, pes: int, machine: Machine) -> float:
    """Return the cycles of a reduction along a line; without an algorithm the cheapest one. Raises KeyError."""
    if algorithm:
        return REDUCTIONS[algorithm](words, pes, machine)
    return min(item(words, pes, machine) for item in REDUCTIONS.values())
