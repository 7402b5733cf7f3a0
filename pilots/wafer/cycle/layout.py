"""What the flat arrays of the cycle interpreter mean: sides, columns of a queue, opcodes, columns of an instruction."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy.typing as npt

# Sides of a router. Side s of an element faces side (s + 2) % 4 of its neighbour; RAMP leads to its own processor.
NORTH: Final = 0
EAST: Final = 1
SOUTH: Final = 2
WEST: Final = 3
RAMP: Final = 4
SIDES: Final = "NESWR"

# A router queue holds what one color brings in, an input queue what it brought down the ramp. Nobody published their
# depth; eight wavelets carry the full rate over a ramp.
DEPTH: Final = 8
# Columns of a router queue; the first three are those of an input queue too. A color has positions: a way in and ways
# out that hold for a number of wavelets (0: for ever), as a switch that moves on at the end of a message.
HEAD: Final = 0
LENGTH: Final = 1
POPPED: Final = 2  # cycle of the last wavelet taken out: its place is free from the next cycle on
IN_PLACE: Final = 3
IN_LEFT: Final = 4
OUT_PLACE: Final = 5
OUT_LEFT: Final = 6
SWITCHED: Final = 7  # cycle in which the way in changed: it is open from the next cycle on
QUEUE_COLUMNS: Final = 8

# Instructions.
END: Final = 0
FABRIC: Final = 1  # vector between ramp and memory, one wavelet after the other
BLOCK: Final = 2  # multiply-adds of a block: c[m, n] += a[m, k] * b[k, n], k ascending
LOCAL: Final = 3  # a function of `numerics` over local vectors
DELAY: Final = 4
SIGNAL: Final = 5
WAIT: Final = 6
LOOP: Final = 7

# Columns of an instruction.
OPCODE: Final = 0
MILLI: Final = 1  # FABRIC: thousandths of a cycle per wavelet; else of the whole instruction
COUNT: Final = 2  # FABRIC: wavelets; LOOP: how often the body runs
COLOR_IN: Final = 3
COLOR_OUT: Final = 4
ADDRESS: Final = 5
COMBINE: Final = 6
LANES: Final = 7  # numbers in one wavelet
TARGET: Final = 8  # LOOP: first instruction of the body; SIGNAL, WAIT: the semaphore; LOCAL: the function
SIZE_M: Final = 9
SIZE_K: Final = 10
SIZE_N: Final = 11
ADDRESS_B: Final = 12
ADDRESS_C: Final = 13  # FABRIC: where a copy of what is sent is kept, 0 for nowhere
FACTOR: Final = 14  # index into the table of factors
INSTRUCTION_COLUMNS: Final = 16

# What FABRIC does with an incoming number and the one in memory.
COPY: Final = 0
ADD: Final = 1
MAX: Final = 2
MULTIPLY_ADD: Final = 3  # memory + factor * incoming
MIN: Final = 4

# Columns of a thread.
COUNTER: Final = 0  # next instruction, or FINISHED
DONE: Final = 1  # wavelets of the present instruction that are through
TURNS: Final = 2  # turns of the present loop
NEXT: Final = 3  # next sleeper of the same bucket of the wheel
THREAD_COLUMNS: Final = 4
FINISHED: Final = -1
SEMAPHORES: Final = 12

# Waking up: soon on a ring of cycles, late on a wheel of buckets.
RING: Final = 32  # a WSE-3 takes 22 cycles for a hop around a corner
WHEEL: Final = 4096

# Columns of the counters of a run.
NOW: Final = 0
RUNNING: Final = 1  # threads that have not ended
HOPS: Final = 2
LAST: Final = 3  # when the last thread ended, in thousandths of a cycle
PENDING: Final = 4  # entries of `pending` that wait for their function
SLEEPERS: Final = 5
LIMIT: Final = 6
RAMP_CYCLES: Final = 7
VISITS: Final = 8  # how often a router or an element was looked at
COUNTERS: Final = 9

# Why the inner loop came back.
ENDED: Final = 0
CALLS_FUNCTION: Final = 1
STUCK: Final = 2
TOO_LONG: Final = 3

IntArray = npt.NDArray[Any]


class State(NamedTuple):
    """Every array of a run. p: element, q = p * colors + color, t = p * threads + thread.

    memory [p, words] float32; queues [q, QUEUE_COLUMNS]; ready [q, DEPTH] cycle; values [q, DEPTH, lanes]; inputs,
    inputs_ready, inputs_values the same behind the ramp; near [p, 4] neighbours or -1; way_in, ways_out (bits), holds,
    delay [position, 5] cycles per side; code [instruction, INSTRUCTION_COLUMNS]; factors; threads [t, THREAD_COLUMNS];
    busy [t] thousandths of a cycle; semaphores [p, SEMAPHORES]; router_due, element_due [p] bits of the ring;
    router_ring, element_ring [RING, p]; ring_lengths [2, RING]; wheel [WHEEL]; pending [n, 2] (t, instruction);
    counters.
    """

    memory: IntArray
    queues: IntArray
    ready: IntArray
    values: IntArray
    inputs: IntArray
    inputs_ready: IntArray
    inputs_values: IntArray
    near: IntArray
    way_in: IntArray
    ways_out: IntArray
    holds: IntArray
    delay: IntArray
    code: IntArray
    factors: IntArray
    threads: IntArray
    busy: IntArray
    semaphores: IntArray
    router_due: IntArray
    element_due: IntArray
    router_ring: IntArray
    element_ring: IntArray
    ring_lengths: IntArray
    wheel: IntArray
    pending: IntArray
    counters: IntArray
