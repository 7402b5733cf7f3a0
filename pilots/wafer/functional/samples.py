"""Samples through a program in small steps, resumable after each of them.

Samples do not influence each other, so the digest does not depend on the number of samples per step, nor on where a
run was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from pilots.graph.ir import Weights, array_sha256
from pilots.wafer.errors import RequestError
from pilots.wafer.functional import checkpoint as states
from pilots.wafer.functional.counting import MultiplyAdds
from pilots.wafer.functional.interpreter import Cancel, Loaded, execute, load, stored
from pilots.wafer.handlers.base import Array, Inputs
from pilots.wafer.program import PRODUCTS, Call, Kernel, Program
from qms.core import canonical

STEP_MULTIPLY_ADDS: Final = 100_000_000  # about a quarter of a second of NumPy work between two checkpoints
STEP_SAMPLES: Final = 64
MAX_OUTPUT_BYTES: Final = 8 * 2**20  # a checkpoint carries the outputs so far
FORMAT: Final = "wafer-checkpoint-2"

Progress = Callable[[int, int], None]
Save = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class FunctionalResult:
    """The first output in the element type of the program, exact counts, and rows that are not finite.

    values: every output by name. samples: length of the first axis of the first output.
    """

    outputs: Array
    multiply_adds: int
    samples: int
    non_finite_samples: int
    values: Mapping[str, Array]


def run(
    program: Program,
    weights: Weights,
    inputs: Array | Mapping[str, Array],
    *,
    checkpoint: Mapping[str, Any] | None = None,
    on_progress: Progress | None = None,
    on_checkpoint: Save | None = None,
    check_cancelled: Cancel | None = None,
) -> FunctionalResult:
    """Compute the outputs of all samples.

    inputs: an array [samples, ...] for the only input of a program whose samples do not influence each other; or all
    inputs by name, computed in one piece and without interim states. checkpoint: a state given to `on_checkpoint`
    earlier; raises CheckpointError if it belongs to another run. check_cancelled is called before every step, or call in
    one piece, and may raise; on_progress gets samples, or calls in one piece, done and all. Raises UnsupportedOps,
    RequestError.
    """
    loaded = load(program, weights)
    if isinstance(inputs, Mapping):
        if checkpoint is not None:
            raise states.broken("a run in one piece has no interim state")
        return _in_one_piece(loaded, inputs, on_progress, check_cancelled)
    _check(program, inputs)
    total, size = len(inputs), step_samples(program)
    run_key = canonical.digest({"program": program.digest(), "inputs": array_sha256(inputs)})
    done, multiply_adds, outputs = _restore(checkpoint, total, run_key)
    while outputs is None or done < total:
        if check_cancelled is not None:
            check_cancelled()
        counter = MultiplyAdds()
        part = inputs[done : done + size]
        values = execute(loaded, {program.inputs[0]: part}, listener=counter)
        name = program.outputs[0]
        outputs = _joined(outputs, stored(values[name], loaded.type_of(name)), total)
        done, multiply_adds = done + len(part), multiply_adds + counter.total
        if on_checkpoint is not None:
            content = {
                "samples_done": done,
                "multiply_adds": multiply_adds,
                "outputs": states.to_json(outputs),
            }
            on_checkpoint(states.seal(FORMAT, run_key, content))
        if on_progress is not None:
            on_progress(done, total)
    return _result(program, {program.outputs[0]: outputs}, multiply_adds)


def _check(program: Program, inputs: Array) -> None:
    if len(program.inputs) != 1:
        sentence = f"Das Programm hat {len(program.inputs)} Eingaben; bitte jede mit ihrem Namen angeben."
        raise RequestError(f"{len(program.inputs)} inputs need names", message_de=sentence)
    if not inputs.ndim or not len(inputs):
        sentence = "Der Stapel ist leer; bitte mindestens eine Eingabe angeben."
        raise RequestError("no samples", message_de=sentence)


def step_samples(program: Program) -> int:
    """Return how many samples one step takes, so that a checkpoint is never far away: whole micro-batches."""
    products = (*PRODUCTS, Kernel.CONVOLUTION)
    work = sum(prod(call.shape) for call in program.calls if call.kernel in products)
    per_sample = max(1, work // program.micro_batch)
    wanted = min(STEP_SAMPLES, STEP_MULTIPLY_ADDS // per_sample)
    return max(1, wanted // program.micro_batch) * program.micro_batch


def _in_one_piece(
    loaded: Loaded, inputs: Mapping[str, Array], on_progress: Progress | None, check_cancelled: Cancel | None
) -> FunctionalResult:
    counter, total = MultiplyAdds(), len(loaded.program.calls)

    def listen(call: Call, operands: Inputs, output: Array) -> None:
        counter(call, operands, output)
        if on_progress is not None:
            on_progress(call.index + 1, total)

    results = execute(loaded, inputs, listener=listen, check_cancelled=check_cancelled)
    values = {name: stored(results[name], loaded.type_of(name)) for name in results}
    return _result(loaded.program, values, counter.total)


def _result(program: Program, values: Mapping[str, Array], multiply_adds: int) -> FunctionalResult:
    outputs = values[program.outputs[0]]
    rows = outputs.reshape(len(outputs), -1) if outputs.ndim else outputs.reshape(1, 1)
    finite = np.isfinite(rows).all(axis=1)
    failed = len(rows) - int(np.count_nonzero(finite))
    return FunctionalResult(outputs, multiply_adds, len(rows), failed, values)


def _restore(state: Mapping[str, Any] | None, total: int, run_key: str) -> tuple[int, int, Array | None]:
    """Return samples done, their multiply-adds and outputs."""
    if state is None:
        return 0, 0, None
    content = states.unseal(state, FORMAT, run_key)
    done = states.count(content, "samples_done", total)
    multiply_adds = states.count(content, "multiply_adds", canonical.MAX_SAFE_INTEGER)
    outputs = states.from_json(content.get("outputs"))
    if not done or not outputs.ndim or len(outputs) != done:
        raise states.broken(f"checkpoint holds {outputs.shape} for {done} samples")
    return done, multiply_adds, outputs


def _joined(outputs: Array | None, part: Array, total: int) -> Array:
    """Return the outputs so far and the new ones; raises RequestError if all `total` of them would be too many bytes."""
    size = part.nbytes // len(part) * total
    if size > MAX_OUTPUT_BYTES:
        sentence = f"Die Ausgaben sind größer als {MAX_OUTPUT_BYTES} Byte; bitte den Stapel verkleinern."
        raise RequestError(f"outputs of {size} B exceed {MAX_OUTPUT_BYTES} B", message_de=sentence)
    if outputs is None:
        return part
    if outputs.shape[1:] != part.shape[1:] or outputs.dtype != part.dtype:
        raise states.broken(f"checkpoint holds outputs of shape {outputs.shape}, not {part.shape}")
    return np.concatenate([outputs, part])
