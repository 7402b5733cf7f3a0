"""Routers: one wavelet per link, direction and cycle, colors with a way in and ways out, queues that push back.

Everything is decided on what a queue held when the cycle began, so the order in which routers are looked at never
matters. Within a router colors are served in ascending order.
"""

from __future__ import annotations

from pilots.wafer.cycle.jit import inlined
from pilots.wafer.cycle.layout import (
    DEPTH,
    HEAD,
    IN_LEFT,
    IN_PLACE,
    LENGTH,
    OUT_LEFT,
    OUT_PLACE,
    POPPED,
    RAMP,
    RAMP_CYCLES,
    RING,
    SWITCHED,
    IntArray,
    State,
)


@inlined
def wake(due: IntArray, ring: IntArray, lengths: IntArray, p: int, cycle: int) -> None:
    """Note that element p is looked at in a cycle less than RING ahead."""
    slot = cycle & RING - 1
    bit = 1 << slot
    if not due[p] & bit:
        due[p] |= bit
        ring[slot, lengths[slot]] = p
        lengths[slot] += 1


@inlined
def wake_router(state: State, p: int, cycle: int) -> None:
    """Note that the router of p has something to do in a cycle."""
    wake(state.router_due, state.router_ring, state.ring_lengths[0], p, cycle)


@inlined
def wake_element(state: State, p: int, cycle: int) -> None:
    """Note that a thread of p may go on in a cycle."""
    wake(state.element_due, state.element_ring, state.ring_lengths[1], p, cycle)


@inlined
def accepts(state: State, q: int, side: int, now: int) -> bool:
    """Say whether router queue q takes a wavelet from this side in this cycle."""
    queues = state.queues
    if state.way_in[queues[q, IN_PLACE]] != side or queues[q, SWITCHED] == now:
        return False
    return has_room(queues, q, now)


@inlined
def has_room(queues: IntArray, q: int, now: int) -> bool:
    """Say whether a queue had a free place when the cycle began."""
    return bool(queues[q, LENGTH] + (queues[q, POPPED] == now) < DEPTH)


@inlined
def arrive(state: State, p: int, q: int, cycle: int, now: int) -> int:
    """Take a place at the end of router queue q and return it; the switch moves on when its last wavelet came."""
    place: int = (state.queues[q, HEAD] + state.queues[q, LENGTH]) & DEPTH - 1
    state.queues[q, LENGTH] += 1
    state.ready[q, place] = cycle
    wake_router(state, p, cycle)
    if state.queues[q, IN_LEFT] > 0:
        state.queues[q, IN_LEFT] -= 1
        if state.queues[q, IN_LEFT] == 0:
            state.queues[q, IN_PLACE] += 1
            state.queues[q, SWITCHED] = now
            state.queues[q, IN_LEFT] = state.holds[state.queues[q, IN_PLACE]]
            wake_source(state, p, q, now + 1)
    return place


@inlined
def wake_source(state: State, p: int, q: int, cycle: int) -> None:
    """Note that whoever feeds router queue q may find room there."""
    side = state.way_in[state.queues[q, IN_PLACE]]
    if side == RAMP:
        wake_element(state, p, cycle)
    elif side >= 0 and state.near[p, side] >= 0:
        wake_router(state, state.near[p, side], cycle)


@inlined
def open_ways(state: State, p: int, color: int, colors: int, ways: int, now: int) -> bool:  # noqa: PLR0917 - compiled functions take no keyword-only arguments
    """Say whether every way out of a color has room, all of them at once."""
    for side in range(4):
        if ways >> side & 1:
            other = state.near[p, side]
            if other < 0:
                return False
            if not accepts(state, other * colors + color, side ^ 2, now):
                return False
    return not ways >> RAMP & 1 or has_room(state.inputs, p * colors + color, now)


@inlined
def forward(state: State, p: int, color: int, colors: int, ways: int, now: int) -> int:  # noqa: PLR0917 - compiled functions take no keyword-only arguments
    """Send the first wavelet of a color all ways out and take it from its queue; return the links it went over."""
    hops = 0
    q = p * colors + color
    place = state.queues[q, OUT_PLACE]
    head = state.queues[q, HEAD]
    lanes = state.values.shape[2]
    for side in range(4):
        if ways >> side & 1:
            other = state.near[p, side]
            target = other * colors + color
            spot = arrive(state, other, target, now + state.delay[place, side], now)
            for lane in range(lanes):
                state.values[target, spot, lane] = state.values[q, head, lane]
            hops += 1
    if ways >> RAMP & 1:
        spot = (state.inputs[q, HEAD] + state.inputs[q, LENGTH]) & DEPTH - 1
        state.inputs[q, LENGTH] += 1
        cycle = now + 1 + state.counters[RAMP_CYCLES]
        state.inputs_ready[q, spot] = cycle
        for lane in range(lanes):
            state.inputs_values[q, spot, lane] = state.values[q, head, lane]
        wake_element(state, p, cycle)
    take(state, p, q, now)
    return hops


@inlined
def take(state: State, p: int, q: int, now: int) -> None:
    """Take the first wavelet out of router queue q."""
    queues = state.queues
    full = queues[q, LENGTH] == DEPTH
    queues[q, HEAD] = (queues[q, HEAD] + 1) & DEPTH - 1
    queues[q, LENGTH] -= 1
    queues[q, POPPED] = now
    if queues[q, OUT_LEFT] > 0:
        queues[q, OUT_LEFT] -= 1
        if queues[q, OUT_LEFT] == 0:
            queues[q, OUT_PLACE] += 1
            queues[q, OUT_LEFT] = state.holds[queues[q, OUT_PLACE]]
    if full:
        wake_source(state, p, q, now + 1)


@inlined
def route(state: State, p: int, colors: int, now: int) -> int:
    """One cycle of the router of p; return the links that wavelets went over."""
    used = hops = 0
    for color in range(colors):
        q = p * colors + color
        if state.queues[q, LENGTH] == 0:
            continue
        cycle = state.ready[q, state.queues[q, HEAD]]
        if cycle > now:
            wake_router(state, p, cycle)
            continue
        ways = state.ways_out[state.queues[q, OUT_PLACE]]
        if ways & used:
            wake_router(state, p, now + 1)
        elif open_ways(state, p, color, colors, ways, now):
            used |= ways
            hops += forward(state, p, color, colors, ways, now)
            if state.queues[q, LENGTH] > 0:
                wake_router(state, p, max(now + 1, state.ready[q, state.queues[q, HEAD]]))
    return hops
