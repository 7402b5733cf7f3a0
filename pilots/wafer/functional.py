"""The second interpreter: real numbers through a program, with exact counts and a resumable state.

A step takes a few samples through all stages. Samples do not influence each other, so the digest does not depend on
the number of samples per step, nor on where a run was interrupted. Tiles that lie side by side are one array axis.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pilots.graph.ir import Array, DType, Weights, array_sha256
from pilots.wafer import numerics
from pilots.wafer.errors import CheckpointError, RequestError
from pilots.wafer.program import Kernel, Program, Stage
from qms.core import canonical

STEP_MULTIPLY_ADDS: Final = 100_000_000  # about a quarter of a second of NumPy work between two checkpoints
STEP_SAMPLES: Final = 64
MAX_OUTPUT_BYTES: Final = 8 * 2**20  # a checkpoint carries the outputs so far

Progress = Callable[[int, int], None]
Save = Callable[[dict[str, Any]], None]
Cancel = Callable[[], None]
Unary = Callable[[numerics.Float], numerics.Float]
ACTIVATIONS: Final[dict[str, Unary]] = {
    "relu": numerics.relu,
    "gelu": numerics.gelu,
    "sigmoid": numerics.sigmoid,
    "tanh": numerics.tanh,
    "softmax": numerics.softmax,
}
BINARY: Final[dict[str, Any]] = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


@dataclass(frozen=True, slots=True)
class FunctionalResult:
    """Outputs in the element type of the program, exact counts, and how many steps it took."""

    outputs: Array
    multiply_adds: int
    samples: int
    non_finite_samples: int


def run(
    program: Program,
    weights: Weights,
    inputs: Array,
    *,
    checkpoint: Mapping[str, Any] | None = None,
    on_progress: Progress | None = None,
    on_checkpoint: Save | None = None,
    check_cancelled: Cancel | None = None,
) -> FunctionalResult:
    """Compute the outputs of all samples.

    checkpoint: a state given to `on_checkpoint` earlier; raises CheckpointError if it belongs to another run.
    check_cancelled is called before every step and may raise; nothing is lost but the step.
    """
    total = inputs.shape[0]
    width = program.stages[-1].n
    if total * width * program.dtype.item_bytes > MAX_OUTPUT_BYTES:
        sentence = f"Die Ausgaben sind größer als {MAX_OUTPUT_BYTES} Byte; bitte den Stapel verkleinern."
        raise RequestError(f"{total} x {width} outputs exceed {MAX_OUTPUT_BYTES} B", message_de=sentence)
    run_key = canonical.digest({"program": program.digest(), "inputs": array_sha256(inputs)})
    outputs = np.zeros((total, width), dtype=program.dtype.little_endian)
    done = _restore(checkpoint, outputs, run_key) if checkpoint else 0
    wide = _as_float32(program, weights)
    size = step_samples(program)
    while done < total:
        if check_cancelled is not None:
            check_cancelled()
        until = min(done + size, total)
        outputs[done:until] = forward(program, wide, inputs[done:until])
        done = until
        if on_checkpoint is not None:
            on_checkpoint(_state(outputs, done, run_key))
        if on_progress is not None:
            on_progress(done, total)
    finite = np.isfinite(outputs.astype(np.float32)).all(axis=1)
    per_sample = sum(stage.k * stage.n for stage in program.stages)
    return FunctionalResult(outputs, per_sample * total, total, int(total - np.count_nonzero(finite)))


def step_samples(program: Program) -> int:
    """Return how many samples one step takes, so that a checkpoint is never far away."""
    per_sample = sum(stage.k * stage.n for stage in program.stages)
    return max(1, min(STEP_SAMPLES, STEP_MULTIPLY_ADDS // per_sample))


def forward(program: Program, weights: Mapping[str, numerics.Float], inputs: Array) -> Array:
    """Return the outputs of a few samples; `weights` hold fp32 copies, values are rounded between stages."""
    values = inputs.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for stage in program.stages:
            values = _stage(stage, weights, values)
            if program.dtype is DType.FLOAT16:
                values = values.astype(np.float16).astype(np.float32)
        return values.astype(program.dtype.little_endian)


def _stage(stage: Stage, weights: Mapping[str, numerics.Float], values: numerics.Float) -> numerics.Float:
    weight = weights[stage.weight]
    if stage.kernel is Kernel.SUMMA:
        values = numerics.accumulate_product(values, weight)  # one running sum over all steps
    else:
        values = numerics.chained_product(values, weight, stage.tile_k)
    for op, constant in stage.epilogue:
        if constant:
            values = np.asarray(BINARY[op](values, weights[constant][None, :]))
        else:
            values = ACTIVATIONS[op](values)
    return values


def _as_float32(program: Program, weights: Weights) -> dict[str, numerics.Float]:
    names = {stage.weight for stage in program.stages}
    names |= {constant for stage in program.stages for _, constant in stage.epilogue if constant}
    return {name: np.ascontiguousarray(weights[name], dtype=np.float32) for name in sorted(names)}


def _state(outputs: Array, done: int, run_key: str) -> dict[str, Any]:
    raw = outputs[:done].tobytes()
    return {
        "format": "wafer-checkpoint-1",
        "run_key": run_key,
        "samples_done": done,
        "outputs": base64.b64encode(raw).decode("ascii"),
        "sha256": canonical.sha256_hex(raw),
    }


def _restore(state: Mapping[str, Any], outputs: npt.NDArray[Any], run_key: str) -> int:
    sentence = "Der Zwischenstand ist beschädigt oder gehört zu einem anderen Lauf."
    try:
        raw = base64.b64decode(state["outputs"], validate=True)
        done, key, sha256 = state["samples_done"], state["run_key"], state["sha256"]
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise CheckpointError(f"checkpoint is malformed: {error!r}", message_de=sentence) from error
    size = outputs[:1].nbytes
    if type(done) is not int or not 0 <= done <= outputs.shape[0] or len(raw) != done * size:
        raise CheckpointError(f"checkpoint holds {len(raw)} B for {done} samples", message_de=sentence)
    if key != run_key or sha256 != canonical.sha256_hex(raw):
        raise CheckpointError("checkpoint belongs to another run or was changed", message_de=sentence)
    outputs[:done] = np.frombuffer(raw, dtype=outputs.dtype).reshape(done, outputs.shape[1])
    return done
