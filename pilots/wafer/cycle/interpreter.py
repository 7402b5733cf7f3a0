"""The third interpreter: a program call by call, each as a wavelet program that runs cycle by cycle.

Between two calls values are taken out of the memories and laid down where the next call needs them; the time of that is
`realign` and `launch` of the timing model, which every program waits for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np

from pilots.graph.ir import Weights
from pilots.wafer.costs.constants import calibrated
from pilots.wafer.costs.kernels import Setting, cost
from pilots.wafer.cycle.kernels.base import Wavelets
from pilots.wafer.cycle.kernels.table import program_of, require_programs
from pilots.wafer.cycle.simulate import MAX_CYCLES, Outcome, simulate
from pilots.wafer.errors import RequestError
from pilots.wafer.functional.interpreter import load, stored
from pilots.wafer.handlers.base import Array, Inputs
from pilots.wafer.machine import Machine
from pilots.wafer.numerics import narrowed, widened
from pilots.wafer.program import Call, Program


@dataclass(frozen=True, slots=True)
class CallCycles:
    """One call: cycles counted on the fabric and predicted by its cost function, and wavelets over links."""

    call: Call
    counted: int
    predicted: int
    hops: int


@dataclass(frozen=True, slots=True)
class CycleResult:
    """outputs by name, in their own element type; what each call took."""

    outputs: Mapping[str, Array]
    calls: tuple[CallCycles, ...]

    @property
    def cycles(self) -> int:
        """Cycles of all calls, one after the other."""
        return sum(item.counted for item in self.calls)


def run(
    program: Program,
    weights: Weights,
    inputs: Mapping[str, Array],
    machine: Machine,
    *,
    max_cycles: int = MAX_CYCLES,
) -> CycleResult:
    """Run one micro-batch of a program, cycle by cycle.

    inputs: every input and every cache by name. Raises UnsupportedOps naming every call without a wavelet program,
    ProgramError for tiles that do not cover a call, RequestError, or Deadlock. Results equal those of `functional` bit
    for bit.
    """
    require_programs(program)
    loaded = load(program, weights)
    needed = tuple(dict.fromkeys((*program.inputs, *loaded.caches)))
    missing = [name for name in needed if name not in inputs]
    if missing:
        listed = ", ".join(missing)
        sentence = f"Es fehlen Eingaben für das Programm: {listed}."
        raise RequestError(f"missing: {listed}", message_de=sentence)
    values = dict(loaded.weights)
    with np.errstate(all="ignore"):
        values |= {name: narrowed(widened(inputs[name]), loaded.type_of(name)) for name in needed}
    calls = []
    for call in program.calls:
        setting = Setting(machine, loaded.type_of(call.output), calibrated(), program.mode)
        operands = tuple(values[name] for name in call.inputs)
        values[call.output], outcome = run_call(call, operands, setting, max_cycles=max_cycles)
        predicted = ceil(cost(call, setting).cycles)
        calls.append(CallCycles(call, outcome.cycles, predicted, outcome.hops))
    outputs = {name: stored(values[name], loaded.type_of(name)) for name in program.outputs}
    return CycleResult(outputs, tuple(calls))


def run_call(
    call: Call, inputs: Inputs, setting: Setting, *, max_cycles: int = MAX_CYCLES
) -> tuple[Array, Outcome]:
    """Run one call on its inputs; return the result, rounded to the element type, and what the fabric did.

    Raises UnsupportedOps, ProgramError, RequestError, Deadlock.
    """
    wavelets = built(call, inputs, setting)
    outcome = simulate(wavelets.image, max_cycles=max_cycles)
    with np.errstate(all="ignore"):
        return narrowed(wavelets.collect(outcome.memory), setting.dtype), outcome


def built(call: Call, inputs: Inputs, setting: Setting) -> Wavelets:
    """Return the wavelet program of a call; raises UnsupportedOps, ProgramError, RequestError."""
    try:
        return program_of(call)(call, inputs, setting)
    except ValueError as error:
        sentence = f"Die Formen der Eingaben passen nicht zur Operation {call.op} (Aufruf {call.index})."
        raise RequestError(f"call {call.index}: {error}", message_de=sentence) from error
