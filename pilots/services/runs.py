"""Starting runs (P12, P13, T-11): what must be settled before anything runs, and the freeze of the criteria."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from pilots import catalog, selectors
from pilots.choices import ExitState, RunRole, RunSource
from pilots.models import Run
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock, jobs
from qms.core.errors import CriterionNotMet, NotVisible, WrongState
from qms.core.models import Job
from qms.core.tasks import enqueue_job
from qms.gates import coverage
from qms.gates import services as gates
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.workloads import selectors as workloads
from qms.workloads.choices import ObjectClass, PilotStatus, PlatformKind
from qms.workloads.models import PlatformProfile, Workload
from qms.workloads.services import criteria

BASELINE_JOB = "pilots.baseline"
TARGET_JOB = "pilots.target"
BATCH = 32
CRITERIA_OF_A_RUN = ("G0-6", "G0-7", "G0-8")


@audited
def start_baseline(*, actor: User, workload_id: UUID, platform_id: UUID) -> Run:
    """Measure the workload's model on this machine, as a job (P12)."""
    workload = workloads.lock(workload_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.START_BASELINE_RUN, workload=workload)
    platform = check_baseline_start(workload, platform_id)
    if platform.kind != PlatformKind.DEVELOPMENT_MACHINE:
        raise refused(
            _(
                "Der Messbefehl misst nur diesen Rechner; für die bestehende Plattform laden Sie eine Messdatei hoch."
            ),
            "T-11",
        )
    policy = gates.policy()
    least = policy.integer("POL-02", "benchmark_iterations_min")
    parameters = _model_of(workload) | {
        "repetitions": policy.integer("POL-02", "benchmark_repetitions"),
        # Twenty times the minimum: a repetition then lasts long enough that the scheduler does not decide its rate.
        # Where one request is long the minimum does (catalog.baseline).
        "iterations": 20 * least,
        "iterations_min": least,
    }
    run = _create(
        workload,
        platform,
        actor,
        role=RunRole.BASELINE,
        source=RunSource.MEASURING_COMMAND,
        parameters=parameters,
    )
    run.job = enqueue_job(kind=BASELINE_JOB)
    run.save(update_fields=["job"])
    criteria.set_pilot_status(workload, PilotStatus.BASELINE)
    record(AuditKind.RUN_STARTED, actor=actor.audit_actor(role), subject=run, facts=_facts(run))
    return run


@audited
def start_target(*, actor: User, workload_id: UUID, platform_id: UUID, samples: int = BATCH) -> Run:
    """Emulate the workload's model on the wafer, as a job; the first start freezes the criteria (P13, T-11)."""
    workload = workloads.lock(workload_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.START_TARGET_RUN, workload=workload)
    check_target_start(workload)
    platform = platform_of(platform_id)
    if not platform.is_emulated or not catalog.emulates(platform.key):
        raise refused(_("Ein Ziellauf braucht ein emuliertes Wafer-Scale-System (T-11)."), "T-11")
    parameters = _model_of(workload)
    if workload.model_text:
        parameters["samples"] = samples
    run = _create(
        workload, platform, actor, role=RunRole.TARGET, source=RunSource.EMULATOR, parameters=parameters
    )
    as_actor = actor.audit_actor(role)
    run.criteria_sha256 = criteria.freeze(
        workload=workload, as_actor=as_actor, run_id=run.pk, at=run.started_at
    )
    run.job = enqueue_job(kind=TARGET_JOB)
    run.save(update_fields=["criteria_sha256", "job"])
    criteria.set_pilot_status(workload, PilotStatus.TARGET_RUN)
    record(AuditKind.RUN_STARTED, actor=as_actor, subject=run, facts=_facts(run))
    return run


@audited
def cancel_run(*, actor: User, run_id: UUID) -> Run:
    """Ask for the end of a run that waits or runs; its result is thrown away."""
    run = selectors.get(run_id, actor=actor)
    permission = Permission.START_TARGET_RUN if run.role == RunRole.TARGET else Permission.START_BASELINE_RUN
    role = guards.require(actor=actor, permission=permission, workload=run.workload)
    if run.exit_state or run.job_id is None:
        raise WrongState(
            _("Dieser Lauf ist bereits beendet."), id="T-11", next_step=_("Bitte laden Sie die Seite neu.")
        )
    record(AuditKind.RUN_CANCELLED, actor=actor.audit_actor(role), subject=run)
    jobs.request_cancel(job_id=run.job_id)
    return run


def check_baseline_start(workload: Workload, platform_id: UUID) -> PlatformProfile:
    """Return the platform of a baseline; raises WrongState for one that is neither in use nor this machine (EM-12).

    Nor may a development machine follow a baseline of the platform in use: the comparison would end with it (0117).
    """
    check_run_start(workload)
    platform = platform_of(platform_id)
    if not platform.is_existing and platform.kind != PlatformKind.DEVELOPMENT_MACHINE:
        raise refused(
            _("Die Vergleichsbasis braucht die bestehende Plattform oder einen Entwicklungsrechner (T-11)."),
            "T-11",
        )
    if platform.kind == PlatformKind.DEVELOPMENT_MACHINE:
        check_measures_here(workload)
    return platform


