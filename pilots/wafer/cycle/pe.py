"""Elements: up to eight threads run lists of vector instructions over local memory and the ramp.

A thread takes one instruction after the other. Its time runs in thousandths of a cycle, so fractions of fitted constants
add up instead of being rounded. Threads of an element share the ramp: one wavelet up and one down per cycle.
"""

from __future__ import annotations

from pilots.wafer.cycle.fabric import accepts, arrive, wake_element, wake_router
from pilots.wafer.cycle.jit import inlined
from pilots.wafer.cycle.layout import (
    ADD,
    ADDRESS,
    ADDRESS_B,
    ADDRESS_C,
    BLOCK,
    COLOR_IN,
    COLOR_OUT,
    COMBINE,
    COPY,
    COUNT,
    COUNTER,
    DEPTH,
    DONE,
    END,
    FABRIC,
    FACTOR,
    FINISHED,
    HEAD,
    LANES,
    LAST,
    LENGTH,
    LOCAL,
    LOOP,
    MAX,
    MILLI,
    MULTIPLY_ADD,
    NEXT,
    OPCODE,
    PENDING,
    POPPED,
    RAMP,
    RAMP_CYCLES,
    RING,
    RUNNING,
    SIGNAL,
    SIZE_K,
    SIZE_M,
    SIZE_N,
    SLEEPERS,
    TARGET,
    TURNS,
    WAIT,
    WHEEL,
    IntArray,
    State,
)


