"""Runs an image: makes the flat arrays, calls the inner loop, applies local functions, says why nothing moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

import numpy as np

from pilots.wafer.cycle import layout
from pilots.wafer.cycle.deadlock import Deadlock, explain
from pilots.wafer.cycle.image import Image
from pilots.wafer.cycle.layout import State
from pilots.wafer.errors import RequestError
from pilots.wafer.handlers.base import Array

MAX_CYCLES: Final = 1_000_000_000
OPPOSITE: Final = (2, 3, 0, 1)
Advance: TypeAlias = Callable[[State], int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """cycles: until the last element ended; hops: wavelets over links; visits: how often a router or an element was
    looked at; memory [height, width, words].
    """

    cycles: int
    hops: int
    visits: int
    memory: Array


def simulate(image: Image, *, max_cycles: int = MAX_CYCLES, advance: Advance | None = None) -> Outcome:
    """Run an image to its end; raises Deadlock when nothing moves, RequestError after `max_cycles` or for latencies it cannot run.

    advance: the inner loop, if it is not to be the compiled one.
    """
    advance = advance or _compiled()

    _check_latencies(image)
    state = state_of(image, max_cycles)
    while (reason := advance(state)) == layout.CALLS_FUNCTION:
        _apply(image, state)
    now = int(state.counters[layout.NOW])
    if reason == layout.STUCK:
        raise Deadlock(now, explain(image, state))
    if reason == layout.TOO_LONG:
        sentence = f"Das Programm ist nach {max_cycles} Takten nicht fertig; bitte verkleinern Sie die Aufgabe oder erhöhen Sie die Grenze."
        raise RequestError(f"not finished after {max_cycles} cycles", message_de=sentence)
    return Outcome(
        cycles=-(-int(state.counters[layout.LAST]) // 1000),
        hops=int(state.counters[layout.HOPS]),
        visits=int(state.counters[layout.VISITS]),
        memory=state.memory.reshape(image.height, image.width, -1),
    )


def _compiled() -> Advance:
    """Return the inner loop; the compiler is loaded here, at the first run, so that nothing else waits for it."""
    from pilots.wafer.cycle.engine import advance  # noqa: PLC0415

    return cast("Advance", advance)


def _check_latencies(image: Image) -> None:
    machine = image.machine
    hop, turn, ramp = machine.hop_cycles.value, machine.turn_cycles.value, machine.ramp_cycles.value
    if min(hop, ramp) < 1 or max(hop + turn, ramp + 1) >= layout.RING:
        sentence = f"Weg und Rampe müssen je 1 bis {layout.RING - 2} Takte dauern, damit sich Takt für Takt rechnen lässt."
        raise RequestError(f"hop {hop}, turn {turn}, ramp {ramp}", message_de=sentence)


def _apply(image: Image, state: State) -> None:
    """Apply the local functions that were called in the last cycle, once for all elements of each."""
    count = int(state.counters[layout.PENDING])
    threads, codes = state.pending[:count, 0], state.pending[:count, 1]
    for code in np.unique(codes):
        elements = threads[codes == code] // image.threads
        memory = state.memory[elements]
        with np.errstate(all="ignore"):
            image.functions[state.code[code, layout.TARGET]](memory)
        state.memory[elements] = memory
    state.counters[layout.PENDING] = 0


def state_of(image: Image, max_cycles: int) -> State:
    """Return the arrays of an image before its first cycle."""
    elements = image.width * image.height
    way_in, ways_out, holds = (
        np.array(column, dtype=np.int32) for column in zip(*image.positions, strict=True)
    )
    queues = np.zeros((elements * image.colors, layout.QUEUE_COLUMNS), dtype=np.int32)
    queues[:, (layout.POPPED, layout.SWITCHED)] = -1
    places = image.places.reshape(-1)
    queues[:, (layout.IN_PLACE, layout.OUT_PLACE)] = places[:, None]
    queues[:, (layout.IN_LEFT, layout.OUT_LEFT)] = holds[places][:, None]
    inputs = np.zeros((elements * image.colors, 4), dtype=np.int32)
    inputs[:, layout.POPPED] = -1
    starts = image.starts.reshape(-1)
    threads = np.zeros((starts.size, layout.THREAD_COLUMNS), dtype=np.int32)
    threads[:, layout.COUNTER] = np.where(starts, starts, layout.FINISHED)
    counters = np.zeros(layout.COUNTERS, dtype=np.int64)
    counters[layout.RUNNING] = np.count_nonzero(starts)
    counters[layout.LIMIT] = min(max_cycles, MAX_CYCLES)
    counters[layout.RAMP_CYCLES] = image.machine.ramp_cycles.value
    values = (elements * image.colors, layout.DEPTH, image.lanes)
    ready = (elements * image.colors, layout.DEPTH)
    state = State(
        memory=image.memory().reshape(elements, -1),
        queues=queues,
        ready=np.zeros(ready, dtype=np.int32),
        values=np.zeros(values, dtype=np.float32),
        inputs=inputs,
        inputs_ready=np.zeros(ready, dtype=np.int32),
        inputs_values=np.zeros(values, dtype=np.float32),
        near=_neighbours(image.width, image.height),
        way_in=way_in,
        ways_out=ways_out,
        holds=holds,
        delay=_delays(image),
        code=np.array(image.code, dtype=np.int64),
        factors=np.array(image.factors, dtype=np.float32),
        threads=threads,
        busy=np.zeros(starts.size, dtype=np.int64),
        semaphores=np.zeros((elements, layout.SEMAPHORES), dtype=np.int16),
        router_due=np.zeros(elements, dtype=np.int64),
        element_due=np.zeros(elements, dtype=np.int64),
        router_ring=np.zeros((layout.RING, elements), dtype=np.int32),
        element_ring=np.zeros((layout.RING, elements), dtype=np.int32),
        ring_lengths=np.zeros((2, layout.RING), dtype=np.int64),
        wheel=np.full(layout.WHEEL, -1, dtype=np.int32),
        pending=np.zeros((starts.size if image.functions else 1, 2), dtype=np.int32),
        counters=counters,
    )
    _start(state, image)
    return state


def _start(state: State, image: Image) -> None:
    """Put every element with a program on the ring of cycle 0."""
    first = np.flatnonzero(image.starts.reshape(-1, image.threads).any(axis=1))
    state.element_ring[0, : first.size] = first
    state.element_due[first] = 1
    state.ring_lengths[1, 0] = first.size


def _neighbours(width: int, height: int) -> Array:
    number = np.pad(np.arange(width * height, dtype=np.int32).reshape(height, width), 1, constant_values=-1)
    around = (number[:-2, 1:-1], number[1:-1, 2:], number[2:, 1:-1], number[1:-1, :-2])
    return np.ascontiguousarray(np.stack([side.reshape(-1) for side in around], axis=1))


def _delays(image: Image) -> Array:
    """Return the cycles a wavelet takes to the next router, by position and side: a hop, and a turn where it bends."""
    hop, turn = image.machine.hop_cycles.value, image.machine.turn_cycles.value
    delays = np.full((len(image.positions), 4), hop, dtype=np.int32)
    for index, (way_in, _, _) in enumerate(image.positions):
        if 0 <= way_in < layout.RAMP:
            delays[index] += [turn * (side != OPPOSITE[way_in]) for side in range(4)]
    return delays
