"""What moved when: frames of a small mesh, to be shown step by step."""

from __future__ import annotations

from typing import Any, Final

from pilots.wafer.costs.kernels import Setting
from pilots.wafer.cycle.interpreter import run_call
from pilots.wafer.cycle.kernels.collectives import Collective
from pilots.wafer.cycle.layout import SIDES
from pilots.wafer.cycle.simulate import MAX_CYCLES, Outcome, simulate
from pilots.wafer.errors import RequestError
from pilots.wafer.handlers.base import Inputs
from pilots.wafer.program import Call

MAX_SIDE: Final = 16
MAX_MOVES: Final = 200_000

Frame = dict[str, Any]


def trace(call: Call, inputs: Inputs, setting: Setting, max_cycles: int = MAX_CYCLES) -> list[Frame]:
    """Return the frames of a call on at most 16 x 16 elements, in a form that JSON can hold.

    A frame is a cycle in which something moved: {"cycle": c, "moves": [[x, y, side, color, value], ...]}, value being
    the first number of the wavelet as a decimal text; side R is the ramp down into the element. Raises RequestError for
    a larger mesh or more than MAX_MOVES moves, else as `run_call`.
    """
    _small(call.rect.width, call.rect.height)
    _, outcome = run_call(call, inputs, setting, max_cycles=max_cycles, max_frames=MAX_MOVES)
    return frames(outcome)


def trace_collective(collective: Collective, max_cycles: int = MAX_CYCLES) -> list[Frame]:
    """Return the frames of a collective; limits and form as in `trace`."""
    _small(collective.image.width, collective.image.height)
    return frames(simulate(collective.image, max_cycles=max_cycles, max_frames=MAX_MOVES))


def frames(outcome: Outcome) -> list[Frame]:
    """Return the frames of a traced run in the order of cycles, moves by place; raises RequestError if some are missing."""
    if len(outcome.values) == MAX_MOVES:
        sentence = f"Der Ablauf hat mehr als {MAX_MOVES} Bewegungen; bitte wählen Sie eine kleinere Aufgabe."
        raise RequestError(f"more than {MAX_MOVES} moves", message_de=sentence)
    width = outcome.memory.shape[1]
    found: dict[int, list[list[Any]]] = {}
    for (cycle, p, side, color), value in zip(outcome.frames.tolist(), outcome.values.tolist(), strict=True):
        moves = found.setdefault(cycle, [])
        moves.append([p % width, p // width, SIDES[side], color, repr(value)])
    return [{"cycle": cycle, "moves": sorted(moves)} for cycle, moves in sorted(found.items())]


def _small(width: int, height: int) -> None:
    if max(width, height) > MAX_SIDE:
        sentence = f"Einen Ablauf gibt es für Netze bis {MAX_SIDE} × {MAX_SIDE} Elemente."
        raise RequestError(f"{width} x {height} is too large for a trace", message_de=sentence)