@inlined
def rest(state: State, p: int, t: int, now: int) -> None:
    """Wake thread t of element p when its time has come."""
    if state.busy[t] <= now * 1000 + 1000:
        wake_element(state, p, now + 1)
        return
    cycle = -(-state.busy[t] // 1000)
    if cycle - now < RING:
        wake_element(state, p, cycle)
    else:
        bucket = cycle & WHEEL - 1
        state.threads[t, NEXT] = state.wheel[bucket]
        state.wheel[bucket] = t
        state.counters[SLEEPERS] += 1


@inlined
def spend(state: State, t: int, milli: int, now: int) -> None:
    """Add to the time of a thread; one that ended its last work within this cycle goes on without a gap."""
    start = state.busy[t] if state.busy[t] > (now - 1) * 1000 else now * 1000
    state.busy[t] = start + milli


@inlined
def combined(state: State, line: IntArray, incoming: float, held: float) -> float:
    """Return what an instruction makes of an incoming number and the one in memory."""
    how = line[COMBINE]
    if how == COPY:
        return incoming
    if how == ADD:
        return incoming + held
    if how == MULTIPLY_ADD:
        factor: float = state.factors[line[FACTOR]]
        return held + factor * incoming
    if incoming != incoming:  # noqa: PLR0124 - only NaN differs from itself
        return incoming
    if how == MAX:
        return max(held, incoming)
    return min(held, incoming)


@inlined
def came(state: State, source: int, now: int) -> bool:
    """Say whether a wavelet waits in an input queue."""
    return bool(
        state.inputs[source, LENGTH] > 0 and state.inputs_ready[source, state.inputs[source, HEAD]] <= now
    )


@inlined
def drop(state: State, p: int, source: int, now: int) -> None:
    """Take the first wavelet out of an input queue."""
    if state.inputs[source, LENGTH] == DEPTH:
        wake_router(state, p, now + 1)
    state.inputs[source, HEAD] = (state.inputs[source, HEAD] + 1) & DEPTH - 1
    state.inputs[source, LENGTH] -= 1
    state.inputs[source, POPPED] = now


@inlined
def move(state: State, p: int, t: int, colors: int, now: int, sent: int) -> bool:  # noqa: PLR0917 - compiled functions take no keyword-only arguments
    """Pass one wavelet through the FABRIC instruction of a thread; say whether it went."""
    line = state.code[state.threads[t, COUNTER]]
    lanes, place = line[LANES], state.threads[t, DONE] * line[LANES]
    source, target, spot = p * colors + line[COLOR_IN], p * colors + line[COLOR_OUT], 0
    if line[COLOR_IN] >= 0 and not came(state, source, now):
        return False
    if line[COLOR_OUT] >= 0:
        if sent:
            wake_element(state, p, now + 1)
            return False
        if not accepts(state, target, RAMP, now):
            return False
        spot = arrive(state, p, target, now + state.counters[RAMP_CYCLES], now)
    for lane in range(lanes):
        value = state.memory[p, line[ADDRESS] + place + lane]
        if line[COLOR_IN] >= 0:
            value = combined(
                state, line, state.inputs_values[source, state.inputs[source, HEAD], lane], value
            )
            state.memory[p, line[ADDRESS] + place + lane] = value
        elif line[ADDRESS_C] > 0:
            state.memory[p, line[ADDRESS_C] + place + lane] = value
        if line[COLOR_OUT] >= 0:
            state.values[target, spot, lane] = value
    if line[COLOR_IN] >= 0:
        drop(state, p, source, now)
    return True


@inlined
def multiply_block(state: State, p: int, code: int) -> None:
    """Add the product of two blocks to a third; every product and every sum is rounded once to fp32."""
    line = state.code[code]
    width_k, width_n = line[SIZE_K], line[SIZE_N]
    own = state.memory[p]
    for row in range(line[SIZE_M]):
        for index in range(width_k):
            left = own[line[ADDRESS] + row * width_k + index]
            for column in range(width_n):
                place = line[ADDRESS_C] + row * width_n + column
                own[place] += left * own[line[ADDRESS_B] + index * width_n + column]


@inlined
def begin(state: State, p: int, t: int, code: int, now: int) -> bool:
    """Carry out an instruction other than FABRIC; say whether the thread goes on to the next one."""
    line, operation = state.code[code], state.code[code, OPCODE]
    if operation == WAIT:
        if state.semaphores[p, line[TARGET]] == 0:
            return False
        state.semaphores[p, line[TARGET]] -= 1
    elif operation == SIGNAL:
        state.semaphores[p, line[TARGET]] += 1
    elif operation == LOOP:
        state.threads[t, TURNS] += 1
        if state.threads[t, TURNS] < line[COUNT]:
            state.threads[t, COUNTER] = line[TARGET]
            return True
        state.threads[t, TURNS] = 0
    elif operation == BLOCK:
        multiply_block(state, p, code)
    elif operation == LOCAL:
        entry = state.counters[PENDING]
        state.pending[entry, 0] = t
        state.pending[entry, 1] = code
        state.counters[PENDING] = entry + 1
    state.threads[t, COUNTER] += 1
    spend(state, t, line[MILLI], now)
    if operation == LOCAL:  # its function is applied between this cycle and the next one
        state.busy[t] = max(state.busy[t], now * 1000 + 1)
    return True


@inlined
def finish(state: State, t: int, now: int) -> None:
    """End a thread."""
    state.threads[t, COUNTER] = FINISHED
    state.counters[RUNNING] -= 1
    state.counters[LAST] = max(state.counters[LAST], state.busy[t])


@inlined
def run_thread(state: State, p: int, t: int, colors: int, now: int, sent: int) -> int:  # noqa: PLR0917 - compiled functions take no keyword-only arguments
    """Let a thread go on as far as it can in this cycle; bit 1: a wavelet went up the ramp, bit 2: it signalled."""
    seen = 0
    while state.threads[t, COUNTER] != FINISHED and state.busy[t] <= now * 1000:
        code = state.threads[t, COUNTER]
        operation = state.code[code, OPCODE]
        if operation == END:
            finish(state, t, now)
        elif operation == FABRIC:
            if not move(state, p, t, colors, now, sent):
                break
            if state.code[code, COLOR_OUT] >= 0:
                seen |= 1
            spend(state, t, state.code[code, MILLI], now)
            state.threads[t, DONE] += 1
            if state.threads[t, DONE] == state.code[code, COUNT]:
                state.threads[t, DONE] = 0
                state.threads[t, COUNTER] += 1
            rest(state, p, t, now)
        else:
            if not begin(state, p, t, code, now):
                break
            if operation == SIGNAL:
                seen |= 2
            if state.busy[t] > now * 1000:
                rest(state, p, t, now)
    return seen


@inlined
def step(state: State, p: int, colors: int, threads: int, now: int) -> None:
    """One cycle of element p: threads in ascending order, again after a signal."""
    sent, again = 0, True
    while again:
        again = False
        for thread in range(threads):
            seen = run_thread(state, p, p * threads + thread, colors, now, sent)
            sent |= seen & 1
            again = again or bool(seen & 2)
