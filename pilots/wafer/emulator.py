"""One emulated run: compile, predict, compute, check, and say honestly what the figures are worth.

Times are model time of a hardware model with open research kernels; outputs are "mit Emulatornumerik berechnet".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pilots.graph.capture import Example
from pilots.graph.capture import example as examples
from pilots.graph.fingerprint import batch_of
from pilots.graph.ir import Array, Graph, Weights, array_bytes, array_sha256
from pilots.graph.mlp import input_samples
from pilots.graph.spec import verify as verify_graph
from pilots.wafer import functional, plausibility
from pilots.wafer.compiler import ALL_KERNELS, Request, compile_graph
from pilots.wafer.costs.constants import calibrated, record
from pilots.wafer.costs.kernels import Setting, cost
from pilots.wafer.costs.terms import Span
from pilots.wafer.limits import check_size
from pilots.wafer.machine import Machine
from pilots.wafer.manifest import manifest, named_result, samples_result
from pilots.wafer.memory import region_bytes
from pilots.wafer.predict import Prediction, predict
from pilots.wafer.program import Kernel, Program
from qms.core import canonical
from qms.core.values import Assurance, Axes, Calibration, Interval, Metric, Origin, Provenance, Unit, rounded

NUMERICS_NOTE: Final = "mit Emulatornumerik berechnet"
DETERMINISM_NOTE: Final = "deterministisch: alle Perzentile gleich"
ENERGY_NOTE: Final = "Leistungsangabe des Herstellers × Modellzeit, nicht gemessen"
AXES: Final = Axes(Provenance.EMULATED, Assurance.SUBMITTED, Origin.OWN)


@dataclass(frozen=True, slots=True)
class EmulationResult:
    """Everything a run yields. `validity` is GUELTIG or UNGUELTIG (EM-11); `manifest` allows the replay.

    outputs: by name, in the order of the graph, in memory form of their types.
    """

    outputs: dict[str, Array]
    metrics: tuple[Metric, ...]
    program: Program
    prediction: Prediction
    op_coverage: tuple[OpMatch, ...]
    checks: tuple[plausibility.Check, ...]
    validity: str
    result_digest: str
    manifest: dict[str, Any]

    @property
    def manifest_sha256(self) -> str:
        """Digest of the canonical manifest."""
        return canonical.digest(self.manifest)


def run(
    graph: Graph,
    weights: Weights,
    *,
    inputs_seed: int,
    batch: int,
    machine: Machine,
    kernels: tuple[Kernel, ...] = ALL_KERNELS,
    checkpoint: Mapping[str, Any] | None = None,
    on_progress: functional.Progress | None = None,
    on_checkpoint: functional.Save | None = None,
    check_cancelled: functional.Cancel | None = None,
) -> EmulationResult:
    """Run `batch` seeded samples through a graph of one input and one output on an emulated machine.

    Raises GraphError, UnsupportedOps, DoesNotFit, RequestError, CheckpointError; whatever check_cancelled raises
    passes through. The result does not depend on interruptions.
    """
    verify_graph(graph, weights)
    program = compile_graph(graph, machine, Request(batch=batch, kernels=kernels))
    prediction = predict(program, machine, batch=batch)
    check_size(graph, prediction, batch=min(batch, functional.step_samples(program)))
    inputs = input_samples(graph, inputs_seed=inputs_seed, batch=batch)
    computed = functional.run(
        program,
        weights,
        inputs,
        checkpoint=checkpoint,
        on_progress=on_progress,
        on_checkpoint=on_checkpoint,
        check_cancelled=check_cancelled,
    )
    parts = {
        "model": dict(graph.recipe),
        "kernels": sorted(item.value for item in kernels),
        "inputs": {"seed": inputs_seed, "batch": batch, "sha256": array_sha256(inputs)},
        "result": samples_result(computed.outputs),
    }
    return _result(graph, program, machine, prediction, computed=computed, parts=parts)


def run_example(
    graph: Graph,
    weights: Weights,
    example: Example,
    *,
    file_sha256: str,
    machine: Machine,
    kernels: tuple[Kernel, ...] = ALL_KERNELS,
    on_progress: functional.Progress | None = None,
    check_cancelled: functional.Cancel | None = None,
) -> EmulationResult:
    """Run a captured graph on its example inputs; the outputs of the example are not looked at.

    file_sha256: of the capture, as the manifest names it. on_progress gets (calls done, all), check_cancelled comes
    before every call. Raises GraphError, UnsupportedOps, DoesNotFit, RequestError.
    """
    verify_graph(graph, weights)
    examples.verify(graph, example)
    batch = batch_of(graph, example.inputs)
    program = compile_graph(graph, machine, Request(batch=batch, kernels=kernels))
    prediction = predict(program, machine, batch=batch, moved_bytes=_moved_bytes(graph, example))
    check_size(graph, prediction, batch=batch)
    computed = functional.run(
        program, weights, example.inputs, on_progress=on_progress, check_cancelled=check_cancelled
    )
    parts = {
        "model": {"kind": "capture", "file_sha256": file_sha256},
        "kernels": sorted(item.value for item in kernels),
        "inputs": {"kind": "example", "batch": batch, "sha256": example.inputs_sha256},
        "result": named_result(graph, computed.values),
    }
    return _result(graph, program, machine, prediction, computed=computed, parts=parts)


def _moved_bytes(graph: Graph, example: Example) -> int:
    """Return the bytes of all inputs and outputs, which pass between host and wafer."""
    types = graph.tensors()
    arrays = (*example.inputs.items(), *example.outputs.items())
    return sum(len(array_bytes(array, types[name].dtype)) for name, array in arrays)


@dataclass(frozen=True, slots=True)
class OpMatch:
    """One operation of the graph and the kernel that runs it."""

    op: str
    position: str
    kernel: str


def _result(
    graph: Graph,
    program: Program,
    machine: Machine,
    prediction: Prediction,
    *,
    computed: functional.FunctionalResult,
    parts: Mapping[str, Any],
) -> EmulationResult:
    checks = plausibility.check(program, machine, prediction)
    written = manifest(graph, program, machine, prediction, parts)
    return EmulationResult(
        outputs=dict(computed.values),
        metrics=_metrics(prediction, prediction.batch, _failed(graph, computed.values, prediction.batch)),
        program=program,
        prediction=prediction,
        op_coverage=coverage(program),
        checks=checks,
        validity="GUELTIG" if all(item.holds for item in checks) else "UNGUELTIG",
        result_digest=written["result_digest"],
        manifest=written,
    )


def _failed(graph: Graph, outputs: Mapping[str, Array], batch: int) -> int:
    """Return how many samples have a number in some output that is not finite."""
    types = graph.tensors()
    failed = np.zeros(batch, dtype=np.bool_)
    for name, array in outputs.items():
        finite = np.isfinite(array)
        opened = types[name].shape[0] is None
        failed |= ~(finite.reshape(batch, -1).all(axis=1) if opened else finite.all())
    return int(np.count_nonzero(failed))


def calibration_note() -> str:
    """Return what every result says about itself (EM-02)."""
    families = record()["families"].values()
    runs = {name for family in families for name in family.get("fitted_on", ())}
    return (
        f"Hardwaremodell mit offenen Forschungskernen, kalibriert an {len(runs)} veröffentlichten Läufen auf Silizium; "
        "nicht die Software des Herstellers."
    )


def coverage(program: Program) -> tuple[OpMatch, ...]:
    """Return every operation of the graph with the kernel that runs it in this program."""
    return tuple(OpMatch(call.op, f"node {call.index}", call.kernel.value) for call in program.calls)


def pe_maps(program: Program, machine: Machine) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return per element (row, column) of the first system the SRAM high-water mark in bytes and the share of a pass
    it computes.
    """
    shape = (machine.height_pes.value, machine.width_pes.value)
    memory = np.zeros(shape, dtype=np.int32)
    busy = np.zeros(shape, dtype=np.float32)
    setting, types = Setting(machine, program.dtype, calibrated(), program.mode), dict(program.types)
    costs = [
        (call.region, cost(call, replace(setting, dtype=types.get(call.output, program.dtype))))
        for call in program.calls
    ]
    total = sum(terms.cycles for _, terms in costs)
    for index, (region, used) in enumerate(zip(program.regions, region_bytes(program, machine), strict=True)):
        if region.system == 0:
            rect = region.rect
            area = (slice(rect.y, rect.y + rect.height), slice(rect.x, rect.x + rect.width))
            memory[area] = used
            busy[area] = sum(terms.compute for place, terms in costs if place == index) / total
    return memory, busy


