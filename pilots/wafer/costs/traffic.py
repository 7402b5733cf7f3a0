"""How long it takes until numbers have changed their element: busiest routers, packing, the way they have to go.

On a line of elements every number that moves has a source and goes as far as its last target; the router of each place
between them passes it once. Elements that send both ways share one ramp between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from pilots.wafer.costs.collectives import all_to_all, turnaround
from pilots.wafer.machine import Machine

# An index along a line: the place it lies at, the first and the last place that needs it.
Way = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Load:
    """Indices that the busiest element sends, those that pass the busiest router, and the places of the longest way."""

    sent: int = 0
    busiest: int = 0
    reach: int = 0


def load_of(ways: Iterable[Way], places: int) -> Load:
    """Return what indices put on a line of so many places."""
    east, west = [0] * (places + 1), [0] * (places + 1)
    to_east, to_west = [0] * places, [0] * places
    reach = 0
    for source, first, last in ways:
        if last > source:
            to_east[source] += 1
            east[source] += 1
            east[last + 1] -= 1
        if first < source:
            to_west[source] += 1
            west[first] += 1
            west[source + 1] -= 1
        reach = max(reach, last - source, source - first)
    passing = zip(accumulate(east), accumulate(west), to_east, to_west, strict=False)
    busiest = max(max(forwards + back, backwards + on) for forwards, backwards, on, back in passing)
    return Load(max(map(sum, zip(to_east, to_west, strict=True))), busiest, reach)


def stage(packed: int, busiest: int, reach: int, machine: Machine) -> float:
    """Return the cycles of one way along a line: wavelets are packed, pass the busiest router, and arrive."""
    if not packed:
        return 0.0
    return copy(packed, machine) + busiest + reach * machine.hop_cycles.value + turnaround(machine)


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
    """
    own = rows // line
    kept = copy(own * words, machine) if own else 0.0
    if line <= 1:
        return kept
    hop, turn = machine.hop_cycles.value, turnaround(machine)
    return kept + (rows - own) * words + (line - 1) * (turn + hop) + rows * words + line * hop + turn
