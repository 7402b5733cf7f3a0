"""Ending runs: the result, its evidence and the end of the job become visible in one transaction, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import translation
from django.utils.translation import gettext as _

from pilots.catalog import TableReading
from pilots.choices import ExitState, RunRole, RunSource, RunValidity
from pilots.models import Run
from pilots.platforms import platform_tuple
from pilots.services import handed_in, measuring_keys
from pilots.services.handed_in import ImportedFile
from pilots.services.runs import check_baseline_start, check_none_runs, is_open, run_of_job
from qms.audit.actors import Actor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock, jobs
from qms.core.clock import timestamp
from qms.core.values import Assurance, Axes, Origin, Provenance
from qms.evidence import claim_services
from qms.evidence import services as evidence
from qms.evidence.choices import EvidenceType
from qms.evidence.services import Submission
from qms.roles import guards
from qms.roles.models import Person, User
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
    """One piece of evidence a run brings: its type, title, facts and axes, and the file it was read from."""

    type: EvidenceType
    title: str
    facts: dict[str, Any]
    axes: Axes
    raw: ImportedFile | None = None


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


@audited
def import_baseline(
    *,
    actor: User,
    workload_id: UUID,
    platform_id: UUID,
    files: Sequence[ImportedFile],
    number: int | None = None,
    table: TableReading | None = None,
) -> Run:
    """Take the files of one run as the baseline of a platform in use (P12, P14); a refused file leaves its event.

    number: which run of the file that holds several. A profiler trace becomes EV-01, and alone it is no baseline.
    table: what a person says of the columns of the one file, if it is a table of its own.
    """
    workload = workloads.lock(workload_id, actor=actor)
    guards.require(actor=actor, permission=Permission.START_BASELINE_RUN, workload=workload)
    role = guards.require(actor=actor, permission=Permission.UPLOAD_EVIDENCE, workload=workload)
    platform = check_baseline_start(workload, platform_id)
    check_none_runs(workload, RunRole.BASELINE)
    imported = handed_in.read(files, workload=workload, platform=platform, number=number, table=table)
    own = imported.measurement
    run = Run.objects.create(
        workload=workload,
        role=RunRole.BASELINE.value,
        source=(RunSource.MEASURING_COMMAND if own else RunSource.IMPORT).value,
        platform=platform,
        started_by=actor.person,
        parameters={"files": [file.name for file in files]} | ({"run": number} if number else {}),
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
    axes = {
        EvidenceType.BASELINE_REPORT: replace(IMPORTED, assurance=measuring_keys.assurance_of(imported)),
        EvidenceType.PROFILE: IMPORTED,
    }
    pieces = tuple(
        Piece(kind, title_for(kind, platform.name), data, axes[kind], ImportedFile(*imported.raw[kind.value]))
        for kind, data in ((EvidenceType(code), data) for code, data in facts.items())
    )
    marks = (own.fingerprint, own.sha256) if own else ("", "")
    outcome = Outcome(*marks, imported.summary(), pieces)
    end_imported(run, outcome, actor.audit_actor(role), measured_at=measured_at, producer=actor.person)
    if EvidenceType.BASELINE_REPORT in {piece.type for piece in pieces}:
        criteria.set_pilot_status(workload, PilotStatus.BASELINE)
    return run


def end_imported(
    run: Run, outcome: Outcome, actor: Actor, *, measured_at: datetime, producer: Person
) -> None:
    """End a run whose result was handed in by `producer`, inside the caller's audited command."""
    _end(run, outcome, actor, measured_at=measured_at, producer=producer)


def _end(
    run: Run,
    outcome: Outcome,
    actor: Actor,
    *,
    measured_at: datetime | None = None,
    producer: Person | None = None,
) -> None:
    run.fingerprint, run.result_digest = outcome.fingerprint, outcome.result_digest
    run.summary, run.validity = outcome.summary, outcome.validity.value
    now = clock.now()
    run.exit_state, run.ended_at = ExitState.COMPLETED.value, now
    run.save()
    for piece in outcome.pieces:
        item = evidence.submit(
            actor=actor,
            submission=Submission(
                workload=run.workload,
                type=piece.type,
                title=piece.title,
                facts=piece.facts,
                axes=piece.axes,
                producer=producer or run.started_by,
                measured_at=measured_at or now,
                run_id=run.pk,
                raw=piece.raw.data if piece.raw else b"",
                raw_name=piece.raw.name if piece.raw else "",
                invalid=piece.raw is not None and outcome.validity is RunValidity.INVALID,
            ),
        )
        if piece.type is EvidenceType.TARGET_REPORT:
            claim_services.note_target_report(item, piece.facts, as_actor=actor)
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
    with translation.override("de"):  # stored, so not in the language of whoever hands in
        titles = {
            EvidenceType.PROFILE: _("Profiler-Spur – %(platform)s"),
            EvidenceType.BASELINE_REPORT: _("Baseline-Messbericht – %(platform)s"),
            EvidenceType.TARGET_REPORT: _("Ziellauf-Bericht – %(platform)s"),
            EvidenceType.PORTING: _("Portierungsbericht – %(platform)s"),
            EvidenceType.EQUIVALENCE: _("Numerischer Äquivalenznachweis – %(platform)s"),
            EvidenceType.SCALING: _("Prognose gegen Wirklichkeit – %(platform)s"),
            EvidenceType.LINEAGE: _("Abstammungsmanifest – %(platform)s"),
        }
    return titles[kind] % {"platform": platform_name}
