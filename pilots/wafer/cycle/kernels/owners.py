"""Elements that hold tiles of tensors, and the wavelet program that brings each number to the elements that need it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.instructions import Instruction, local, milli_of, receive, send, signal, wait
from pilots.wafer.cycle.kernels.base import cuts, tiles
from pilots.wafer.cycle.kernels.exchange import EVERY_ROW, Group, Homes, Ids, Stage, plan
from pilots.wafer.cycle.kernels.words import words_of
from pilots.wafer.handlers.base import Array
from pilots.wafer.program import Call
from pilots.wafer.tiling import tile_of

# Threads beside the main one: two send, two receive; each waits for or gives the signal of the same number.
SENDERS: Final = (1, 2)
RECEIVERS: Final = (3, 4)
THREADS: Final = 5
Element = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tiling:
    """How a tensor lies on a rectangle, as the matrix [height, width] of its last axis: tiles of rows x columns.

    With down == 1 every row of elements holds all rows of the matrix.
    """

    height: int
    width: int
    rows: int
    columns: int
    down: int
    along: int

    @property
    def numbers(self) -> int:
        """Numbers of a tile."""
        return self.rows * self.columns

    def tiles(self, tensor: Array) -> Array:
        """Return [down, along, numbers]: the tensor cut into tiles, filled up with zeros."""
        matrix = tensor.reshape(self.height, self.width)
        return tiles(matrix, self.rows, self.columns, self.down, self.along)


def as_matrix(shape: Sequence[int]) -> tuple[int, int]:
    """Return the sizes of a tensor as a matrix whose columns are its last axis."""
    return (int(np.prod(shape[:-1])), shape[-1]) if shape else (1, 1)


def tiling(call: Call, shape: Sequence[int], tile: tuple[int, ...] | None = None) -> Tiling:
    """Return how a tensor lies on the rectangle of a call; without a tile as the compiler cuts it. Raises ProgramError."""
    height, width = as_matrix(shape)
    rows, columns = tile or tile_of(call.kernel, (height, width), call.rect)
    rows, columns = min(rows, height), min(columns, width)
    down, along = cuts(call, height, rows, call.rect.height), cuts(call, width, columns, call.rect.width)
    return Tiling(height, width, rows, columns, down, along)


def spread(item: Tiling, tensor: Array, height: int, width: int) -> Array:
    """Return the tiles of a tensor on all elements [height, width, numbers]; zeros where none lies."""
    found = np.zeros((height, width, item.numbers), dtype=tensor.dtype)
    found[: item.down if item.down > 1 else height, : item.along] = item.tiles(tensor)
    return found


def grid(call: Call, tilings: Sequence[Tiling]) -> tuple[int, int]:
    """Return (width, height) of the elements to emulate: one row if all rows of elements hold the same."""
    cut = any(item.down > 1 for item in tilings)
    return (max(item.along for item in tilings), call.rect.height if cut else 1)


Source = tuple[Tiling, Array, Array]


@dataclass(slots=True)
class Owners:
    """An image whose elements hold sources and get what they need; what the main thread of an element does is listed.

    result: address of the needed numbers; number: address of the number of an element.
    """

    image: Image
    at: Setting
    lanes: int
    need: Ids
    addresses: Ids  # of each number in the element it starts from
    result: int = 0
    number: int = 0
    steps: dict[Element, list[Instruction]] = field(default_factory=dict)
    _held: dict[tuple[Element, int], int] = field(default_factory=dict)
    _threads: dict[tuple[Element, int], list[Instruction]] = field(default_factory=dict)

    def run(self, stages: list[Stage], gathered: int) -> None:
        """Write routes and threads of all stages; gathered: thousandths of a cycle to put numbers in their place."""
        height, width, slots = self.need.shape
        self.number = numbered(self.image)
        self.steps = {(y, x): [] for y in range(height) for x in range(width)}
        for index, stage in enumerate(stages):
            self._send(index, stage)
            self._receive(index, stage)
        for (element, thread), steps in self._threads.items():
            self.image.program(element, steps, thread)
        self.result = self.image.allot(slots)
        wanted = {element: self.need[element].tolist() for element in self.steps}
        place = self._copy(wanted, self.result, slots)
        for element in self.steps:
            self.steps[element] += local(place, gathered)

    def _send(self, index: int, stage: Stage) -> None:
        packed: dict[Element, list[int]] = {}
        counts: dict[tuple[Element, int], tuple[int, int]] = {}
        for way, stream in enumerate(stage):
            for element, positions in stream.routes.items():
                self.image.route(element, 2 * index + way, *positions)
            for element, groups in stream.sent.items():
                numbers = packed.setdefault(element, [])
                counts[element, way] = (len(numbers), sum(group.wavelets for group in groups))
                for group in groups:
                    numbers += _padded(group, self.lanes)
        size = max(map(len, packed.values()))
        address = self.image.allot(size)
        copy = self._copy(packed, address, size)
        for element, numbers in packed.items():
            self.steps[element] += local(copy, copy_milli(len(numbers) // self.lanes, self.at))
        for (element, way), (first, wavelets) in counts.items():
            self.steps[element] += signal(way)
            thread = self._threads.setdefault((element, SENDERS[way]), [])
            thread += wait(way) + send(2 * index + way, address + first, wavelets, self.lanes)

    def _receive(self, index: int, stage: Stage) -> None:
        arrived = {
            (element, way): groups
            for way, stream in enumerate(stage)
            for element, groups in stream.came.items()
        }
        free: dict[Element, int] = {}
        first = self.image.words
        for (element, way), groups in arrived.items():
            start = place = free.get(element, first)
            for group in groups:
                for offset, number in enumerate(group.numbers):
                    self._held[element, number] = place + offset
                place += group.wavelets * self.lanes
            free[element] = place
            thread = self._threads.setdefault((element, RECEIVERS[way]), [])
            thread += receive(2 * index + way, start, (place - start) // self.lanes, self.lanes) + signal(
                2 + way
            )
            self.steps[element] += wait(2 + way)
        self.image.allot(max(free.values()) - first)

    def _copy(self, wanted: dict[Element, list[int]], address: int, size: int) -> int:
        """Register a function that puts numbers side by side at an address; 0 stands for a zero."""
        width = self.need.shape[1]
        table = np.zeros((self.need.shape[0] * width, size), dtype=np.int64)
        for (y, x), numbers in wanted.items():
            places = [self._held.get(((y, x), number), self.addresses[number]) for number in numbers]
            table[y * width + x, : len(numbers)] = places
        return copied(self.image, self.number, table, address)


def numbered(image: Image) -> int:
    """Give every element its number, row by row; return the address."""
    numbers = np.arange(image.height * image.width, dtype=np.float32)
    return image.allot(1, numbers.reshape(image.height, image.width, 1))


def copied(image: Image, number: int, addresses: Ids, target: int) -> int:
    """Register a function that copies numbers from addresses [elements, size] to a target; number: where that of an element lies."""
    size = addresses.shape[1]

    def apply(memory: Array) -> None:
        own = addresses[memory[:, number].astype(np.int64)]
        memory[:, target : target + size] = np.take_along_axis(memory, own, axis=1)

    return image.function(apply)


def copy_milli(wavelets: int, at: Setting) -> int:
    """Return the time of copying within an element: a vector operation, a word per cycle."""
    return milli_of(at.machine.dsd_setup_cycles.value + wavelets)


def _padded(group: Group, lanes: int) -> list[int]:
    return [*group.numbers, *[0] * (group.wavelets * lanes - len(group.numbers))]


def owners(
    call: Call,
    sources: Sequence[Source],
    need: Callable[[int, int], Ids],
    at: Setting,
    *,
    lanes: int,
    more: Sequence[Tiling] = (),
    gathered: int = 0,
) -> Owners:
    """Return elements that hold the sources and get what they need.

    sources: how tensors lie, their values, and the numbers of their entries, from 1 on; need: of (height, width), the numbers every element
    needs [height, width, slots]; more: further tilings that the elements have to hold; gathered: thousandths of a cycle
    to put the numbers in their place.
    """
    width, height = grid(call, [*(item for item, _, _ in sources), *more])
    count = 1 + sum(values.size for _, values, _ in sources)
    homes = Homes(*(np.zeros(count, dtype=np.int64) for _ in range(3)))
    loads, first = [], 1  # address 0 holds a zero
    for item, values, numbers in sources:
        cut = item.tiles(numbers)
        down, along, slot = np.nonzero(cut)
        number = cut[down, along, slot]
        homes.column[number], homes.slot[number] = along, slot + first
        homes.row[number] = down if item.down > 1 else EVERY_ROW
        where = np.s_[: item.down, : item.along] if item.down > 1 else np.s_[:, : item.along]
        loads.append((item.numbers, item.tiles(words_of(values)), where))
        first += item.numbers
    wanted = need(height, width)
    stages = plan(wanted, homes, lanes)
    image = Image(at.machine, width, height, colors=max(1, 2 * len(stages)), threads=THREADS, lanes=lanes)
    for room, values, where in loads:
        image.allot(room, values, where)
    found = Owners(image, at, lanes, wanted, homes.slot)
    found.run(stages, gathered)
    return found
