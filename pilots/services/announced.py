"""Target runs on a real system: announced before they start (T-11), handed in afterwards, invalid if they began earlier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from pilots import catalog, selectors
from pilots.choices import ExitState, RunRole, RunSource, RunValidity
from pilots.models import Run
from pilots.platforms import platform_tuple
from pilots.services import handed_in, measuring_keys
from pilots.services.handed_in import ImportedFile
from pilots.services.results import IMPORTED, Outcome, Piece, end_imported, title_for
from pilots.services.runs import check_target_start, platform_of, refused
from qms.audit.actors import Actor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock
from qms.core.clock import timestamp
from qms.core.errors import CriterionNotMet, WrongState
from qms.evidence.choices import EvidenceType
from qms.gates import services as gates
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.workloads import selectors as workloads
from qms.workloads.choices import PilotStatus, PlatformKind
from qms.workloads.models import PlatformProfile
from qms.workloads.services import criteria

TUPLE: Final = ("hardware_gen", "system_release", "framework_release", "operating_model")
FORECAST_SCHEMA: Final = "qms.forecast/1"
AHEAD: Final = timedelta(minutes=5)
"""How far the clock of a measuring machine may be ahead of ours."""


@dataclass(frozen=True)
class Handed:
    """What a person hands in for an announced run.

    number: which run of the file that holds several; began_at: the start as the person states it, where no file does;
    utc_offset: of the clock whose file names no zone.
    """

    files: Sequence[ImportedFile]
    number: int | None = None
    began_at: datetime | None = None
    utc_offset: timedelta | None = None


@audited
def announce_target(*, actor: User, workload_id: UUID, platform_id: UUID) -> Run:
    """Announce a run on a real wafer-scale system; the first announcement freezes the criteria (P13, T-11)."""
    workload = workloads.lock(workload_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.START_TARGET_RUN, workload=workload)
    check_target_start(workload)
    platform = check_real_platform(platform_of(platform_id))
    if selectors.announced(workload) is not None:
        raise refused(
            _("Für diesen Workload ist bereits ein Lauf angekündigt (T-11)."),
            "T-11",
            _("Reichen Sie seine Messdateien ein, oder nehmen Sie die Ankündigung zurück."),
        )
    now, as_actor = clock.now(), actor.audit_actor(role)
    run = Run.objects.create(
        workload=workload,
        role=RunRole.TARGET.value,
        source=RunSource.IMPORT.value,
        platform=platform,
        started_by=actor.person,
        model_digest=workload.model_digest,
        announced_at=now,
        started_at=now,
    )
    run.criteria_sha256 = criteria.freeze(workload=workload, as_actor=as_actor, run_id=run.pk, at=now)
    run.save(update_fields=["criteria_sha256"])
    criteria.set_pilot_status(workload, PilotStatus.TARGET_RUN)
    record(AuditKind.RUN_ANNOUNCED, actor=as_actor, subject=run, facts=_facts(run))
    return run


@audited
def withdraw_announcement(*, actor: User, run_id: UUID) -> Run:
    """Take back the announcement of a run whose files were never handed in (P13); the criteria stay frozen."""
    run = _lock(run_id, actor)
    role = guards.require(actor=actor, permission=Permission.START_TARGET_RUN, workload=run.workload)
    check_announced(run)
    run.exit_state, run.ended_at = ExitState.CANCELLED.value, clock.now()
    run.failure = _("Die Ankündigung wurde zurückgenommen.")
    run.save(update_fields=["exit_state", "ended_at", "failure"])
    record(AuditKind.RUN_CANCELLED, actor=actor.audit_actor(role), subject=run, facts={"role": run.role})
    return run


@audited
def hand_in_target(*, actor: User, run_id: UUID, handed: Handed) -> Run:
    """Take the files of an announced run (P13, P14); a measurement that began before it makes the run UNGUELTIG (G4-5).

    A refused file leaves its event. Raises CriterionNotMet (EV-04) where the start is not known.
    """
    run = _lock(run_id, actor)
    guards.require(actor=actor, permission=Permission.START_TARGET_RUN, workload=run.workload)
    role = guards.require(actor=actor, permission=Permission.UPLOAD_EVIDENCE, workload=run.workload)
    check_announced(run)
    imported = handed_in.read(
        handed.files, workload=run.workload, platform=run.platform, number=handed.number
    )
    _take(run, imported, handed, actor=actor, as_actor=actor.audit_actor(role))
    return run


def _take(run: Run, imported: catalog.ImportedRun, handed: Handed, *, actor: User, as_actor: Actor) -> None:
    began_at, stated = start_of(imported, handed)
    assert run.announced_at is not None
    too_early = began_at < run.announced_at
    run.started_at = began_at
    run.parameters = {"files": [file.name for file in handed.files]}
    if imported.measurement:
        run.source = RunSource.MEASURING_COMMAND.value
    facts = imported.target_facts(
        run_id=str(run.pk),
        platform=platform_tuple(run.platform),
        model_digest=run.model_digest,
        started_at=timestamp(began_at),
        criteria_sha256=run.criteria_sha256,
    )
    validity = RunValidity.INVALID if too_early else RunValidity.VALID
    facts |= {
        "announced_at": timestamp(run.announced_at),
        "started_at_stated_by": "PERSON" if stated else "DATEI",
        "validity": validity.value,
    }
    kind = EvidenceType.TARGET_REPORT
    axes = replace(IMPORTED, assurance=measuring_keys.assurance_of(imported))
    raw = ImportedFile(*imported.raw[EvidenceType.BASELINE_REPORT.value])
    piece = Piece(kind, title_for(kind, run.platform.name), facts, axes, raw)
    run.fingerprint = facts["fingerprint"]
    summary = imported.summary()
    pieces = (piece,) if too_early else (piece, *_forecast(run, summary["metrics"]))
    outcome = Outcome(facts["fingerprint"], facts["result_digest"], summary, pieces, validity)
    end_imported(run, outcome, as_actor, measured_at=began_at, producer=actor.person)
    if too_early:
        record(
            AuditKind.RUN_INVALIDATED,
            actor=as_actor,
            subject=run,
            facts={"criterion": "G4-5", "began_at": timestamp(began_at)} | _facts(run),
        )
    else:
        criteria.set_pilot_status(run.workload, PilotStatus.ASSESSMENT)


def _forecast(run: Run, metrics: list[dict[str, Any]]) -> tuple[Piece, ...]:
    """Return EV-30 with each figure beside its forecast; nothing without an emulated run or a figure both have."""
    emulated = selectors.forecast_of(run)
    if emulated is None:
        return ()
    limit = gates.policy().share("POL-54", "max")
    found = catalog.compare_forecast(emulated.summary.get("metrics", []), metrics, limit)
    if not found.rows:
        return ()
    facts = {
        "schema": FORECAST_SCHEMA,
        "type": EvidenceType.SCALING.value,
        "run_id": str(run.pk),
        "emulated_run_id": str(emulated.pk),
        "matched_by": "FINGERABDRUCK" if run.fingerprint else "MODELL",
        "platform": platform_tuple(run.platform),
        "emulated_platform": platform_tuple(emulated.platform),
    }
    title = title_for(EvidenceType.SCALING, run.platform.name)
    return (Piece(EvidenceType.SCALING, title, facts | found.to_json(), catalog.forecast_axes(found)),)


def start_of(imported: catalog.ImportedRun, handed: Handed) -> tuple[datetime, bool]:
    """Return when a run began, and whether a person had to say it; the earliest reading of an unclear time counts.

    Raises CriterionNotMet (EV-04) where neither file nor person says it, and for a start in the future.
    """
    written = imported.started_at
    if written is None and handed.began_at is None:
        raise _unknown(_("Keine Datei nennt den Beginn der Messung; bitte geben Sie ihn an."), "began_at")
    if written is not None and written.tzinfo is None and handed.utc_offset is None:
        raise _unknown(_("Die Datei nennt keine Zeitzone; bitte geben Sie die der Messung an."), "utc_offset")
    if written is None:
        assert handed.began_at is not None
        found, stated = handed.began_at, True
    elif written.tzinfo is None:
        assert handed.utc_offset is not None
        found, stated = (written - handed.utc_offset).replace(tzinfo=UTC), True
    else:
        found, stated = written, False
    if found > clock.now() + AHEAD:
        raise _unknown(
            _("Der Beginn der Messung liegt in der Zukunft; bitte prüfen Sie Uhr und Zeitzone."), "began_at"
        )
    return found, stated


def check_real_platform(platform: PlatformProfile) -> PlatformProfile:
    """Return the platform of a real target run; raises WrongState for another kind or an incomplete tuple (T-11, G4-7)."""
    if platform.kind != PlatformKind.WAFER_SCALE or platform.is_emulated:
        raise refused(_("Ein angekündigter Ziellauf braucht ein echtes Wafer-Scale-System (T-11)."), "T-11")
    if not all(getattr(platform, name).strip() for name in TUPLE):
        raise refused(
            _(
                "Das Plattformprofil ist unvollständig: Hardware, System, Framework und Betriebsmodell (G4-7)."
            ),
            "G4-7",
        )
    return platform


def check_announced(run: Run) -> None:
    """Raise WrongState unless the run is announced and waits for its files (T-11)."""
    if not run.is_announced:
        raise WrongState(
            _("Für diesen Lauf ist keine Ankündigung offen."),
            id="T-11",
            next_step=_("Kündigen Sie den Lauf an, bevor er beginnt."),
        )


def _unknown(message: str, field: str) -> CriterionNotMet:
    return CriterionNotMet(
        message, id="EV-04", code="NACHWEIS_VERWEIGERT", facts={"cause": "NO_START", "field": field}
    )


def _lock(run_id: UUID, actor: User) -> Run:
    found = selectors.get(run_id, actor=actor)
    workloads.lock(found.workload_id, actor=actor)
    locked = Run.objects.select_for_update(of=("self",))
    return locked.select_related("workload", "platform", "started_by").get(pk=run_id)


def _facts(run: Run) -> dict[str, Any]:
    assert run.announced_at is not None
    return {
        "role": run.role,
        "platform": run.platform.key,
        "workload": str(run.workload_id),
        "model_digest": run.model_digest,
        "announced_at": timestamp(run.announced_at),
    }
