"""A wavelet program before it runs: routes, threads and memory of a rectangle of elements, put together with slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from pilots.wafer.cycle import layout
from pilots.wafer.cycle.instructions import END, Instruction
from pilots.wafer.errors import ProgramError
from pilots.wafer.handlers.base import Array
from pilots.wafer.machine import Machine

Where: TypeAlias = Any  # an index into [height, width]
Function: TypeAlias = Callable[[Array], None]
# side a color is received from, sides it is sent to, number of wavelets until the next position (0: for ever)
Position: TypeAlias = tuple[str, str, int]
EVERYWHERE: Final = (slice(None), slice(None))


class Image:
    """A wavelet program on width x height elements. `where` indexes [height, width], as in `np.s_[:, 0]`."""

    def __init__(
        self, machine: Machine, width: int, height: int, *, colors: int, threads: int = 1, lanes: int = 1
    ) -> None:
        """lanes: numbers that a wavelet carries at most. Raises ProgramError for more colors or threads than there are."""
        usable = machine.colors.value - machine.reserved_colors.value
        most = machine.microthreads.value + 1  # the main thread is none of them
        if colors > usable or threads > most:
            got = f"{colors} colors and {threads} threads"
            raise ProgramError("COLORS", call=None, expected=f"{usable} and {most}", got=got)
        self.machine, self.width, self.height = machine, width, height
        self.colors, self.threads, self.lanes = colors, threads, lanes
        self.words = 1
        self.positions: list[tuple[int, int, int]] = [(-1, 0, 0)]
        self.code: list[Instruction] = [END]
        self.functions: list[Function] = []
        self.factors: list[float] = [0.0]
        self.places = np.zeros((height, width, colors), dtype=np.int32)
        self.starts = np.zeros((height, width, threads), dtype=np.int32)
        self.loads: list[tuple[Where, int, Array]] = []
        self._known_routes: dict[tuple[Position, ...], int] = {}
        self._known_code: dict[tuple[Instruction, ...], int] = {}

    def allot(self, numbers: int, values: Array | None = None, where: Where = EVERYWHERE) -> int:
        """Return the address of room for some numbers on every element, filled with `values` [..., numbers]."""
        address, self.words = self.words, self.words + numbers
        if values is not None:
            self.load(address, values, where)
        return address

    def load(self, address: int, values: Array, where: Where = EVERYWHERE) -> None:
        """Put values [..., numbers] into the memory of some elements before the run."""
        self.loads.append((where, address, values))

    def memory(self) -> Array:
        """Return the memory at the start, [height, width, words]."""
        memory = np.zeros((self.height, self.width, self.words), dtype=np.float32)
        for where, address, values in self.loads:
            memory[*where, address : address + values.shape[-1]] = values
        return memory

    def route(self, where: Where, color: int, *positions: Position) -> None:
        """Set the positions of a color on some elements."""
        if positions not in self._known_routes:
            self._known_routes[positions] = len(self.positions)
            for way_in, ways_out, wavelets in positions:
                bits = sum(1 << layout.SIDES.index(side) for side in ways_out)
                self.positions.append((layout.SIDES.index(way_in), bits, wavelets))
            self.positions.append((-1, 0, 0))
        self.places[*where, color] = self._known_routes[positions]

    def program(self, where: Where, instructions: Sequence[Instruction], thread: int = 0) -> None:
        """Set what a thread of some elements does."""
        listed = tuple(instructions)
        if listed not in self._known_code:
            start = self._known_code[listed] = len(self.code)
            for index, row in enumerate(listed):
                self.code.append(_absolute(row, start + index))
            self.code.append(END)
        self.starts[*where, thread] = self._known_code[listed]

    def routes_of(self, place: int) -> tuple[Position, ...]:
        """Return the positions a number in `places` stands for; none where a color is not routed."""
        return _found(self._known_routes, place)

    def program_of(self, start: int) -> tuple[Instruction, ...]:
        """Return the instructions a number in `starts` stands for; none where a thread does nothing."""
        return _found(self._known_code, start)

    def function(self, function: Function) -> int:
        """Register a local function; it gets the memories [elements, words] of all that call it and changes them."""
        self.functions.append(function)
        return len(self.functions) - 1

    def factor(self, value: float) -> int:
        """Register a factor of a multiply-add."""
        self.factors.append(value)
        return len(self.factors) - 1


def _found(known: dict[tuple[Any, ...], int], start: int) -> tuple[Any, ...]:
    return next((listed for listed, first in known.items() if first == start), ())


def _absolute(row: Instruction, index: int) -> Instruction:
    if row[layout.OPCODE] != layout.LOOP:
        return row
    changed = list(row)
    changed[layout.TARGET] = index - row[layout.TARGET]
    return tuple(changed)