def check_measures_here(workload: Workload) -> None:
    """Raise WrongState where a development machine may not follow the baseline that is there (EM-12, 0117)."""
    if selectors.has_compared(workload):
        raise refused(
            _(
                "Es gibt schon eine Vergleichsbasis der bisherigen Plattform; ein Entwicklungsrechner ersetzt sie nicht "
                "(EM-12)."
            ),
            "EM-12",
            _("Ist sie falsch, lehnt die prüfende Person sie ab; dann messen Sie neu."),
        )


def check_target_start(workload: Workload) -> None:
    """Raise WrongState unless a target run may start: also a baseline and complete criteria (T-11)."""
    check_run_start(workload)
    if selectors.baseline_evidence(workload) is None:
        raise refused(_("Lauf nicht möglich: Es gibt noch keine Vergleichsbasis (T-11)."), "EV-02")
    missing = gates.first_open_of(workload, CRITERIA_OF_A_RUN)
    if missing is not None:
        raise refused(_("Lauf nicht möglich: %(reason)s") % {"reason": missing.reason}, missing.criterion)


def check_run_start(workload: Workload) -> None:
    """Raise WrongState LAUF_VERWEIGERT unless classification and coverage allow a run (T-11, G1-1, EM-13)."""
    open_classes = workloads.unconfirmed_classes(workload)
    if open_classes:
        names = ", ".join(str(ObjectClass(code).label) for code in open_classes)
        raise refused(
            _("Vor einem Lauf muss die Datenklassifizierung vollständig bestätigt sein: %(names)s (G1-1).")
            % {"names": names},
            "G1-1",
        )
    found = gates.uncovered(workload)
    if found:
        raise coverage.run_refusal(found)
    if not workload.model_digest:
        raise CriterionNotMet(_("Bitte nennen Sie zuerst das Modell (G0-5)."), id="G0-5")


def refused(message: str, criterion: str, next_step: str = "") -> WrongState:
    """Return the refusal of a run start, naming T-11 and the open criterion."""
    return WrongState(
        message,
        id="T-11",
        code="LAUF_VERWEIGERT",
        facts={"criterion": criterion},
        next_step=next_step or _("Bitte schließen Sie zuerst das genannte Kriterium ab."),
    )


def _model_of(workload: Workload) -> dict[str, Any]:
    """Return what a run repeats of the model; a capture brings its inputs, a text gets seeded ones."""
    named = {"model_text": workload.model_text, "model_file_sha256": workload.model_file_sha256}
    return named if workload.model_file_sha256 else named | {"batch": BATCH, "seed": 1}


def _create(
    workload: Workload,
    platform: PlatformProfile,
    actor: User,
    *,
    role: RunRole,
    source: RunSource,
    parameters: dict[str, Any],
) -> Run:
    check_none_runs(workload, role)
    return Run.objects.create(
        workload=workload,
        role=role.value,
        source=source.value,
        platform=platform,
        started_by=actor.person,
        parameters=parameters,
        model_digest=workload.model_digest,
        started_at=clock.now(),
    )


def check_none_runs(workload: Workload, role: RunRole) -> None:
    """Raise WrongState while a run of this role lasts: its result would replace what comes before it (T-11)."""
    open_runs = Run.objects.filter(workload=workload, role=role.value, exit_state="")
    if open_runs.filter(announced_at__isnull=True).exists():
        raise refused(
            _("Für diesen Workload läuft bereits ein Lauf dieser Art (T-11)."),
            "T-11",
            _("Warten Sie das Ende ab, oder brechen Sie den Lauf auf seiner Seite ab."),
        )


def platform_of(platform_id: UUID) -> PlatformProfile:
    """Return a platform profile; raises NotVisible."""
    platform = PlatformProfile.objects.filter(pk=platform_id).first()
    if platform is None:
        raise NotVisible(_("Diese Plattform gibt es nicht."))
    return platform


def _facts(run: Run) -> dict[str, Any]:
    return {
        "role": run.role,
        "source": run.source,
        "platform": run.platform.key,
        "workload": str(run.workload_id),
        "model_digest": run.model_digest,
    }


def run_of_job(job_id: UUID) -> Run:
    """Return the run a job carries out, locked; call inside a transaction."""
    Job.objects.select_for_update().get(pk=job_id)
    return (
        Run.objects.select_for_update(of=("self",))
        .select_related("workload", "platform", "started_by")
        .get(job_id=job_id)
    )


def is_open(run: Run) -> bool:
    """Return whether the run has not ended yet."""
    return run.exit_state not in set(ExitState)
