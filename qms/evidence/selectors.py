"""Reading evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from qms.core import store
from qms.core.errors import NotVisible
from qms.evidence.choices import CURRENT
from qms.evidence.models import EvidenceItem
from qms.roles import guards
from qms.workloads.models import Workload

if TYPE_CHECKING:
    from qms.roles.models import User


def current(workload: Workload) -> QuerySet[EvidenceItem]:
    """Return the evidence that counts: new or reviewed, and not replaced by a later item."""
    return EvidenceItem.objects.filter(workload=workload, status__in=CURRENT, replaced_by__isnull=True)


def get(evidence_id: UUID, *, actor: User) -> EvidenceItem:
    """Return one item of a workload visible to the actor; raises NotVisible."""
    visible = EvidenceItem.objects.filter(workload__in=guards.visible_workload_ids(actor))
    item = visible.select_related("workload").filter(pk=evidence_id).first()
    if item is None:
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen."))
    return item


def lock(evidence_id: UUID, *, actor: User) -> EvidenceItem:
    """Return one item locked for a change; raises NotVisible."""
    get(evidence_id, actor=actor)
    return EvidenceItem.objects.select_for_update().get(pk=evidence_id)


def damaged(items: list[EvidenceItem]) -> list[EvidenceItem]:
    """Return the items of which a stored file is missing or no longer matches its digest (G7-4)."""
    return [item for item in items if not _intact(item)]


def _intact(item: EvidenceItem) -> bool:
    try:
        for sha256 in item.hashes():
            store.verify(sha256)
    except store.StoredFileError:
        return False
    return True
