"""The inner loop: from cycle to cycle, looking only at routers and elements that may have something to do."""

from __future__ import annotations

from pilots.wafer.cycle.fabric import route, wake_element
from pilots.wafer.cycle.jit import compiled, inlined
from pilots.wafer.cycle.layout import (
    CALLS_FUNCTION,
    ENDED,
    HOPS,
    LIMIT,
    NEXT,
    NOW,
    PENDING,
    RING,
    RUNNING,
    SLEEPERS,
    STUCK,
    TOO_LONG,
    VISITS,
    WHEEL,
    State,
)
from pilots.wafer.cycle.pe import step


@inlined
def rise(state: State, now: int) -> None:
    """Wake whoever sleeps until this cycle; sleepers of a later turn of the wheel stay."""
    bucket = now & WHEEL - 1
    t = state.wheel[bucket]
    state.wheel[bucket] = -1
    threads = state.threads.shape[0] // state.near.shape[0]
    while t >= 0:
        later = state.threads[t, NEXT]
        if -(-state.busy[t] // 1000) == now:
            state.counters[SLEEPERS] -= 1
            wake_element(state, t // threads, now)
        else:
            state.threads[t, NEXT] = state.wheel[bucket]
            state.wheel[bucket] = t
        t = later


@inlined
def one_cycle(state: State, now: int) -> None:
    """Let every router and every element that is due do what it can."""
    slot = now & RING - 1
    bit = 1 << slot
    count = state.near.shape[0]  # divided by once here, not for every element
    colors, threads = state.queues.shape[0] // count, state.threads.shape[0] // count
    routers, elements = state.ring_lengths[0, slot], state.ring_lengths[1, slot]
    hops = 0
    for index in range(routers):
        p = state.router_ring[slot, index]
        state.router_due[p] &= ~bit
        hops += route(state, p, colors, now)
    state.counters[HOPS] += hops
    for index in range(elements):
        p = state.element_ring[slot, index]
        state.element_due[p] &= ~bit
        step(state, p, colors, threads, now)
    state.ring_lengths[0, slot] = 0
    state.ring_lengths[1, slot] = 0
    state.counters[VISITS] += routers + elements


@inlined
def nothing_soon(state: State) -> bool:
    """Say whether both rings are empty."""
    for slot in range(RING):  # noqa: SIM110 - all() over a generator cannot be compiled
        if state.ring_lengths[0, slot] + state.ring_lengths[1, slot] > 0:
            return False
    return True


@compiled
def advance(state: State) -> int:
    """Run until all threads ended, a local function is called, nothing moves any more, or the limit is reached."""
    counters = state.counters
    while counters[RUNNING] > 0:
        if nothing_soon(state):
            if counters[SLEEPERS] == 0:
                return STUCK
            while state.wheel[counters[NOW] & WHEEL - 1] < 0:
                counters[NOW] += 1
        now = counters[NOW]
        if now > counters[LIMIT]:
            return TOO_LONG
        rise(state, now)
        one_cycle(state, now)
        counters[NOW] = now + 1
        if counters[PENDING] > 0:
            return CALLS_FUNCTION
    return ENDED
