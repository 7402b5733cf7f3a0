"""What every element does and which wavelets move, cycle by cycle, on a mesh small enough to look at.

The functions are those of the inner loop as plain Python, with listeners: such a mesh needs no compiler, and a listener
costs the compiled ones nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import FunctionType
from typing import Any, Final, NamedTuple, cast

import numpy as np

from pilots.wafer.cycle import layout
from pilots.wafer.cycle.deadlock import Deadlock
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.layout import State
from pilots.wafer.cycle.simulate import MAX_CYCLES, Advance, Outcome, simulate
from pilots.wafer.errors import RequestError

MAX_SIDE: Final = 16
MAX_MOVES: Final = 200_000


class Doing(StrEnum):
    """What an element does at the end of a cycle; of several threads the first in this order counts."""

    BOTH = "b"  # takes a wavelet and sends one
    SENDS = "s"
    RECEIVES = "r"
    COMPUTES = "c"
    DELAYS = "d"  # a time of the timing model that a fabric does not produce by itself
    BLOCKED = "x"  # cannot send: nobody takes its wavelets
    WAITS = "w"
    FINISHED = "f"
    NOTHING = "n"  # no program


class Move(NamedTuple):
    """A wavelet leaves the router of element p on a side (R: down its own ramp); value: its first number."""

    p: int
    side: str
    color: int
    value: float


@dataclass(frozen=True, slots=True)
class Frame:
    """A cycle in which something changed. doing: one `Doing` per element; held: wavelets in its queues afterwards."""

    cycle: int
    doing: str
    held: tuple[int, ...]
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """frames: the first ones; left_out: how many followed; deadlock: why nothing moves any more; outcome: else."""

    frames: tuple[Frame, ...]
    left_out: int
    outcome: Outcome | None
    deadlock: Deadlock | None


def trace(
    image: Image, *, max_cycles: int = MAX_CYCLES, max_frames: int = MAX_MOVES, max_moves: int = MAX_MOVES
) -> Trace:
    """Run an image of at most 16 x 16 elements to its end or deadlock, and keep its first frames.

    Raises RequestError for a larger mesh, else as `simulate`.
    """
    if max(image.width, image.height) > MAX_SIDE:
        sentence = f"Einen Ablauf gibt es für Netze bis {MAX_SIDE} × {MAX_SIDE} Elemente."
        raise RequestError(f"{image.width} x {image.height} is too large for a trace", message_de=sentence)
    watch = _Watch(image, max_frames, max_moves)
    outcome = deadlock = None
    try:
        with np.errstate(all="ignore"):
            outcome = simulate(image, max_cycles=max_cycles, advance=_plain(watch))
    except Deadlock as error:
        deadlock = error
    return Trace(tuple(watch.frames), watch.left_out, outcome, deadlock)


def to_json(frames: tuple[Frame, ...], width: int) -> list[dict[str, Any]]:
    """Return frames in a form that JSON can hold.

    {"cycle": c, "doing": one letter per element, "moves": [[x, y, side, color, value], ...]}, value as a decimal text.
    """
    return [
        {
            "cycle": frame.cycle,
            "doing": frame.doing,
            "moves": [
                [move.p % width, move.p // width, move.side, move.color, repr(move.value)]
                for move in frame.moves
            ],
        }
        for frame in frames
    ]


class _Watch:
    """Listens to the inner loop; its methods are called with the state before or after a function of that loop."""

    def __init__(self, image: Image, max_frames: int, max_moves: int) -> None:
        self.frames: list[Frame] = []
        self.left_out = 0
        self._room = [max_frames, max_moves]
        self._elements = image.width * image.height
        starts = image.starts.reshape(-1)
        self._doing = [Doing.WAITS if start else Doing.NOTHING for start in starts]
        self._threads = image.threads
        self._moves: list[Move] = []
        self._before: tuple[str, tuple[int, ...]] = ("", ())

    def forwards(self, state: State, p: int, color: int, ways: int) -> None:
        """A router is about to send the first wavelet of a color all ways out."""
        q = p * (state.queues.shape[0] // self._elements) + color
        value = float(state.values[q, state.queues[q, layout.HEAD], 0])
        sides = [name for side, name in enumerate(layout.SIDES) if ways >> side & 1]
        self._moves += [Move(int(p), name, int(color), value) for name in sides]

    def passes(self, state: State, t: int, went: bool) -> None:
        """A thread tried to pass a wavelet between ramp and memory."""
        line = state.code[state.threads[t, layout.COUNTER]]
        takes, gives = line[layout.COLOR_IN] >= 0, line[layout.COLOR_OUT] >= 0
        if went:
            self._doing[t] = Doing.BOTH if takes and gives else Doing.SENDS if gives else Doing.RECEIVES
        else:
            self._doing[t] = Doing.WAITS if takes else Doing.BLOCKED

    def begins(self, t: int, operation: int, went: bool) -> None:
        """A thread tried to begin an instruction that passes no wavelets."""
        if not went:
            self._doing[t] = Doing.WAITS
        elif operation in _TAKES_TIME:
            self._doing[t] = _TAKES_TIME[operation]

    def finishes(self, t: int) -> None:
        """A thread ended."""
        self._doing[t] = Doing.FINISHED

    def ends(self, state: State, now: int) -> None:
        """A cycle is over: keep it if something changed."""
        moves, self._moves = self._moves, []
        threads = [self._doing[p * self._threads :][: self._threads] for p in range(self._elements)]
        doing = "".join(min(own, key=_ORDER.__getitem__) for own in threads)
        waiting = (state.queues[:, layout.LENGTH] + state.inputs[:, layout.LENGTH]).reshape(
            self._elements, -1
        )
        held = tuple(waiting.sum(axis=1).tolist())
        if not moves and (doing, held) == self._before:
            return
        self._before = (doing, held)
        self._room = [self._room[0] - 1, self._room[1] - len(moves)]
        if self.left_out or min(self._room) < 0:
            self.left_out += 1
        else:
            self.frames.append(Frame(int(now), doing, held, tuple(sorted(moves))))


_ORDER: Final = {doing: index for index, doing in enumerate(Doing)}
_TAKES_TIME: Final = {
    layout.BLOCK: Doing.COMPUTES,
    layout.LOCAL: Doing.COMPUTES,
    layout.DELAY: Doing.DELAYS,
}


def _plain(watch: _Watch) -> Advance:
    """Return the inner loop as plain Python: the functions that are otherwise compiled, and `watch` listening."""
    from pilots.wafer.cycle import engine, fabric, pe  # noqa: PLC0415 - loads the compiler's package

    names: dict[str, Any] = {**vars(fabric), **vars(pe), **vars(engine)}
    for name, value in names.items():
        if hasattr(value, "py_func"):
            names[name] = FunctionType(value.py_func.__code__, names, name)
    names |= _listening(
        watch, {name: names[name] for name in ("forward", "move", "begin", "finish", "one_cycle")}
    )
    return cast("Advance", names["advance"])


def _listening(watch: _Watch, inner: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return functions of the inner loop that tell `watch` what they do."""

    def forward(state: State, p: int, color: int, colors: int, ways: int, now: int) -> Any:  # noqa: PLR0917
        watch.forwards(state, p, color, ways)
        return inner["forward"](state, p, color, colors, ways, now)

    def move(state: State, p: int, t: int, colors: int, now: int, sent: int) -> Any:  # noqa: PLR0917
        went = inner["move"](state, p, t, colors, now, sent)
        watch.passes(state, t, went)
        return went

    def begin(state: State, p: int, t: int, code: int, now: int) -> Any:
        went = inner["begin"](state, p, t, code, now)
        watch.begins(t, state.code[code, layout.OPCODE], went)
        return went

    def finish(state: State, t: int, now: int) -> None:
        inner["finish"](state, t, now)
        watch.finishes(t)

    def one_cycle(state: State, now: int) -> None:
        inner["one_cycle"](state, now)
        watch.ends(state, now)

    return {"forward": forward, "move": move, "begin": begin, "finish": finish, "one_cycle": one_cycle}
