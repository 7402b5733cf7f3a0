"""Facts of an emulated run as the evidence files EV-04, EV-06 and EV-16 hold them. Ids and times come from the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pilots.graph.lineage import Lineage
from pilots.graph.trail import Trail, plain
from pilots.wafer.emulator import NUMERICS_NOTE, EmulationResult, calibration_note
from pilots.wafer.equivalence import OutputComparison
from pilots.wafer.machine import Machine
from pilots.wafer.manifest import EMULATOR_VERSION

NUMPY_REFERENCE: Final = "NumPy auf diesem Rechner"
FRAMEWORKS: Final = {"pytorch": "PyTorch", "jax": "JAX", "onnx": "ONNX"}


def ev04(
    result: EmulationResult,
    machine: Machine,
    *,
    run_id: str,
    platform: Mapping[str, Any],
    fingerprint: str,
    criteria_sha256: str,
    started_at: str,
    replay: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the target metrics (EV-04); `replay` is {"digest", "equal"} once the run has been computed again."""
    facts: dict[str, Any] = {
        "type": "EV-04",
        "run_id": run_id,
        "role": "ZIEL",
        "source": "EMULATOR",
        "platform": dict(platform),
        "fingerprint": fingerprint,
        "model_digest": result.manifest["model_digest"],
        "metrics": [item.to_json() for item in result.metrics],
        "mode": result.program.mode.value,
        "peak_sram_bytes": result.prediction.resident_bytes,
        "sram_capacity_bytes": machine.sram_bytes,
        "off_wafer_bytes": result.prediction.off_wafer_bytes,
        "unsupported_ops": [item.op for item in result.op_coverage if not item.kernel],
        "op_coverage": [{"op": item.op, "kernel": item.kernel} for item in result.op_coverage],
        "result_digest": result.result_digest,
        "criteria_sha256": criteria_sha256,
        "started_at": started_at,
        "machine_sha256": machine.sha256(),
        "program_digest": result.program.digest(),
        "emulator_version": EMULATOR_VERSION,
        "calibration_note": calibration_note(),
        "validity": result.validity,
        "plausibility": [item.to_json() for item in result.checks],
    }
    return facts if replay is None else facts | {"replay": dict(replay)}


def reference_of(trail: Trail) -> str:
    """Return who computed the outputs a capture is compared with, as its file claims: framework and release."""
    name = FRAMEWORKS.get(trail.framework, plain(trail.framework) or "das Framework")
    return f"{name} {trail.version}".strip() + " (laut Aufzeichnung des Einreichers)"


def ev06(
    comparisons: Sequence[OutputComparison],
    *,
    run_id: str,
    reference: str,
    cross_check: Sequence[OutputComparison] = (),
) -> dict[str, Any]:
    """Return the numeric equivalence proof (EV-06) with the note of EM-06; reference: who computed the other side.

    cross_check: the same outputs beside NumPy on this machine, where the reference is only claimed.
    """
    facts: dict[str, Any] = {
        "type": "EV-06",
        "run_id": run_id,
        "outputs": [item.to_json() for item in comparisons],
        "note": NUMERICS_NOTE,
        "reference": reference,
    }
    own = {"reference": NUMPY_REFERENCE, "outputs": [item.to_json() for item in cross_check]}
    return facts | {"cross_check": own} if cross_check else facts


def ev16(
    result: EmulationResult,
    *,
    run_id: str,
    fingerprint: str,
    criteria_sha256: str,
    lineage: Lineage | None = None,
    artefact: str = "",
) -> dict[str, Any]:
    """Return the run manifest with its lineage as evidence (EV-16).

    artefact: SHA-256 of the file the model came from, "" for a model made from its text. open_links names what nobody
    stated: a gap is shown, not filled.
    """
    given = lineage or Lineage()
    links = given.to_json() | {
        "inputs_sha256": result.manifest["inputs"]["sha256"],
        "run_id": run_id,
        "artefact": artefact,
    }
    return {
        "type": "EV-16",
        "run_id": run_id,
        "manifest": result.manifest,
        "manifest_sha256": result.manifest_sha256,
        "fingerprint": fingerprint,
        "criteria_sha256": criteria_sha256,
        "lineage": links,
        "open_links": sorted(name for name, value in links.items() if not value),
    }
