"""Replays: a finished target run computed again from its manifest in EV-16 (S019, EM-14). They change nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils.translation import gettext as _

from pilots import selectors
from pilots.choices import ExitState, RunRole
from pilots.models import Replay, Run
from qms.audit.actors import Actor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock, jobs, store
from qms.core.errors import CriterionNotMet, NotVisible, WrongState
from qms.core.jobs import JobFailed
from qms.core.models import Job
from qms.core.tasks import enqueue_job
from qms.evidence import selectors as evidence
from qms.evidence import services as evidence_services
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.workloads.services import model_file

if TYPE_CHECKING:
    from pilots.replay import ReplayVerdict

REPLAY_JOB = "pilots.replay"
# Who may read the record of a workload may check it: a replay is worth most in the hands of somebody else.
CHECK_RECORD = Permission.READ_AUDIT


@audited
def start_replay(*, actor: User, run_id: UUID) -> Replay:
    """Compute a finished target run again, as a job (P33); raises WrongState while another replay of it is open."""
    found = selectors.get(run_id, actor=actor)
    role = guards.require(actor=actor, permission=CHECK_RECORD, workload=found.workload)
    run = Run.objects.select_for_update(of=("self",)).get(pk=found.pk)
    if run.role != RunRole.TARGET or run.exit_state != ExitState.COMPLETED or manifest_item(run) is None:
        raise WrongState(
            _("Nachrechnen lässt sich nur ein beendeter Ziellauf mit Laufmanifest (EV-16)."),
            id="EM-14",
            next_step=_("Bitte warten Sie das Ende des Laufs ab."),
        )
    if run.replays.filter(ended_at__isnull=True).exists():
        raise WrongState(
            _("Dieser Lauf wird gerade nachgerechnet."),
            id="EM-14",
            next_step=_("Bitte warten Sie das Ergebnis ab; es erscheint auf der Seite des Laufs."),
        )
    replay = Replay.objects.create(
        run=run, job=enqueue_job(kind=REPLAY_JOB), started_by=actor.person, started_at=clock.now()
    )
    _record(AuditKind.REPLAY_STARTED, replay, actor.audit_actor(role))
    return replay


@audited
def finish_replay(*, actor: Actor, ctx: jobs.JobContext, verdict: ReplayVerdict) -> Replay:
    """Write what the replay found and end its job; raises LeaseLost if another worker took over."""
    replay = _of_job(ctx.job_id)
    jobs.finish(ctx)
    replay.expected, replay.actual = verdict.expected, verdict.actual
    replay.equal, replay.differs = verdict.equal, list(verdict.differs)
    replay.ended_at = clock.now()
    replay.save()
    facts = {"equal": replay.equal, "differs": replay.differs}
    _record(AuditKind.REPLAY_FINISHED, replay, actor, facts, refs=[replay.expected, replay.actual])
    return replay


@audited
def fail_replay(*, actor: Actor, job_id: UUID, reason: str) -> Replay:
    """Note that a replay came to no verdict; evidence whose file was changed is marked for it (G7-4)."""
    replay = _of_job(job_id)
    if replay.ended_at is None:
        replay.ended_at, replay.failure = clock.now(), reason
        replay.save(update_fields=["ended_at", "failure"])
    item = manifest_item(replay.run)
    if item is not None and evidence.damaged([item]):
        evidence_services.mark_tampered(item, as_actor=actor)
    _record(AuditKind.REPLAY_FAILED, replay, actor, private={"reason": reason})
    return replay


@audited
def retrieve_model_file(*, actor: User, run_id: UUID) -> tuple[Run, bytes]:
    """Record the download of the capture a run was computed from, and return its bytes (P13; P33 at K0).

    Raises NotVisible where the model is no file, CriterionNotMet (G0-5) if the file is missing or was changed.
    """
    run = selectors.get(run_id, actor=actor)
    sha256 = run.parameters.get("model_file_sha256", "")
    if not sha256:
        raise NotVisible(_("Das Modell dieses Laufs ist keine Datei."))
    needed = model_file.needed_to_take(run.workload, sha256)
    role = guards.require(actor=actor, permission=needed, workload=run.workload)
    try:
        data = store.get(sha256)
    except store.StoredFileError as error:
        raise CriterionNotMet(
            _("Die Modelldatei fehlt, oder ihre Prüfsumme stimmt nicht mehr."),
            id="G0-5",
            next_step=_("Bitte informieren Sie das Qualitätsmanagement."),
        ) from error
    record(AuditKind.ARTEFACT_RETRIEVED, actor=actor.audit_actor(role), subject=run, refs=[sha256])
    return run, data


def manifest_of(run: Run) -> dict[str, Any]:
    """Return the manifest stored in EV-16 of a run; raises JobFailed if the file is missing or was changed."""
    item = manifest_item(run)
    try:
        if item is not None:
            manifest: dict[str, Any] = item.facts()["manifest"]
            return manifest
    except store.StoredFileError as error:
        raise JobFailed(
            _(
                "Der Nachweis EV-16 wurde verändert oder fehlt: Seine Datei stimmt nicht mit der Prüfsumme überein (G7-4)."
            )
        ) from error
    raise JobFailed(_("Zu diesem Lauf gibt es kein Laufmanifest (EV-16)."))


def manifest_item(run: Run) -> EvidenceItem | None:
    """Return EV-16 of a run, or None."""
    return EvidenceItem.objects.filter(run_id=run.pk, type=EvidenceType.LINEAGE.value).first()


def _of_job(job_id: UUID) -> Replay:
    """Return the replay a job carries out, locked; call inside a transaction."""
    Job.objects.select_for_update().get(pk=job_id)
    return Replay.objects.select_for_update(of=("self",)).select_related("run").get(job_id=job_id)


def _record(
    kind: AuditKind,
    replay: Replay,
    actor: Actor,
    facts: dict[str, Any] | None = None,
    *,
    private: dict[str, Any] | None = None,
    refs: list[str] | None = None,
) -> None:
    """Events stand at the run, where people look for them."""
    named = {"replay": str(replay.pk)} | (facts or {})
    record(kind, actor=actor, subject=replay.run, facts=named, private=private, refs=refs)
