"""Reading runs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from pilots.choices import ExitState, RunRole, RunSource, RunValidity
from pilots.models import MeasuringKey, Run
from qms.core.errors import NotVisible
from qms.evidence import selectors as evidence
from qms.evidence.choices import CURRENT, EvidenceType
from qms.evidence.models import EvidenceItem
from qms.roles import guards
from qms.roles.permissions import Permission
from qms.workloads.choices import PlatformKind
from qms.workloads.models import PlatformProfile, Workload

if TYPE_CHECKING:
    from qms.roles.models import User


def get(run_id: UUID, *, actor: User) -> Run:
    """Return one run of a workload visible to the actor; raises NotVisible."""
    visible = Run.objects.filter(workload__in=guards.visible_workload_ids(actor))
    run = visible.select_related("workload", "platform", "job", "started_by").filter(pk=run_id).first()
    if run is None:
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen."))
    return run


def baseline_evidence(workload: Workload) -> EvidenceItem | None:
    """Return the current baseline report of the workload, or None."""
    return evidence.current(workload).filter(type=EvidenceType.BASELINE_REPORT).first()


def has_compared(workload: Workload) -> bool:
    """Return whether somebody handed in a baseline of another platform than a development machine that nobody rejected."""
    runs = Run.objects.filter(workload=workload).exclude(platform__kind=PlatformKind.DEVELOPMENT_MACHINE)
    found = EvidenceItem.objects.filter(workload=workload, type=EvidenceType.BASELINE_REPORT)
    return found.filter(status__in=CURRENT, run_id__in=runs.values("pk")).exists()


def porting_evidence(workload: Workload) -> EvidenceItem | None:
    """Return the current porting report of the workload, or None."""
    return evidence.current(workload).filter(type=EvidenceType.PORTING).first()


def lineage_evidence(workload: Workload) -> EvidenceItem | None:
    """Return the current lineage manifest of the workload, or None."""
    return evidence.current(workload).filter(type=EvidenceType.LINEAGE).first()


def latest(workload: Workload, role: str) -> Run | None:
    """Return the newest run of a role, or None; of announced ones only those whose result counts."""
    nothing = Q(announced_at__isnull=False) & ~Q(validity=RunValidity.VALID.value)
    found = Run.objects.filter(workload=workload, role=role).exclude(nothing)
    return found.select_related("platform", "job").first()


def announced(workload: Workload) -> Run | None:
    """Return the announced target run whose files are awaited, or None."""
    found = Run.objects.filter(workload=workload, announced_at__isnull=False, exit_state="")
    return found.select_related("platform").first()


def forecast_of(measured: Run) -> Run | None:
    """Return the last emulated run of the workload that a measured one is compared with, or None.

    The same fingerprint counts; a file without one is compared with a run of the same model.
    """
    same = (
        {"fingerprint": measured.fingerprint}
        if measured.fingerprint
        else {"model_digest": measured.model_digest}
    )
    found = Run.objects.filter(
        workload_id=measured.workload_id,
        role=RunRole.TARGET.value,
        source=RunSource.EMULATOR.value,
        exit_state=ExitState.COMPLETED.value,
        **same,
    )
    return found.exclude(validity=RunValidity.INVALID.value).select_related("platform").first()


def measured_target(workload: Workload) -> Run | None:
    """Return the newest valid target run measured on a real system, or None."""
    found = Run.objects.filter(
        workload=workload,
        role=RunRole.TARGET.value,
        announced_at__isnull=False,
        exit_state=ExitState.COMPLETED.value,
        validity=RunValidity.VALID.value,
    )
    return found.select_related("platform", "workload").first()


def measured_elsewhere(sha256: str, platform: PlatformProfile) -> bool:
    """Return whether the result of the measuring command with this digest counts for another platform, in any workload."""
    found = Run.objects.filter(summary__measurement__sha256=sha256).exclude(platform=platform)
    return found.exclude(validity=RunValidity.INVALID.value).exists()


def measuring_keys(actor: User) -> QuerySet[MeasuringKey]:
    """Return the keys a person sees and may revoke: their own, all of them with P39."""
    keys = MeasuringKey.objects.select_related("person")
    if guards.may(actor=actor, permission=Permission.CONFIGURE_SYSTEM):
        return keys
    return keys.none() if actor.is_service else keys.filter(person_id=actor.person_id)


def measuring_key(public_key: str) -> MeasuringKey | None:
    """Return the registered key with this public part, revoked or not, or None."""
    return MeasuringKey.objects.select_related("person").filter(public_key=public_key).first()
