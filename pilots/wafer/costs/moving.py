"""Which numbers of a call change their element, and what that takes: moves, transposes, pairs of a rotation, whole rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from math import ceil
from typing import Final

from pilots.wafer.costs.traffic import Load, Way, copy, exchange, load_of, stage
from pilots.wafer.machine import Machine
from pilots.wafer.program import Call
from pilots.wafer.tiling import rows_are_cut, tile_of_matrix

Words = Callable[[float], int]  # how many wavelets so many numbers take
WIDTH: Final = 1
# Where an operation takes an index of its result from: (call, axis, index) -> index of the operand.
Source = Callable[[Call, int, int], int]


def moved(call: Call, words: Words, machine: Machine) -> float:
    """Return the cycles of an operation of MOVE: along rows, along columns, and each number put in its place."""
    ways = sum(_stage(load, size, words, machine) for load, size in _loads(call))
    return ways + copy(words(call.tile[0] * call.tile[1]), machine)


@lru_cache(maxsize=4096)  # asked for again in every step of a fit
def _loads(call: Call) -> tuple[tuple[Load, int], ...]:
    """Return what rows carry, then columns, with the numbers that an index stands for."""
    rows, columns = call.tile
    before = tile_of_matrix(call.shape[2], call.shape[3], call.rect)
    held = before[0] if rows_are_cut(call.shape[2], call.rect.height) else rows
    across, down = _reshaped(call, before) if call.op == "reshape" else _shifted(call, before)
    return (load_of(across, call.rect.width), held), (load_of(down, call.rect.height), columns)


def _stage(load: Load, numbers: float, words: Words, machine: Machine) -> float:
    """Return the cycles of a load whose indices stand for so many numbers each."""
    return stage(words(load.sent * numbers), words(load.busiest * numbers), load.lag, machine)


def _first_row_or_column(call: Call, axis: int) -> int:
    """Return where a slice starts; rows of a tensor of more dimensions start in proportion."""
    start, stop = (int(str(call.attr(name))) for name in ("start", "stop"))
    return start if axis == WIDTH else start * call.shape[0] // (stop - start)


def _border(call: Call, axis: int) -> int:
    before = call.attr("before")
    sizes = before if isinstance(before, tuple) else ()
    return int(str(sizes[axis - 2])) if len(sizes) + axis >= 2 else 0


# Further operands of a concatenation are taken to be as large as the first one.
SOURCES: Final[dict[str, Source]] = {
    "slice": lambda call, axis, index: index + _first_row_or_column(call, axis),
    "pad": lambda call, axis, index: index - _border(call, axis),
    "concat": lambda call, axis, index: index % call.shape[2 + axis],
    "broadcast_to": lambda call, axis, index: index % call.shape[2 + axis],
}


def _shifted(call: Call, before: tuple[int, int]) -> tuple[list[Way], list[Way]]:
    """Return what moves along rows and along columns where every row moves alike, and every column."""
    return _axis(call, 1, before[1]), _axis(call, 0, before[0])


def _axis(call: Call, axis: int, before: int) -> list[Way]:
    """before: indices in one element before the move."""
    size, held, tile = call.shape[axis], call.shape[2 + axis], call.tile[axis]
    cut = axis == WIDTH or rows_are_cut(size, call.rect.height)
    if axis != WIDTH and not rows_are_cut(held, call.rect.height):
        return []  # every row of elements holds all rows
    places = call.rect.width if axis == WIDTH else call.rect.height
    source = SOURCES[call.op] if size != held else lambda _call, _axis, index: index
    found: dict[int, tuple[int, int]] = {}
    ways: list[Way] = []
    for index in range(size):
        at = source(call, axis, index)
        if not 0 <= at < held:
            continue
        first, last = (index // tile, index // tile) if cut else (0, places - 1)
        if call.op != "broadcast_to":
            ways.append((at // before, first, last))
            continue
        low, high = found.get(at, (first, last))
        found[at] = (min(low, first), max(high, last))
    return ways + [(at // before, *ends) for at, ends in found.items()]


def _reshaped(call: Call, before: tuple[int, int]) -> tuple[list[Way], list[Way]]:
    """Return what moves where numbers keep their order: along a row what the wider matrix holds in one of its rows."""
    rows, width, _, from_width = call.shape
    wide = max(width, from_width)
    share = max(1, wide // from_width)  # rows of the operand in one of the wider matrix
    across = [
        (i % from_width // before[1], to := i % width // call.tile[1], to) for i in range(0, wide, share)
    ]
    both = rows_are_cut(rows, call.rect.height) and rows_are_cut(call.shape[2], call.rect.height)
    down = [
        (start // from_width // before[0], to := start // width // call.tile[0], to)
        for start in range(0, rows * width, wide)
        if both
    ]
    return across, down


def turned(call: Call, words: Words, machine: Machine) -> float:
    """Return the cycles of a transpose: numbers are dealt out along rows, go along columns, and along rows to their place.

    If the last axis stays, whole rows move along columns. Where all rows of elements hold the same, one way is enough.
    """
    own, rect = words(call.tile[0] * call.tile[1]), call.rect
    order = dict(call.attrs).get("order", ())
    stays = isinstance(order, tuple) and bool(order) and order[-1] == len(order) - 1
    cut = any(rows_are_cut(size, rect.height) for size in call.shape[:2])
    down = exchange(own, rect.height, machine) if cut else 0.0
    across = 0.0 if stays else exchange(own, rect.width, machine)
    return across + (down + across if down else 0.0) + copy(own, machine)


def paired(call: Call, words: Words, machine: Machine) -> float:
    """Return the cycles until every element has the other feature of each pair it turns."""
    known = dict(call.attrs)
    size = int(str(known["head_dim"]))
    turning = int(str(known.get("rotary_dim", size)))
    step = 1 if known.get("interleaved") else turning // 2
    load = _pairs(call.shape[1], call.tile[1], call.rect.width, (size, turning, step))
    return _stage(load, call.tile[0], words, machine)


@lru_cache(maxsize=256)  # asked for again in every step of a fit
def _pairs(width: int, tile: int, places: int, head: tuple[int, int, int]) -> Load:
    """head: its features, those that turn, and how far the second of a pair is behind the first."""
    size, turning, step = head

    def partner(index: int) -> int:
        place = index % size
        if place >= turning:
            return index
        return index + (step if place // step % 2 == 0 else -step)

    return load_of([(partner(index) // tile, index // tile, index // tile) for index in range(width)], places)


def whole_rows(call: Call, words: Words, machine: Machine) -> float:
    """Return the cycles until every element has the whole rows it holds a part of."""
    places = ceil(call.shape[1] / call.tile[1])
    ways: Iterable[Way] = ((index // call.tile[1], 0, places - 1) for index in range(call.shape[1]))
    return _stage(load_of(ways, places), call.tile[0], words, machine)
