"""Target runs on the emulated wafer: computed, compared with the reference, computed once more from the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from pilots import replay as replays
from pilots.baseline import numpy_run
from pilots.catalog.figures import EMULATED, EXTRAPOLATED, REPEATED, State, by_cause, emulated
from pilots.catalog.hooks import Hooks
from pilots.catalog.model import LoadedModel, Tolerance, load_model, stored_file, workload_fingerprint
from pilots.catalog.porting import porting_facts
from pilots.graph.errors import GraphError
from pilots.graph.ir import Array
from pilots.wafer import emulator, equivalence
from pilots.wafer.errors import WaferError
from pilots.wafer.facts import FRAMEWORKS, NUMPY_REFERENCE, ev04, ev06, ev16, reference_of
from pilots.wafer.listing import listing
from pilots.wafer.machine import MACHINES, Machine
from pilots.wafer.predict import Prediction
from qms.core.jobs import JobFailed
from qms.core.values import Axes, Unit

MACHINE_OF_PROFILE = {"WSE-2": "wse-2", "WSE-3": "wse-3"}
PORTING_SHOWN: Final = (
    *("version", "provenance", "total_ops", "unsupported_ops", "custom_ops"),
    *("partitioning_required", "partitioning_reason"),
)


def machine_of(profile_key: str) -> Machine:
    """Return the emulator's machine of a platform profile; raises KeyError if it has none."""
    return MACHINES[MACHINE_OF_PROFILE[profile_key]]


def emulates(profile_key: str) -> bool:
    """Return whether the emulator has a machine for this platform profile."""
    return profile_key in MACHINE_OF_PROFILE


@dataclass(frozen=True)
class Emulated:
    """A finished target run: facts by evidence type, a summary for pages, validity, replay verdict."""

    facts: dict[str, dict[str, Any]]
    summary: dict[str, Any]
    fingerprint: str
    result_digest: str
    valid: bool
    replay_equal: bool


@dataclass(frozen=True, slots=True)
class RunNote:
    """What a target run knows of itself: ids, times and digests that the evidence repeats."""

    run_id: str
    profile_key: str
    platform: dict[str, Any]
    started_at: str
    criteria_sha256: str


def run_target(parameters: dict[str, Any], *, note: RunNote, tolerance: Tolerance, hooks: Hooks) -> Emulated:
    """Emulate the model, compare with the reference, compute once more; raises JobFailed, CriterionNotMet (G0-5)."""
    model, machine = load_model(parameters), machine_of(note.profile_key)
    try:
        result = _emulate(model, parameters, machine, hooks)
        hooks.check_cancelled()
        again = replays.replay(
            result.manifest,
            fetch=stored_file,
            on_progress=hooks.progress,
            check_cancelled=hooks.check_cancelled,
        )
        own = numpy_run.forward(
            numpy_run.prepare(model.graph, model.weights), model.inputs(parameters, "samples")
        )
    except (WaferError, GraphError, replays.ReplayRefused) as error:
        raise JobFailed(error.message_de) from error
    axes = REPEATED if again.equal else EMULATED
    result = replace(result, metrics=tuple(replace(item, axes=axes) for item in result.metrics))
    proof = _proof(model, result, own, tolerance, run_id=note.run_id)
    mark = workload_fingerprint(model, parameters)
    facts = _facts(model, result, machine, note, proof=proof, again=again, mark=mark)
    return Emulated(
        facts=facts,
        summary=_target_summary(result, machine, facts, axes),
        fingerprint=mark,
        result_digest=result.result_digest,
        valid=result.validity == "GUELTIG",
        replay_equal=again.equal,
    )


