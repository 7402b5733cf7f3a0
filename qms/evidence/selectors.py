"""Reading evidence."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from qms.core import clock, store
from qms.core.errors import NotVisible
from qms.evidence.choices import CURRENT, EvidenceStatus
from qms.evidence.models import HOLDERS, EvidenceItem
from qms.roles import guards
from qms.workloads.models import Organisation, Pilot, PlatformProfile, Workload

if TYPE_CHECKING:
    from qms.roles.models import User

_Holder = TypeVar("_Holder", bound=PlatformProfile | Organisation)


def current(workload: Workload) -> QuerySet[EvidenceItem]:
    """Return the workload's own evidence that counts: new or reviewed, and not replaced by a later item."""
    return EvidenceItem.objects.filter(workload=workload, status__in=CURRENT, replaced_by__isnull=True)


def inherited(workload: Workload, *, at: datetime | None = None) -> list[EvidenceItem]:
    """Return what the workload takes over from its pilot's platform and from the organisation (decision 0155).

    Reviewed there, not replaced, for the platform as it is today, and valid on the day of `at` (default: now); a
    type the workload has an own item of is not taken over.
    """
    day = timezone.localdate(at or clock.now())
    platforms = Pilot.objects.filter(workload=workload).values("platform")
    found = EvidenceItem.objects.filter(
        Q(platform__in=platforms, platform_version=F("platform__version")) | Q(organisation__isnull=False),
        status=EvidenceStatus.REVIEWED,
        replaced_by__isnull=True,
        valid_until__gte=day,
    ).exclude(type__in=current(workload).values("type"))
    return list(found.select_related("producer", "reviewer", "platform", "organisation"))


def counting(workload: Workload, *, at: datetime | None = None) -> list[EvidenceItem]:
    """Return all evidence gates and dossiers judge: own and taken over, in order of type."""
    own = current(workload).select_related("producer", "reviewer")
    return sorted([*own, *inherited(workload, at=at)], key=lambda item: item.type)


def visible_to(actor: User) -> QuerySet[EvidenceItem]:
    """Return the evidence the actor may see: of visible workloads, and what is recorded once, for holders of a role."""
    wanted = Q(workload__in=guards.visible_workload_ids(actor))
    if sees_holders(actor):
        wanted |= Q(workload__isnull=True)
    return EvidenceItem.objects.filter(wanted)


def get(evidence_id: UUID, *, actor: User) -> EvidenceItem:
    """Return one item visible to the actor; raises NotVisible."""
    visible = visible_to(actor).select_related("workload", "platform", "organisation")
    item = visible.filter(pk=evidence_id).first()
    if item is None:
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen."))
    return item


def lock(evidence_id: UUID, *, actor: User) -> EvidenceItem:
    """Return one item locked for a change; raises NotVisible."""
    get(evidence_id, actor=actor)
    return EvidenceItem.objects.select_for_update().get(pk=evidence_id)


def others_of_type(item: EvidenceItem) -> QuerySet[EvidenceItem]:
    """Return what else of the item's type its holder has, not replaced yet."""
    holder = {f"{name}_id": getattr(item, f"{name}_id") for name in HOLDERS}
    return EvidenceItem.objects.filter(type=item.type, replaced_by__isnull=True, **holder).exclude(pk=item.pk)


def recorded(holder: PlatformProfile | Organisation) -> list[EvidenceItem]:
    """Return what is recorded at the holder and not replaced, with its people; newest of a type last."""
    return list(holder.evidence.filter(replaced_by__isnull=True).select_related("producer", "reviewer"))


def still_holds(item: EvidenceItem, holder: PlatformProfile | Organisation, day: date) -> bool:
    """Return whether workloads may take over the holder's item on that day; `inherited` asks the same of the database."""
    same = item.platform_version == getattr(holder, "version", None)
    reviewed = item.status == EvidenceStatus.REVIEWED and item.replaced_by_id is None
    return reviewed and same and item.valid_until is not None and item.valid_until >= day


def sees_holders(actor: User) -> bool:
    """Return whether the actor may see platforms, the organisation and what is recorded there: who holds a role."""
    return bool(guards.prefetch(actor).roles)


def check_sees_holders(actor: User) -> None:
    """Raise NotVisible for who holds no role."""
    if not sees_holders(actor):
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen."))


def holder(kind: type[_Holder], holder_id: UUID, *, actor: User, lock: bool = False) -> _Holder:
    """Return a platform or the organisation, locked for a change if asked; raises NotVisible."""
    check_sees_holders(actor)
    rows: QuerySet[Any] = kind._default_manager.all()  # noqa: SLF001 - Django's documented name
    found: _Holder | None = (rows.select_for_update() if lock else rows).filter(pk=holder_id).first()
    if found is None:
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen."))
    return found


def to_review() -> QuerySet[EvidenceItem]:
    """Return what waits for its review at platforms and the organisation, oldest first."""
    waiting = EvidenceItem.objects.filter(
        workload__isnull=True, status=EvidenceStatus.NEW, replaced_by__isnull=True
    )
    return waiting.select_related("platform", "organisation").order_by("uploaded_at", "id")


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
