"""Real numbers through the calls of a program, one call after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from pilots.graph.ir import DType, Weights, rounded
from pilots.wafer.errors import RequestError
from pilots.wafer.handlers.base import Array, Inputs
from pilots.wafer.handlers.table import apply, require_handlers
from pilots.wafer.numerics import narrowed, widened
from pilots.wafer.program import Call, Kernel, Program

Listener = Callable[[Call, Inputs, Array], None]
Cancel = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A program and its weights in the form the handlers take: fp32 holding numbers of their own type.

    caches: names of the KV caches, in the order they are extended; a run needs them beside the inputs. types: of values
    whose type is not that of the program.
    """

    program: Program
    weights: Mapping[str, Array]
    caches: tuple[str, ...]
    last_use: Mapping[str, int]
    types: Mapping[str, DType]

    def type_of(self, name: str) -> DType:
        """Return the floating point type a value is rounded to."""
        return self.types.get(name, self.program.dtype)


def load(program: Program, weights: Weights) -> Loaded:
    """Return a program ready to run; raises UnsupportedOps naming every call without a handler, or RequestError."""
    require_handlers(program)
    computed = {call.output for call in program.calls}
    extended = [call.inputs[0] for call in program.calls if call.kernel is Kernel.CACHE_APPEND]
    caches = tuple(dict.fromkeys(name for name in extended if name not in computed))
    known = computed | {*program.inputs, *caches}
    names = sorted({name for call in program.calls for name in call.inputs} - known)
    missing = [name for name in names if name not in weights]
    if missing:
        raise _missing("Gewichte", missing)
    last_use = {name: call.index for call in program.calls for name in call.inputs}
    types = dict(program.types)
    held = {
        name: np.ascontiguousarray(_held(weights[name], types.get(name, program.dtype))) for name in names
    }
    return Loaded(program, held, caches, last_use, types)


def execute(
    loaded: Loaded,
    inputs: Mapping[str, Array],
    *,
    keep: Iterable[str] = (),
    listener: Listener | None = None,
    check_cancelled: Cancel | None = None,
) -> dict[str, Array]:
    """Run all calls once; return the outputs of the program, and the values named in `keep`, by name.

    Floats come back as fp32 holding numbers of their own type; `stored` gives their final form. The listener sees
    every call with its inputs and its result. check_cancelled is called before every call and may raise. Raises
    RequestError for an input or a cache that is missing or misshapen.
    """
    program = loaded.program
    needed = tuple(dict.fromkeys((*program.inputs, *loaded.caches)))
    missing = [name for name in needed if name not in inputs]
    if missing:
        raise _missing("Eingaben", missing)
    wanted = dict.fromkeys((*program.outputs, *keep))  # in this order the result is handed out
    values = {name: _held(inputs[name], loaded.type_of(name)) for name in needed}
    for call in program.calls:
        if check_cancelled is not None:
            check_cancelled()
        operands = tuple(values[name] if name in values else loaded.weights[name] for name in call.inputs)
        values[call.output] = _applied(call, operands, loaded.type_of(call.output))
        if listener is not None:
            listener(call, operands, values[call.output])
        for name in (*call.inputs, call.output):
            if name not in wanted and loaded.last_use.get(name, -1) <= call.index:
                values.pop(name, None)
    return {name: values[name] if name in values else loaded.weights[name] for name in wanted}


def _applied(call: Call, operands: Inputs, dtype: DType) -> Array:
    try:
        return apply(call, operands, dtype)
    except (ValueError, IndexError) as error:
        shapes = ", ".join(str(operand.shape) for operand in operands)
        sentence = f"Die Formen {shapes} passen nicht zur Operation {call.op} (Aufruf {call.index}); bitte die Eingaben prüfen."
        raise RequestError(f"call {call.index} ({call.op}): {error}", message_de=sentence) from error
    except MemoryError as error:
        sentence = f"Für die Operation {call.op} (Aufruf {call.index}) reicht der Arbeitsspeicher nicht; bitte verkleinern Sie das Modell."
        raise RequestError(f"call {call.index} ({call.op}): out of memory", message_de=sentence) from error


def stored(values: Array, dtype: DType) -> Array:
    """Return values as they are hashed and kept: floats in memory form of `dtype` with one NaN, whole numbers as int32."""
    if values.dtype.kind != "f":
        return values if values.dtype.kind == "b" else values.astype("<i4")
    with np.errstate(all="ignore"):
        return rounded(np.where(np.isnan(values), np.float32(np.nan), values), dtype)


def _held(array: Array, dtype: DType) -> Array:
    with np.errstate(all="ignore"):
        return narrowed(widened(array), dtype)


def _missing(what: str, names: list[str]) -> RequestError:
    listed = ", ".join(names)
    return RequestError(f"missing: {listed}", message_de=f"Es fehlen {what} für das Programm: {listed}.")
