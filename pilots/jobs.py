"""The work behind runs: the baseline is measured, the wafer is emulated, each with checkpoints and cancel."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any
from uuid import UUID

from pilots import catalog
from pilots.choices import ExitState, RunValidity
from pilots.models import Run
from pilots.platforms import platform_tuple
from pilots.services import results
from pilots.services.results import Outcome, Piece
from pilots.services.runs import BASELINE_JOB, TARGET_JOB
from qms.audit.actors import EMULATOR, SYSTEM
from qms.core.clock import timestamp
from qms.core.jobs import JobContext, register
from qms.evidence.choices import EvidenceType
from qms.gates import services as gates


def _failed(job_id: UUID, reason: str) -> None:
    results.fail_run(actor=SYSTEM, job_id=job_id, reason=reason)


def _cancelled(job_id: UUID, reason: str) -> None:
    results.fail_run(actor=SYSTEM, job_id=job_id, reason=reason, state=ExitState.CANCELLED)


@register(BASELINE_JOB, isolated=True, on_failure=_failed, on_cancel=_cancelled)
def measure_baseline(ctx: JobContext) -> None:
    """Measure the model of the run on this machine and hand in EV-02."""
    run = _run(ctx)
    measured = catalog.run_baseline(
        run.parameters,
        run_id=str(run.pk),
        platform=platform_tuple(run.platform),
        measured_at=timestamp(run.started_at),
        clock_ns=perf_counter_ns,
        hooks=_hooks(ctx, "Messung"),
    )
    piece = Piece(
        EvidenceType.BASELINE_REPORT,
        results.title_for(EvidenceType.BASELINE_REPORT, run.platform.name),
        measured.facts,
        results.MEASURED,
    )
    results.finish_run(
        actor=EMULATOR,
        ctx=ctx,
        outcome=Outcome(measured.fingerprint, measured.digest, measured.summary, (piece,)),
    )


@register(TARGET_JOB, isolated=True, on_failure=_failed, on_cancel=_cancelled)
def emulate_target(ctx: JobContext) -> None:
    """Emulate the model of the run on the wafer and hand in EV-04, EV-06 and EV-16."""
    run = _run(ctx)
    emulated = catalog.run_target(
        run.parameters,
        run_id=str(run.pk),
        profile_key=run.platform.key,
        platform=platform_tuple(run.platform),
        started_at=timestamp(run.started_at),
        criteria_sha256=run.criteria_sha256,
        rtol=float(gates.policy().number("POL-06", "fp32_rtol")),
        hooks=_hooks(ctx, "Emulation"),
    )
    axes = results.REPLAYED if emulated.replay_equal else results.EMULATED
    facts: list[tuple[EvidenceType, dict[str, Any]]] = [
        (EvidenceType.TARGET_REPORT, emulated.ev04),
        (EvidenceType.EQUIVALENCE, emulated.ev06),
        (EvidenceType.LINEAGE, emulated.ev16),
    ]
    pieces = tuple(
        Piece(kind, results.title_for(kind, run.platform.name), data, axes) for kind, data in facts
    )
    validity = RunValidity.VALID if emulated.valid else RunValidity.INVALID
    outcome = Outcome(emulated.fingerprint, emulated.result_digest, emulated.summary, pieces, validity)
    results.finish_run(actor=EMULATOR, ctx=ctx, outcome=outcome)


def _run(ctx: JobContext) -> Run:
    return Run.objects.select_related("workload", "platform").get(job_id=ctx.job_id)


def _hooks(ctx: JobContext, name: str) -> catalog.Hooks:
    def progress(done: int, total: int) -> None:
        ctx.progress(done * 1000 // max(total, 1), f"{name}: {done}/{total}")

    return catalog.Hooks(
        checkpoint=ctx.checkpoint or None,
        progress=progress,
        save=ctx.save_checkpoint,
        check_cancelled=ctx.check_cancelled,
    )