def _metrics(prediction: Prediction, batch: int, failed: int) -> tuple[Metric, ...]:
    # Host and energy are measured on none of the published runs, so a whole request is never calibrated.
    seconds, state = prediction.request_seconds, Calibration.EXTRAPOLATED
    rate, milliseconds = seconds.inverse(batch), seconds.times(1e3)
    per_sample = prediction.request_joules.times(1 / batch)
    resident = float(prediction.resident_bytes)
    memory = Span(resident, resident, float(prediction.resident_upper_bytes))
    errors = Span(failed / batch, failed / batch, failed / batch)
    latency = tuple(
        _metric(
            "e2e_latency_ms",
            milliseconds,
            Unit.MILLISECONDS,
            state,
            note=DETERMINISM_NOTE,
            percentile=percentile,
        )
        for percentile in ("p50", "p95", "p99")
    )
    return (
        _metric("throughput_samples_s", rate, Unit.SAMPLES_PER_SECOND, state, note=calibration_note()),
        *latency,
        _metric("peak_memory_bytes", memory, Unit.BYTES, state, note=calibration_note()),
        _metric("error_rate", errors, Unit.RATIO, state, note=NUMERICS_NOTE),
        _metric("energy_joules_per_sample", per_sample, Unit.JOULES, state, note=ENERGY_NOTE),
    )


def _metric(
    key: str, span: Span, unit: Unit, calibration: Calibration, *, note: str, percentile: str | None = None
) -> Metric:
    digits = 12 if unit is Unit.BYTES else 6
    return Metric(
        key=key,
        value=rounded(span.value, digits),
        unit=unit,
        axes=AXES,
        n=1 if percentile else None,
        percentile=percentile,
        interval=Interval(rounded(span.lower, digits), rounded(span.upper, digits)),
        calibration=calibration,
        note=note,
    )
