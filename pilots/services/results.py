"""Ending runs: the result, its evidence and the end of the job become visible in one transaction, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from pilots import catalog
from pilots.choices import ExitState, RunRole, RunSource, RunValidity
from pilots.models import Run
from pilots.platforms import platform_tuple
from pilots.services.runs import check_baseline_start, is_open, run_of_job
from qms.audit.actors import Actor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock, jobs
from qms.core.clock import timestamp
from qms.core.values import Assurance, Axes, Origin, Provenance
from qms.evidence import services as evidence
from qms.evidence.choices import EvidenceType
from qms.evidence.services import Submission
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.workloads import selectors as workloads
from qms.workloads.choices import PilotStatus
from qms.workloads.services import criteria

MEASURED = Axes(Provenance.MEASURED, Assurance.SUBMITTED, Origin.OWN)
EMULATED = Axes(Provenance.EMULATED, Assurance.SUBMITTED, Origin.OWN)
REPLAYED = Axes(Provenance.EMULATED, Assurance.REPEATED, Origin.OWN)
IMPORTED = Axes(Provenance.MEASURED, Assurance.SUBMITTED, Origin.OWN)


@dataclass(frozen=True)
class Piece:
    """One piece of evidence a run brings: its type, title, facts and axes."""

    type: EvidenceType
    title: str
    facts: dict[str, Any]
    axes: Axes


@dataclass(frozen=True)
class Outcome:
    """What a run ends with: fingerprint, digest, a summary for pages, evidence, validity."""

    fingerprint: str
    result_digest: str
    summary: dict[str, Any]
    pieces: tuple[Piece, ...]
    validity: RunValidity = RunValidity.VALID


@audited
def finish_run(*, actor: Actor, ctx: jobs.JobContext, outcome: Outcome) -> Run:
    """Write the result of a run and end its job; raises LeaseLost if another worker took over."""
    run = run_of_job(ctx.job_id)
    jobs.finish(ctx)
    _end(run, outcome, actor)
    target = run.role == RunRole.TARGET
    criteria.set_pilot_status(run.workload, PilotStatus.ASSESSMENT if target else PilotStatus.BASELINE)
    return run


@audited
def fail_run(*, actor: Actor, job_id: UUID, reason: str, state: ExitState = ExitState.FAILED) -> Run:
    """Note that a run ended without a result; nothing of it becomes evidence."""
    run = run_of_job(job_id)
    if is_open(run):
        run.exit_state, run.ended_at, run.failure = state.value, clock.now(), reason
        run.save(update_fields=["exit_state", "ended_at", "failure"])
    kind = AuditKind.RUN_CANCELLED if state is ExitState.CANCELLED else AuditKind.RUN_FAILED
    record(kind, actor=actor, subject=run, facts={"role": run.role}, private={"reason": reason})
    return run


@dataclass(frozen=True)
class ImportedFile:
    """A benchmark file as handed in: its bytes and its name."""

    data: bytes
    name: str


@audited
def import_baseline(
    *, actor: User, workload_id: UUID, platform_id: UUID, file: ImportedFile, number: int | None = None
) -> Run:
    """Take a benchmark file as the baseline of a platform in use (P12, P14); a refused file leaves its event.

    number: which run of the file, if it holds several.
    """
    workload = workloads.lock(workload_id, actor=actor)
    guards.require(actor=actor, permission=Permission.START_BASELINE_RUN, workload=workload)
    role = guards.require(actor=actor, permission=Permission.UPLOAD_EVIDENCE, workload=workload)
    platform = check_baseline_start(workload, platform_id)
    imported = catalog.read_benchmark(file.data, file.name, number)
    run = Run.objects.create(
        workload=workload,
        role=RunRole.BASELINE.value,
        source=RunSource.IMPORT.value,
        platform=platform,
        started_by=actor.person,
        parameters={"file": file.name} | ({"run": number} if number else {}),
        model_digest=workload.model_digest,
        started_at=clock.now(),
    )
    measured_at = imported.measured_at or run.started_at
    facts = imported.facts(
        run_id=str(run.pk),
        platform=platform_tuple(platform),
        model_digest=workload.model_digest,
        measured_at=timestamp(measured_at),
    )
    title = title_for(EvidenceType.BASELINE_REPORT, platform.name)
    piece = Piece(EvidenceType.BASELINE_REPORT, title, facts, IMPORTED)
    outcome = Outcome("", "", imported.summary(), (piece,))
    _end(run, outcome, actor.audit_actor(role), raw=file, measured_at=measured_at)
    criteria.set_pilot_status(workload, PilotStatus.BASELINE)
    return run


def _end(
    run: Run,
    outcome: Outcome,
    actor: Actor,
    *,
    raw: ImportedFile | None = None,
    measured_at: datetime | None = None,
) -> None:
    run.fingerprint, run.result_digest = outcome.fingerprint, outcome.result_digest
    run.summary, run.validity = outcome.summary, outcome.validity.value
    now = clock.now()
    run.exit_state, run.ended_at = ExitState.COMPLETED.value, now
    run.save()
    for piece in outcome.pieces:
        evidence.submit(
            actor=actor,
            submission=Submission(
                workload=run.workload,
                type=piece.type,
                title=piece.title,
                facts=piece.facts,
                axes=piece.axes,
                producer=run.started_by,
                measured_at=measured_at or now,
                run_id=run.pk,
                raw=raw.data if raw else b"",
                raw_name=raw.name if raw else "",
            ),
        )
    record(
        AuditKind.RUN_FINISHED,
        actor=actor,
        subject=run,
        facts={
            "role": run.role,
            "fingerprint": run.fingerprint,
            "result_digest": run.result_digest,
            "validity": run.validity,
        },
        refs=[run.result_digest] if run.result_digest else None,
    )


def title_for(kind: EvidenceType, platform_name: str) -> str:
    """Return the German title of a piece of evidence of a run."""
    titles = {
        EvidenceType.BASELINE_REPORT: _("Baseline-Messbericht – %(platform)s"),
        EvidenceType.TARGET_REPORT: _("Ziellauf-Bericht – %(platform)s"),
        EvidenceType.PORTING: _("Portierungsbericht – %(platform)s"),
        EvidenceType.EQUIVALENCE: _("Numerischer Äquivalenznachweis – %(platform)s"),
        EvidenceType.LINEAGE: _("Abstammungsmanifest – %(platform)s"),
    }
    return titles[kind] % {"platform": platform_name}
