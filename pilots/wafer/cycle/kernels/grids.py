"""Products on a square grid that move both factors: SUMMA broadcasts blocks, CANNON and MESH_GEMM hand them round a ring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from pilots.graph.ir import DType
from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle import lines
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.instructions import (
    Instruction,
    block,
    delay,
    milli_of,
    receive,
    repeat,
    send,
    signal,
    wait,
)
from pilots.wafer.cycle.kernels.base import (
    RULE,
    Wavelets,
    joined,
    lanes_of,
    room,
    start_up,
    tiles,
    wavelets_of,
)
from pilots.wafer.cycle.kernels.products import operands
from pilots.wafer.cycle.kernels.turns import turns
from pilots.wafer.cycle.lines import Line, Message, coloured
from pilots.wafer.errors import ProgramError
from pilots.wafer.handlers.base import Array, Inputs
from pilots.wafer.program import Call, Kernel

GO: Final = 0  # semaphores: two or four threads may start ...
GONE: Final = 4  # ... and have ended


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Sizes of a product on a grid: side, tile (m, k, n), the size of the result, lanes, wavelets of a block each."""

    side: int
    tile: tuple[int, int, int]
    size: tuple[int, int]
    lanes: int

    @property
    def left_numbers(self) -> int:
        return room(self.tile[0] * self.tile[1], self.lanes)

    @property
    def right_numbers(self) -> int:
        return room(self.tile[1] * self.tile[2], self.lanes)

    @property
    def wavelets(self) -> tuple[int, int]:
        """Wavelets of a block of the left and of the right factor."""
        return (wavelets_of(self.left_numbers, self.lanes), wavelets_of(self.right_numbers, self.lanes))


