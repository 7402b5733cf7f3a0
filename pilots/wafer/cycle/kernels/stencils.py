"""Stencils with one column of cells per element: the own column goes to four sides, then others are handed on meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pilots.graph.ir import DType
from pilots.wafer.costs.kernels import UPDATE_OPS, Setting
from pilots.wafer.cycle import lines
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.instructions import Instruction, block, delay, milli_of, receive, send, signal, wait
from pilots.wafer.cycle.kernels.base import RULE, Wavelets, lanes_of, room, start_up, wavelets_of
from pilots.wafer.errors import ProgramError
from pilots.wafer.handlers.base import Array, Inputs, number, text, wide
from pilots.wafer.program import Call

AXES: Final = 3
# Axis of the mesh and step along it that a column travels; it stands where -x, +x, -y, +y is needed.
WAYS: Final = (("x", 1), ("x", -1), ("y", 1), ("y", -1))
RELAY: Final = 0  # semaphores by way: the column of a round may be handed on ...
HERE: Final = 4  # ... and used
OWN_SENT: Final = 8
SEND_THREAD: Final = 1
RECEIVE_THREAD: Final = 2


@dataclass(frozen=True, slots=True)
class _Plan:
    """Image, how far the star reaches, cells of a column, and addresses: factors, result, own column, columns by way
    and distance.
    """

    image: Image
    reach: int
    depth: int
    lanes: int
    factors: int
    result: int
    own: int
    columns: tuple[tuple[int, ...], ...]

    def column(self, way: int, distance: int) -> int:
        """Return where the column of a distance from 1 on lies."""
        return self.columns[way][distance - 1]

    @property
    def wavelets(self) -> int:
        """Wavelets of a column."""
        return wavelets_of(self.depth, self.lanes)


def stencil(call: Call, inputs: Inputs, at: Setting) -> Wavelets:
    """Weighted sum of the star around each cell of a grid [x, y, z]; x and y lie along the mesh, z in the element.

    Every element sends its column to its four neighbours and then sums, while a thread hands on what came from one side
    to the other, as far as the star reaches. Sending beside the sum would save time that runs on silicon do take. The
    timing model also counts a leapfrog update after the sum, which is waited for. Raises ProgramError for more than one
    column per element.
    """
    grid = wide(inputs[0])
    if grid.ndim != AXES or grid.shape[0] > call.rect.width or grid.shape[1] > call.rect.height:
        got = f"{grid.shape} on {call.rect.width} x {call.rect.height}"
        raise ProgramError(RULE, call=call.index, expected="one column per element", got=got)
    plan = _plan(call, grid, at)
    for way in range(len(WAYS)):
        _take_in(plan, way)
    for x in range(grid.shape[0]):
        for y in range(grid.shape[1]):
            steps = start_up(at) + _send_own(plan, (x, y)) + _sum(plan, (x, y), at)
            plan.image.program((y, x), steps)
            plan.image.program((y, x), _hand_on(plan, (x, y)), SEND_THREAD)

    def collect(memory: Array) -> Array:
        parts = memory[..., plan.result : plan.result + plan.depth]
        return np.ascontiguousarray(parts.swapaxes(0, 1))

    return Wavelets(plan.image, collect)


def _plan(call: Call, grid: Array, at: Setting) -> _Plan:
    width, height, depth = grid.shape
    reach, lanes = (number(call, "points") - 1) // (2 * AXES), lanes_of(at)
    factors = np.array([np.float32(item) for item in text(call, "coefficients").split(" ")])
    image = Image(at.machine, width, height, colors=2 * len(WAYS), threads=2 + len(WAYS), lanes=lanes)
    size = room(depth, lanes)
    own = image.allot(size)
    image.load(own, grid.swapaxes(0, 1))
    columns = tuple(tuple(image.allot(size) for _ in range(reach)) for _ in WAYS)
    return _Plan(
        image, reach, depth, lanes, image.allot(len(factors), factors), image.allot(depth), own, columns
    )


def _length(plan: _Plan, way: int) -> int:
    """Return how many elements lie along a way."""
    return plan.image.width if WAYS[way][0] == "x" else plan.image.height


def _before(plan: _Plan, way: int, place: int) -> int:
    """Return how many columns reach a place of a line on a way."""
    return min(plan.reach, place if WAYS[way][1] > 0 else _length(plan, way) - 1 - place)


def _leaving(way: int, place: int) -> int:
    """Return the color on which a place of a line sends on a way."""
    return 2 * way + place % 2


def _ways_from(plan: _Plan, place: tuple[int, int]) -> list[tuple[int, int]]:
    """Return (way, place along it) of every way on which an element has a neighbour."""
    along = ((way, place[0] if axis == "x" else place[1], step) for way, (axis, step) in enumerate(WAYS))
    return [(way, at) for way, at, step in along if plan.reach and 0 <= at + step < _length(plan, way)]


def _send_own(plan: _Plan, place: tuple[int, int]) -> list[Instruction]:
    """Send the own column all ways; only then may others be handed on, which would take its turns at the ramps."""
    found: list[Instruction] = []
    for way, at in _ways_from(plan, place):
        found += send(_leaving(way, at), plan.own, plan.wavelets, plan.lanes)
    return found + signal(OWN_SENT)


def _hand_on(plan: _Plan, place: tuple[int, int]) -> list[Instruction]:
    """Send on what came, the nearest columns first, for that is the order in which sums need them."""
    found = wait(OWN_SENT)
    for distance in range(1, plan.reach):
        for way, at in _ways_from(plan, place):
            if distance <= _before(plan, way, at):
                found += wait(RELAY + way)
                found += send(_leaving(way, at), plan.column(way, distance), plan.wavelets, plan.lanes)
    return found


def _take_in(plan: _Plan, way: int) -> None:
    """Set the routes of one way and the threads that receive on it, one column after the other."""
    axis, step = WAYS[way]
    line = lines.Line(plan.image, axis, _length(plan, way))
    for place in range(line.length):
        coming = _leaving(way, place - step)
        taking: list[Instruction] = []
        for distance in range(1, _before(plan, way, place) + 1):
            taking += receive(coming, plan.column(way, distance), plan.wavelets, plan.lanes)
            taking += signal(HERE + way) + signal(RELAY + way)
        line.image.program(line.at(place), taking, RECEIVE_THREAD + way)
        if 0 <= place + step < line.length:
            lines.path(line, place, place + step, _leaving(way, place))


def _sum(plan: _Plan, place: tuple[int, int], at: Setting) -> list[Instruction]:
    """Return the sum of one element: the cell itself, then distance by distance -x +x -y +y -z +z."""
    per_point = at.constants.stencil_point if at.dtype is DType.FLOAT32 else at.fma_cycles
    setup = at.machine.dsd_setup_cycles.value

    def add(factor: int, column: int, shift: int = 0) -> list[Instruction]:
        cells, milli = plan.depth - abs(shift), milli_of(setup + plan.depth * per_point)
        if cells <= 0:
            return delay(milli)
        result = plan.result + max(0, -shift)
        return block(plan.factors + factor, column + max(0, shift), result, (1, 1, cells), milli)

    found, factor = add(0, plan.own), 1
    for distance in range(1, plan.reach + 1):
        for way, (axis, _) in enumerate(WAYS):
            if distance <= _before(plan, way, place[0] if axis == "x" else place[1]):
                found += wait(HERE + way) + add(factor, plan.column(way, distance))
            factor += 1
        found += add(factor, plan.own, -distance) + add(factor + 1, plan.own, distance)
        factor += 2
    return found + delay(milli_of(UPDATE_OPS * plan.depth * per_point))
