"""Placing work on a region: tiles of one element, routes, and what has to stay in its SRAM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Final

from pilots.wafer.costs.kernels import Setting, cost
from pilots.wafer.lowering import Work
from pilots.wafer.memory import need_of
from pilots.wafer.program import PRODUCTS, SQUARE, Call, Kernel, Mode, Rect
from pilots.wafer.routes import routes_of
from pilots.wafer.tiling import MAX_GEMV_ROWS, tile_of

ANY_PRODUCT: Final = PRODUCTS


def candidates(work: Work, rect: Rect, mode: Mode, allowed: tuple[Kernel, ...]) -> tuple[Kernel, ...]:
    """Return the kernels that could do this work on the rectangle."""
    if work.kernel is not None:
        return (work.kernel,)
    square = rect.width == rect.height
    found = [
        kernel
        for kernel in allowed
        if kernel in PRODUCTS
        and (kernel not in SQUARE or (square and work.shape[0] > 1))
        and (kernel is not Kernel.GEMV or work.shape[0] <= MAX_GEMV_ROWS)
        and (kernel is not Kernel.STREAMED or mode is Mode.WEIGHT_STREAMING)
    ]
    return tuple(found)


# Kernels and bytes per number that published silicon runs measured; any other has to promise clearly less time.
MEASURED: Final = ((Kernel.SUMMA, 4), (Kernel.MESH_GEMM, 2), (Kernel.GEMV, 2))
DOUBT: Final = 1.25
# Sides of the squares they were measured on; elsewhere a tenth less is not worth an extrapolation.
MEASURED_SIDES: Final = {Kernel.SUMMA: (1, 750), Kernel.MESH_GEMM: (480, 720), Kernel.GEMV: (360, 660)}
SIDE_DOUBT: Final = 1.1


@dataclass(frozen=True, slots=True)
class Placed:
    """A call for some work, without names, its cycles, and the bytes its result and scratch take."""

    call: Call
    cycles: float
    output_bytes: int
    scratch_bytes: int

    @property
    def bytes(self) -> int:
        """What it takes of an element beside weights and inputs."""
        return self.output_bytes + self.scratch_bytes


class Placer:
    """Places work on rectangles of one setting and remembers what it found; equal work is judged once."""

    def __init__(self, setting: Setting, allowed: tuple[Kernel, ...], limit_bytes: int) -> None:
        """limit_bytes: SRAM of one element that a call may take for its result and its scratch."""
        self.setting = setting
        self._allowed = allowed
        self._limit_bytes = limit_bytes
        self._known: dict[tuple[Work, int, int], tuple[Placed, ...]] = {}

    def place(self, work: Work, rect: Rect, share: int = 1) -> Placed | None:
        """Return the cheapest call that fits into the limit divided by `share`, or None if there is none."""
        limit = self._limit_bytes // share
        return next((item for item in self._options(work, rect) if item.bytes <= limit), None)

    def least_bytes(self, work: Work, rect: Rect) -> int:
        """Return the least SRAM per element for this work and its weights, 0 if no allowed kernel can do it."""
        item_bytes = self.setting.dtype.item_bytes
        weights = sum(resident_bytes_of(shape, rect, item_bytes) for shape in work.weights)
        held = weights if self.setting.mode is Mode.RESIDENT else 0
        return min((held + item.bytes for item in self._options(work, rect)), default=0)

    def _options(self, work: Work, rect: Rect) -> tuple[Placed, ...]:
        """Return a call of every kernel that could do the work, the cheapest first."""
        key = (work, rect.width, rect.height)
        if key not in self._known:
            here = Rect(0, 0, rect.width, rect.height)
            kernels = candidates(work, here, self.setting.mode, self._allowed)
            found = (self._placed(work, kernel, here) for kernel in kernels)
            self._known[key] = tuple(sorted(found, key=self._doubted))
        return self._known[key]

    def _placed(self, work: Work, kernel: Kernel, rect: Rect) -> Placed:
        tile, routes = tile_of(kernel, work.shape, rect), routes_of(kernel, rect)
        call = Call(0, kernel, work.op, (), "", 0, rect, work.shape, tile, work.attrs, routes)
        need = need_of(call, self.setting.dtype, self.setting.mode)
        return Placed(call, cost(call, self.setting).cycles, need.output_bytes, need.scratch_bytes)

    def _doubted(self, placed: Placed) -> float:
        """Return the cycles of a call, raised for a product kernel nobody measured in this element type."""
        kernel = placed.call.kernel
        known = kernel not in PRODUCTS or (kernel, self.setting.dtype.item_bytes) in MEASURED
        return placed.cycles if known else placed.cycles * DOUBT


def side_doubt(calls: Iterable[Call]) -> float:
    """Return by how much a region is judged slower because no product of its kind was measured at its size."""
    for call in calls:
        low, high = MEASURED_SIDES.get(call.kernel, (0, 0))
        inside = low <= call.rect.width <= high and call.rect.width == call.rect.height
        if call.kernel in PRODUCTS and not inside:
            return SIDE_DOUBT
    return 1.0


def resident_bytes_of(shape: tuple[int, ...], rect: Rect, item_bytes: int) -> int:
    """Return the bytes per element of a weight or cache: its last two dimensions are cut, the others are not.

    Kernels of a convolution [out, in, height, width] lie as the matrix [in x height x width, out] they are used as.
    """
    if len(shape) == 1:
        return _up(shape[0], rect.width) * item_bytes
    if len(shape) == 4:
        shape = (prod(shape[1:]), shape[0])
    rows, columns = shape[-2:]
    return prod(shape[:-2]) * _up(rows, rect.height) * _up(columns, rect.width) * item_bytes


def _up(size: int, parts: int) -> int:
    return -(-size // parts)