def _emulate(
    model: LoadedModel, parameters: dict[str, Any], machine: Machine, hooks: Hooks
) -> emulator.EmulationResult:
    if model.example is not None:
        return emulator.run_example(
            model.graph,
            model.weights,
            model.example,
            file_sha256=model.file_sha256,
            machine=machine,
            on_progress=hooks.progress,
            check_cancelled=hooks.check_cancelled,
        )
    return emulator.run(
        model.graph,
        model.weights,
        inputs_seed=parameters["seed"],
        batch=parameters["samples"],
        machine=machine,
        checkpoint=hooks.checkpoint or None,
        on_progress=hooks.progress,
        on_checkpoint=hooks.save,
        check_cancelled=hooks.check_cancelled,
    )


def _proof(
    model: LoadedModel,
    result: emulator.EmulationResult,
    own: dict[str, Array],
    tolerance: Tolerance,
    *,
    run_id: str,
) -> dict[str, Any]:
    """Return EV-06: beside what a capture says its framework computed, and always beside NumPy on this machine."""

    def beside(reference: Mapping[str, Array]) -> tuple[equivalence.OutputComparison, ...]:
        return equivalence.compare_outputs(model.graph, result.outputs, reference, **asdict(tolerance))

    if model.example is None:
        return ev06(beside(own), run_id=run_id, reference=NUMPY_REFERENCE)
    claimed, reference = beside(model.example.outputs), reference_of(model.trail)
    return ev06(claimed, run_id=run_id, reference=reference, cross_check=beside(own))


def _facts(
    model: LoadedModel,
    result: emulator.EmulationResult,
    machine: Machine,
    note: RunNote,
    *,
    proof: dict[str, Any],
    again: replays.ReplayVerdict,
    mark: str,
) -> dict[str, dict[str, Any]]:
    """Return the facts of every piece of evidence by type; proof: EV-06; mark: workload fingerprint."""
    return {
        "EV-04": ev04(
            result,
            machine,
            run_id=note.run_id,
            platform=note.platform,
            fingerprint=mark,
            criteria_sha256=note.criteria_sha256,
            started_at=note.started_at,
            replay={"digest": again.actual, "equal": again.equal},
        ),
        "EV-05": porting_facts(model, result.op_coverage, machine, run_id=note.run_id),
        "EV-06": proof,
        "EV-16": ev16(
            result,
            run_id=note.run_id,
            fingerprint=mark,
            criteria_sha256=note.criteria_sha256,
            lineage=model.lineage,
            artefact=model.file_sha256,
        ),
    }


def _target_summary(
    result: emulator.EmulationResult, machine: Machine, facts: dict[str, dict[str, Any]], axes: Axes
) -> dict[str, Any]:
    prediction, proof = result.prediction, facts["EV-06"]
    return {
        "metrics": [metric.to_json() for metric in result.metrics],
        "machine": machine.id,
        "mode": result.program.mode.value,
        "causes": _causes(prediction, machine, axes),
        "state": {"code": prediction.trust.state, "reason": prediction.trust.reason},
        "peak_sram_bytes": prediction.resident_bytes,
        "sram_capacity_bytes": machine.sram_bytes,
        "listing": listing(result.program, machine),
        "equivalence": {"outputs": proof["outputs"], "reference": proof["reference"]},
        "porting": _porting_shown(facts["EV-05"]),
        "lineage": facts["EV-16"]["lineage"],
        "open_links": facts["EV-16"]["open_links"],
        "replay_equal": facts["EV-04"]["replay"]["equal"],
        "calibration_note": emulator.calibration_note(),
        "checks": [check.to_json() for check in result.checks],
    }


def _porting_shown(report: dict[str, Any]) -> dict[str, Any]:
    framework = report["framework"]
    return {name: report[name] for name in PORTING_SHOWN} | {
        "framework": FRAMEWORKS.get(framework, framework)
    }


def _causes(prediction: Prediction, machine: Machine, axes: Axes) -> dict[str, Any]:
    """Return the milliseconds of the whole request by cause, the host among them, which no published run holds."""
    found = by_cause(prediction, machine, axes)
    host = prediction.host_seconds.times(1e3)
    found["host"] = emulated("step_host_ms", host, Unit.MILLISECONDS, State(EXTRAPOLATED), axes=axes)
    return {name: figure.metric.to_json() for name, figure in found.items()}
