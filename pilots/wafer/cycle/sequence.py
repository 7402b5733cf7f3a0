"""Several wavelet programs of the same elements one after the other, as one: each keeps its own part of the memory.

A thread goes on to the next program as soon as it has ended the last one; nobody waits for other elements. What threads
of an element signal to each other has to be used up when a program ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pilots.wafer.cycle import layout
from pilots.wafer.cycle.image import Function, Image, Position
from pilots.wafer.cycle.instructions import Instruction
from pilots.wafer.handlers.base import Array

# Columns of an instruction that hold an address, by operation.
ADDRESSES: Final[dict[int, tuple[int, ...]]] = {
    layout.FABRIC: (layout.ADDRESS, layout.ADDRESS_C),
    layout.BLOCK: (layout.ADDRESS, layout.ADDRESS_B, layout.ADDRESS_C),
}


@dataclass(frozen=True, slots=True)
class _Moved:
    """Where an image lies in the joined one: first word, first function, first factor."""

    words: int
    functions: int
    factors: int

    def row(self, row: Instruction) -> Instruction:
        """Return an instruction with its addresses and numbers moved; address 0 means nowhere and stays."""
        changed = list(row)
        for column in ADDRESSES.get(row[layout.OPCODE], ()):
            changed[column] += self.words if row[column] else 0
        if row[layout.OPCODE] == layout.LOCAL:
            changed[layout.TARGET] += self.functions
        if row[layout.OPCODE] == layout.FABRIC:
            changed[layout.FACTOR] += self.factors
        return tuple(changed)


def sequence(images: Sequence[Image]) -> tuple[Image, tuple[int, ...]]:
    """Return images of the same size as one, and where the memory of each begins.

    Raises ValueError if a color is routed for ever in one of them and otherwise in a later one.
    """
    first = images[0]
    made = Image(
        first.machine,
        first.width,
        first.height,
        colors=max(image.colors for image in images),
        threads=max(image.threads for image in images),
        lanes=max(image.lanes for image in images),
    )
    moved = [_append(made, image) for image in images]
    for where, positions in _alike(np.stack([_padded(image.places, made.colors) for image in images])):
        routes = [image.routes_of(place) for image, place in zip(images, positions, strict=True)]
        made.route(where[:2], where[2], *_in_turn(routes))
    for where, starts in _alike(np.stack([_padded(image.starts, made.threads) for image in images])):
        lists = [image.program_of(start) for image, start in zip(images, starts, strict=True)]
        rows = [part.row(row) for part, listed in zip(moved, lists, strict=True) for row in listed]
        made.program(where[:2], rows, where[2])
    return made, tuple(part.words for part in moved)


def _append(made: Image, image: Image) -> _Moved:
    """Append memory, functions and factors of an image."""
    part = _Moved(made.words, len(made.functions), len(made.factors))
    made.words += image.words
    for where, address, values in image.loads:
        made.load(part.words + address, values, where)
    for item in image.functions:
        made.function(_within(item, part.words, image.words))
    for value in image.factors:
        made.factor(value)
    return part


def _within(function: Function, start: int, words: int) -> Function:
    """Return a function that sees its own part of a memory alone."""
    return lambda memory: function(memory[:, start : start + words])


def _padded(numbers: Array, size: int) -> Array:
    """Return numbers [y, x, index] with a last axis of some size; 0 stands for what an image does not have."""
    return np.pad(numbers, ((0, 0), (0, 0), (0, size - numbers.shape[2])))


def _alike(numbers: Array) -> list[tuple[tuple[Array, Array, int], tuple[int, ...]]]:
    """Return, of numbers [image, y, x, index], each combination that occurs, with its ys, xs and index."""
    found = []
    for index in range(numbers.shape[3]):
        every = numbers[..., index].reshape(len(numbers), -1)
        kinds, kind = np.unique(every, axis=1, return_inverse=True)
        for number in range(kinds.shape[1]):
            ys, xs = np.divmod(np.flatnonzero(kind.reshape(-1) == number), numbers.shape[2])
            combination = tuple(int(item) for item in kinds[:, number])
            if any(combination):
                found.append(((ys, xs, index), combination))
    return found


def _in_turn(lists: Sequence[tuple[Position, ...]]) -> tuple[Position, ...]:
    """Return positions one list after the other; a list that ends for ever has to stay the same."""
    made = lists[0]
    for later in lists[1:]:
        if not made or made[-1][2]:
            made += later
        elif later and later != made:
            raise ValueError(f"{later} after {made}, which holds for ever")
    return made
