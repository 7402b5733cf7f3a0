"""How long it takes until numbers have changed their element: busiest routers, packing, the way they have to go.

On a line of elements every number that moves has a source and goes as far as its last target; the router of each place
between them passes it once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from pilots.wafer.costs.collectives import all_to_all, turnaround
from pilots.wafer.machine import Machine

PACKET: Final = 4  # wavelets; what a router lets pass before it is the turn of others
# An index along a line: the place it lies at, the first and the last place that needs it.
Way = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Load:
    """Indices that the busiest element sends and that pass the busiest router; lag: places the longest way exceeds the shortest."""

    sent: int = 0
    busiest: int = 0
    lag: int = 0


def load_of(ways: Iterable[Way], places: int) -> Load:
    """Return what indices put on a line of so many places."""
    east, west = [0] * (places + 1), [0] * (places + 1)
    sent = [0] * places
    longest, shortest = 0, places
    for source, first, last in ways:
        if last > source:
            sent[source] += 1
            east[source] += 1
            east[last + 1] -= 1
            longest, shortest = max(longest, last - source), min(shortest, max(1, first - source))
        if first < source:
            sent[source] += 1
            west[first] += 1
            west[source + 1] -= 1
            longest, shortest = max(longest, source - first), min(shortest, max(1, source - last))
    return Load(max(sent), max(*accumulate(east), *accumulate(west)), max(0, longest - shortest))


def stage(packed: int, busiest: int, lag: int, machine: Machine) -> float:
    """Return the cycles of one way along a line: wavelets are packed, pass the busiest router, and arrive.

    They go in packets, in turns; the first of a router may wait for that of another one. Ways of one length all end when
    the busiest router is done, longer ones later.
    """
    if not packed:
        return 0.0
    way = lag * machine.hop_cycles.value + turnaround(machine)
    return copy(packed, machine) + busiest + min(packed, PACKET) + way


def copy(words: int, machine: Machine) -> float:
    """Return the cycles of a copy inside an element."""
    return machine.dsd_setup_cycles.value + words


def exchange(words: int, line: int, machine: Machine) -> float:
    """Return the cycles until every element of a line has sent each other one its share of `words`; half go each way."""
    if line <= 1:
        return 0.0
    busiest = all_to_all(words / line, line) + words / 2
    return copy(words, machine) + busiest + line * machine.hop_cycles.value + turnaround(machine)


def rows_to_all(rows: int, words: int, line: int, machine: Machine) -> float:
    """Return the cycles until all elements of a line hold rows of so many words that lie evenly spread over them.

    Routes do not depend on an index: rows are handed to the first element, one after the other, and go from there to all.
    The first one comes from the middle, or waits while the first element copies its own.
    """
    own = rows // line
    kept = copy(own * words, machine) if own else 0.0
    if line <= 1:
        return kept
    hop, turn = machine.hop_cycles.value, turnaround(machine)
    first = (line - 1) / 2 * (turn + hop)
    return max(kept, first) + (rows - own) * words + rows * words + line * hop + turn
