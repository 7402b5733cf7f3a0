"""Target runs on the emulated wafer: computed, compared with this machine's own result, computed once more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pilots import replay as replays
from pilots.baseline import numpy_run
from pilots.catalog.figures import EMULATED, EXTRAPOLATED, REPEATED, State, by_cause, emulated
from pilots.catalog.hooks import Hooks
from pilots.catalog.model import load_model, workload_fingerprint
from pilots.graph.ir import Graph, Weights
from pilots.graph.mlp import input_samples
from pilots.wafer import emulator, equivalence
from pilots.wafer.errors import WaferError
from pilots.wafer.facts import ev04, ev06, ev16
from pilots.wafer.listing import listing
from pilots.wafer.machine import MACHINES, Machine
from pilots.wafer.predict import Prediction
from qms.core.jobs import JobFailed
from qms.core.values import Axes, Unit

MACHINE_OF_PROFILE = {"WSE-2": "wse-2", "WSE-3": "wse-3"}


def machine_of(profile_key: str) -> Machine:
    """Return the emulator's machine of a platform profile; raises KeyError if it has none."""
    return MACHINES[MACHINE_OF_PROFILE[profile_key]]


def emulates(profile_key: str) -> bool:
    """Return whether the emulator has a machine for this platform profile."""
    return profile_key in MACHINE_OF_PROFILE


@dataclass(frozen=True)
class Emulated:
    """A finished target run: facts of EV-04, EV-06, EV-16, a summary for pages, validity, replay verdict."""

    ev04: dict[str, Any]
    ev06: dict[str, Any]
    ev16: dict[str, Any]
    summary: dict[str, Any]
    fingerprint: str
    result_digest: str
    valid: bool
    replay_equal: bool


def run_target(
    parameters: dict[str, Any],
    *,
    run_id: str,
    profile_key: str,
    platform: dict[str, Any],
    started_at: str,
    criteria_sha256: str,
    rtol: float,
    hooks: Hooks,
) -> Emulated:
    """Emulate the model, compare with this machine's own result, compute once more; raises JobFailed."""
    graph, weights = load_model(parameters["model_text"])
    batch, seed = parameters["samples"], parameters["seed"]
    machine = machine_of(profile_key)
    try:
        result = emulator.run(
            graph,
            weights,
            inputs_seed=seed,
            batch=batch,
            machine=machine,
            checkpoint=hooks.checkpoint or None,
            on_progress=hooks.progress,
            on_checkpoint=hooks.save,
            check_cancelled=hooks.check_cancelled,
        )
        hooks.check_cancelled()
        again = replays.replay(
            result.manifest, on_progress=hooks.progress, check_cancelled=hooks.check_cancelled
        )
    except (WaferError, replays.ReplayRefused) as error:
        raise JobFailed(error.message_de) from error
    axes = REPEATED if again.equal else EMULATED
    result = replace(result, metrics=tuple(replace(item, axes=axes) for item in result.metrics))
    compared = equivalence.compare("y", result.outputs, _reference(graph, weights, seed, batch), rtol=rtol)
    mark = workload_fingerprint(parameters["model_text"], batch=parameters["batch"], seed=seed)
    return Emulated(
        ev04=ev04(
            result,
            machine,
            run_id=run_id,
            platform=platform,
            fingerprint=mark,
            criteria_sha256=criteria_sha256,
            started_at=started_at,
            replay={"digest": again.actual, "equal": again.equal},
        ),
        ev06=ev06([compared], run_id=run_id),
        ev16=ev16(result, run_id=run_id, fingerprint=mark, criteria_sha256=criteria_sha256),
        summary=_target_summary(result, machine, compared.to_json(), again, axes),
        fingerprint=mark,
        result_digest=result.result_digest,
        valid=result.validity == "GUELTIG",
        replay_equal=again.equal,
    )


def _reference(graph: Graph, weights: Weights, seed: int, batch: int) -> Any:
    inputs = input_samples(graph, inputs_seed=seed, batch=batch)
    return numpy_run.forward(graph, numpy_run.prepared(weights), inputs)


def _target_summary(
    result: emulator.EmulationResult,
    machine: Machine,
    compared: dict[str, Any],
    again: replays.ReplayVerdict,
    axes: Axes,
) -> dict[str, Any]:
    prediction = result.prediction
    return {
        "metrics": [metric.to_json() for metric in result.metrics],
        "machine": machine.id,
        "mode": result.program.mode.value,
        "causes": _causes(prediction, machine, axes),
        "state": {"code": prediction.trust.state, "reason": prediction.trust.reason},
        "peak_sram_bytes": prediction.resident_bytes,
        "sram_capacity_bytes": machine.sram_bytes,
        "listing": listing(result.program, machine),
        "equivalence": compared,
        "replay_equal": again.equal,
        "calibration_note": emulator.calibration_note(),
        "checks": [check.to_json() for check in result.checks],
    }


def _causes(prediction: Prediction, machine: Machine, axes: Axes) -> dict[str, Any]:
    """Return the milliseconds of the whole request by cause, the host among them, which no published run holds."""
    found = by_cause(prediction, machine, axes)
    host = prediction.host_seconds.times(1e3)
    found["host"] = emulated("step_host_ms", host, Unit.MILLISECONDS, State(EXTRAPOLATED), axes=axes)
    return {name: figure.metric.to_json() for name, figure in found.items()}
