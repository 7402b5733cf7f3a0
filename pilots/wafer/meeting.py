"""Where sums along a line of elements meet: the one order that formula, functional and cycle interpreter share.

A line is cut into groups of neighbours. In a group chains grow from both ends and meet in its middle; the same happens
over the middles. The cut depends on the length alone, so a sum has the same bits on every machine.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

# Latencies by which the size of a group is chosen: one step of a chain inside a group, and over the groups beside the
# hops between their middles (WSE-2).
INSIDE: Final = 6
ACROSS: Final = 5


@lru_cache(maxsize=4096)
def group_size(length: int) -> int:
    """Return the size of a group for which both chains together are shortest, the smallest of equal ones."""
    return min(range(1, length + 1), key=lambda size: _latency(length, size), default=1)


def _latency(length: int, size: int) -> int:
    groups = -(-length // size)
    return size // 2 * INSIDE + groups // 2 * (ACROSS + size)


def spans_of(length: int) -> list[tuple[int, int]]:
    """Return the groups of a line as (first place, place after the last); none for an empty line."""
    size = group_size(length)
    return [(start, min(start + size, length)) for start in range(0, length, size)]


def middle_of(first: int, until: int) -> int:
    """Return the place where the chains of a group meet."""
    return first + (until - first) // 2


def root_of(length: int) -> int:
    """Return the place of a line where all its sums meet."""
    spans = spans_of(length)
    return middle_of(*spans[middle_of(0, len(spans))])
