"""Reading runs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.utils.translation import gettext as _

from pilots.models import Run
from qms.core.errors import NotVisible
from qms.evidence import selectors as evidence
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.roles import guards
from qms.workloads.models import Workload

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


def porting_evidence(workload: Workload) -> EvidenceItem | None:
    """Return the current porting report of the workload, or None."""
    return evidence.current(workload).filter(type=EvidenceType.PORTING).first()


def latest(workload: Workload, role: str) -> Run | None:
    """Return the newest run of a role, or None."""
    return Run.objects.filter(workload=workload, role=role).select_related("platform", "job").first()