def _blocks(call: Call, inputs: Inputs, at: Setting) -> tuple[_Blocks, Array, Array]:
    """Return the sizes and both factors as tiles [side, side, numbers]."""
    left, right = operands(call, inputs)
    side = call.rect.width
    if call.rect.height != side or left.shape[0] > max(1, call.shape[0]):
        got = f"{call.rect.width} x {call.rect.height} for {left.shape[0]} rows"
        raise ProgramError(RULE, call=call.index, expected="a square grid for one micro-batch", got=got)
    m, k, n = (max(1, -(-size // side)) for size in (call.shape[0], left.shape[1], right.shape[1]))
    sizes = _Blocks(side, (m, k, n), (left.shape[0], right.shape[1]), lanes_of(at))
    return sizes, tiles(left, m, k, side, side), tiles(right, k, n, side, side)


def summa(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """In step s column s of the left and row s of the right factor are broadcast; one running sum, k ascends.

    The fitted `step` is waited for at the start of every step.
    """
    sizes, left, right = _blocks(call, inputs, at)
    m, k, n = sizes.tile
    image = Image(at.machine, sizes.side, sizes.side, colors=2, threads=3, lanes=sizes.lanes)
    own = (image.allot(sizes.left_numbers), image.allot(sizes.right_numbers))
    held = (image.allot(sizes.left_numbers), image.allot(sizes.right_numbers))
    result = image.allot(m * n)
    image.load(own[0], left)
    image.load(own[1], right)
    per_fma = at.constants.loop_fma if at.dtype is DType.FLOAT32 else at.fma_cycles
    product = block(*held, result, sizes.tile, milli_of(k * n * (at.constants.loop_element + per_fma * m)))
    body = delay(milli_of(at.constants.step))
    body += signal(GO) + signal(GO + 1) + wait(GONE) + wait(GONE + 1) + product
    image.program(np.s_[:, :], start_up(at) + repeat(sizes.side, body))
    for axis, name in enumerate("xy"):
        line = Line(image, name, sizes.side)
        for place in range(sizes.side):
            image.route(line.at(place), axis, *turns(line, place, sizes.side, sizes.wavelets[axis]))
            steps = _takes_turns(sizes, axis, place, own[axis], held[axis])
            image.program(line.at(place), steps, thread=axis + 1)
    return Wavelets(image, _collector(sizes, result, list(range(sizes.side))))


def _takes_turns(sizes: _Blocks, axis: int, place: int, own: int, held: int) -> list[Instruction]:
    """Return what the thread of a factor does: it receives in all steps but its own, in which it sends."""
    wavelets, lanes = sizes.wavelets[axis], sizes.lanes
    taking = wait(GO + axis) + receive(axis, held, wavelets, lanes) + signal(GONE + axis)
    giving = wait(GO + axis) + send(axis, own, wavelets, lanes, copy_to=held) + signal(GONE + axis)
    return repeat(place, taking) + giving + repeat(sizes.side - 1 - place, taking)


def ring_places(kernel: Kernel, side: int) -> list[int]:
    """Return where each member of a ring lies on a line: in order, or folded so that neighbours are two hops apart."""
    if kernel is Kernel.CANNON:
        return list(range(side))
    return [*range(0, side, 2), *reversed(range(1, side, 2))]


def rotated(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Element (i, j) starts with block i + j of k; then both factors go round, while it multiplies (formula meshgemm).

    The blocks lie in their first place when the run starts; the time the model counts for bringing them there is waited
    for, as is the fitted `step` of every step.
    """
    sizes, left, right = _blocks(call, inputs, at)
    places, side = ring_places(call.kernel, sizes.side), sizes.side
    shifts = [(places[(member + 1) % side], places[member]) for member in range(side)] if side > 1 else []
    colors = coloured(shifts, 0)
    count = max(colors, default=0) + 1
    image = Image(at.machine, side, side, colors=2 * count, threads=5, lanes=sizes.lanes)
    buffers = [
        (image.allot(sizes.left_numbers), image.allot(sizes.right_numbers)),
        (image.allot(sizes.left_numbers), image.allot(sizes.right_numbers)),
    ]
    result = image.allot(sizes.tile[0] * sizes.tile[2])
    _load_skewed(image, places, (left, right), buffers[0])
    _main(image, sizes, buffers, result, at)
    for axis, name in enumerate("xy"):
        moved = [(shift, color + axis * count) for shift, color in zip(shifts, colors, strict=True)]
        _shift(Line(image, name, side), sizes, axis, moved, [pair[axis] for pair in buffers])
    return Wavelets(image, _collector(sizes, result, places))


def _load_skewed(
    image: Image, places: list[int], factors: tuple[Array, Array], buffer: tuple[int, int]
) -> None:
    side = len(places)
    at = np.array(places)
    i, j = np.arange(side)[:, None], np.arange(side)[None, :]
    first = (i + j) % side
    for address, values in zip(buffer, (factors[0][i, first], factors[1][first, j]), strict=True):
        image.load(address, values, np.ix_(at, at))


def _main(image: Image, sizes: _Blocks, buffers: list[tuple[int, int]], result: int, at: Setting) -> None:
    m, k, n = sizes.tile
    milli = milli_of(k * n * (at.constants.mesh_dispatch + m * at.fma_cycles))
    align = 0.0 if at.alone else sizes.side / 2 * at.machine.hop_cycles.value
    halves = []
    for pair in buffers:
        product = block(*pair, result, sizes.tile, milli)
        if sizes.side > 1:
            product = [row for index in range(4) for row in signal(GO + index)] + product
            product += [row for index in range(4) for row in wait(GONE + index)]
        halves.append(product + delay(milli_of(at.constants.step)))
    image.program(np.s_[:, :], start_up(at) + delay(milli_of(align)) + _alternate(sizes.side, halves))


def _alternate(times: int, halves: list[list[Instruction]]) -> list[Instruction]:
    """Return two bodies in turn, `times` in all."""
    return repeat(times // 2, halves[0] + halves[1]) + (halves[0] if times % 2 else [])


def _shift(
    line: Line, sizes: _Blocks, axis: int, shifts: list[tuple[Message, int]], buffers: list[int]
) -> None:
    """Set routes and threads of the ring of one factor: one thread sends, the other receives into the other buffer."""
    wavelets, lanes = sizes.wavelets[axis], sizes.lanes
    sender, receiver = 2 * axis, 2 * axis + 1
    for (source, target), color in shifts:
        lines.path(line, source, target, color)
        sending = [
            wait(GO + sender) + send(color, buffer, wavelets, lanes) + signal(GONE + sender)
            for buffer in buffers
        ]
        taking = [
            wait(GO + receiver) + receive(color, buffer, wavelets, lanes) + signal(GONE + receiver)
            for buffer in reversed(buffers)
        ]
        line.image.program(line.at(source), _alternate(line.length, sending), thread=1 + sender)
        line.image.program(line.at(target), _alternate(line.length, taking), thread=1 + receiver)


def _collector(sizes: _Blocks, result: int, places: list[int]) -> Callable[[Array], Array]:
    m, _, n = sizes.tile

    def collect(memory: Array) -> Array:
        parts = memory[np.ix_(places, places)][..., result : result + m * n]
        return joined(parts, m, n, *sizes.size)

    return collect
