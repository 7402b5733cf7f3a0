"""A small wavelet program, cycle by cycle: what may be asked for, and what the fabric did. Nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from pilots.catalog.whatif import NotAnswered
from pilots.graph.ir import Attrs, DType
from pilots.wafer.cycle.agreement import Prepared, prepare, same_bits
from pilots.wafer.cycle.case import LAB, Case
from pilots.wafer.cycle.deadlock import Deadlock
from pilots.wafer.cycle.examples import ROOM, all_send_first
from pilots.wafer.cycle.tracing import Doing, Frame, Move, Trace, trace
from pilots.wafer.errors import WaferError

__all__ = [
    "DTYPES",
    "MAX_FRAMES",
    "ROOM",
    "SHOWS",
    "Doing",
    "Frame",
    "Move",
    "Seen",
    "Show",
    "Wanted",
    "watch",
]

MAX_CYCLES: Final = 20_000
MAX_FRAMES: Final = 200
MAX_MOVES: Final = 4_000
MAX_LINE: Final = 12
MAX_SIDE: Final = 8
DTYPES: Final = tuple(item.value for item in DType if item.is_float)

Shape: TypeAlias = Callable[[int, int, int], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Show:
    """A kernel to look at; usual: (width, height, size) of its proposal; sizes: the largest `size` that is quick to run.

    shape: from width, height and size to the shape of the case. sides: "line" (height 1), "square" or "free". op is ""
    for collectives and the deadlock, which carry plain numbers in fp32.
    """

    kernel: str
    usual: tuple[int, int, int]
    sizes: int
    shape: Shape
    op: str = ""
    attrs: Attrs = ()
    sides: str = "free"
    smallest: int = 1

    @property
    def largest(self) -> int:
        """The most elements along one side."""
        return MAX_LINE if self.sides == "line" else MAX_SIDE


def _words(width: int, height: int, size: int) -> tuple[int, ...]:
    return (size,)


def _product(width: int, height: int, size: int) -> tuple[int, ...]:
    return (size * height, size * height, size * width)


def _vector(width: int, height: int, size: int) -> tuple[int, ...]:
    return (1, size * height, size * width)


def _rows(width: int, height: int, size: int) -> tuple[int, ...]:
    return (height, size * width)


def _columns(width: int, height: int, size: int) -> tuple[int, ...]:
    return (width, height, size, 7)


_STAR: Final[Attrs] = (("coefficients", "-6 1 1 1 1 1 1"), ("points", 7))
DEADLOCK: Final = "deadlock"
SHOWS: Final[dict[str, Show]] = {
    "chain": Show("chain", (6, 1, 3), 16, _words, sides="line", smallest=2),
    "broadcast": Show("broadcast", (6, 1, 3), 16, _words, sides="line", smallest=2),
    "allreduce": Show("allreduce", (7, 1, 3), 16, _words, sides="line", smallest=2),
    "stationary": Show("STATIONARY", (4, 4, 2), 4, _product, op="matmul"),
    "mesh_gemm": Show("MESH_GEMM", (4, 4, 1), 2, _product, op="matmul", sides="square", smallest=2),
    "gemv": Show("GEMV", (4, 4, 2), 8, _vector, op="matmul"),
    "softmax": Show("SOFTMAX", (5, 2, 2), 8, _rows, op="softmax"),
    "stencil": Show("STENCIL", (4, 4, 2), 8, _columns, op="stencil", attrs=_STAR),
    DEADLOCK: Show(DEADLOCK, (3, 2, ROOM + 8), ROOM + 16, _words, smallest=2),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person wants to see: the name of a show, elements along and down, size, element type."""

    name: str
    width: int
    height: int
    size: int
    dtype: str

    @property
    def show(self) -> Show:
        """The show that is asked for."""
        return SHOWS[self.name]

    def case(self) -> Case:
        """Return it as a case of the comparison of interpreters; where the show leaves no choice, none is taken."""
        show = self.show
        height = {"line": 1, "square": self.width}.get(show.sides, self.height)
        dtype = DType(self.dtype) if show.op else DType.FLOAT32
        shape = show.shape(self.width, height, self.size)
        return Case(show.kernel, show.op, shape, (self.width, height), dtype, LAB, show.attrs)


@dataclass(frozen=True, slots=True)
class Seen:
    """What happened. counted, hops, same_bits: None if it stands still; predicted: None without a formula."""

    case: Case
    trace: Trace
    counted: int | None
    hops: int | None
    predicted: float | None
    same_bits: bool | None

    @property
    def deadlock(self) -> Deadlock | None:
        """Why nothing moves any more, or None."""
        return self.trace.deadlock


@lru_cache(maxsize=64)
def watch(wanted: Wanted) -> Seen:
    """Run what is asked for and keep its first frames; raises NotAnswered.

    Kept in memory, since every step of a page without script asks again.
    """
    _check(wanted)
    try:
        case = wanted.case()
        made = _prepared(case)
        found = trace(made.wavelets.image, max_cycles=MAX_CYCLES, max_frames=MAX_FRAMES, max_moves=MAX_MOVES)
    except WaferError as error:
        raise NotAnswered(error.message_de) from error
    predicted = made.predicted if case.kernel != DEADLOCK else None
    if found.outcome is None:
        return Seen(case, found, None, None, predicted, None)
    same = same_bits(case, made, found.outcome.memory)
    return Seen(case, found, found.outcome.cycles, found.outcome.hops, predicted, same)


def _prepared(case: Case) -> Prepared:
    if case.kernel != DEADLOCK:
        return prepare(case)
    wavelets, want = all_send_first(case.machine, *case.grid, case.shape[0])
    return Prepared(wavelets, want, 0.0)


def _check(wanted: Wanted) -> None:
    """Refuse what is too large to be looked at; raises NotAnswered."""
    show = wanted.show
    sides = (wanted.width, wanted.height) if show.sides == "free" else (wanted.width,)
    if not all(show.smallest <= side <= show.largest for side in sides):
        limits = f"{show.smallest} bis {show.largest}"
        raise NotAnswered(f"Zu sehen sind hier {limits} Elemente je Seite; bitte ändern Sie die Angabe.")
    if not 1 <= wanted.size <= show.sizes:
        raise NotAnswered(f"Die Größe darf hier 1 bis {show.sizes} sein; bitte ändern Sie die Angabe.")
