"""Reading approvals: locking, the persons of a case, the computed states (spec 3.5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from qms.approvals import lateness
from qms.approvals.choices import ApprovalStatus
from qms.approvals.models import Addendum, Approval, Dossier
from qms.approvals.transitions import Transition
from qms.core import clock
from qms.core.errors import NotVisible
from qms.evidence.choices import EvidenceStatus
from qms.evidence.models import EvidenceItem
from qms.roles import guards, matrix
from qms.roles.models import Person, User
from qms.roles.permissions import Permission
from qms.roles.rules import Account, Case, SodAction, check_segregation
from qms.signing import selectors as signing
from qms.workloads import selectors as workloads
from qms.workloads.models import Workload

ACTIVE = (ApprovalStatus.APPROVED, ApprovalStatus.CONDITIONALLY_APPROVED)


def visible_to(actor: User) -> QuerySet[Approval]:
    """Return the approvals of the workloads visible to the account."""
    return Approval.objects.filter(workload__in=guards.visible_workload_ids(actor))


def get(approval_id: UUID, *, actor: User) -> Approval:
    """Return one approval for reading; raises NotVisible."""
    approval = visible_to(actor).select_related("workload", "requester").filter(pk=approval_id).first()
    if approval is None:
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen."))
    return approval


def lock(approval_id: UUID, *, actor: User) -> Approval:
    """Return the approval locked for a change, its workload locked before it; raises NotVisible."""
    found = get(approval_id, actor=actor)
    Workload.objects.select_for_update().get(pk=found.workload_id)
    return Approval.objects.select_for_update(of=("self",)).select_related("workload").get(pk=approval_id)


def sod_case(approval: Approval, actor: User) -> Case:
    """Return who acts and who did what before, by person (SoD-15); repeating an own act is a question of state."""
    workload = approval.workload
    pilot = getattr(workload, "pilot", None)
    evidence = EvidenceItem.objects.filter(workload=workload).values_list("producer_id", "run_id")
    earlier = approval.decisions.exclude(account=actor).select_related("account")
    return Case(
        actor=_account(actor),
        requester=_account(approval.requester_account),
        owner=workload.owner_id,
        deputy=workload.deputy_id,
        lead=pilot.lead_id if pilot else None,
        workers=workloads.workers(workload) | {person for person, run in evidence if run},
        producers=frozenset(person for person, _run in evidence),
        reviewer=_account(approval.reviewer_account) if approval.reviewer_account else None,
        deciders=tuple(_account(decision.account) for decision in earlier),
    )


def check_voter(approval: Approval, actor: User) -> None:
    """Raise SodViolation unless the person may judge this request as reviewer (SoD-02, -03, -16)."""
    check_segregation(sod_case(approval, actor), SodAction.VOTE)


def check_decider(approval: Approval, actor: User) -> None:
    """Raise SodViolation unless the person may decide (SoD-01, -02, -04, -15, -16)."""
    check_segregation(sod_case(approval, actor), SodAction.DECIDE)


def move(approval: Approval, step: Transition) -> None:
    """Write the state a transition leads to, inside the caller's audited command."""
    approval.status = step.to
    approval.save(update_fields=["status"])


def holders(permission: Permission, letters: matrix.Letters | None = None) -> list[UUID]:
    """Return the ids of the active persons whose role acts in the row of `permission`, with one of `letters`."""
    roles = [role.value for role in matrix.roles_for(permission, letters)]
    people = Person.objects.filter(is_active=True, assignments__role__in=roles, assignments__active=True)
    return list(people.values_list("pk", flat=True).distinct())


def next_number(year: int) -> str:
    """Return the next document number of the year, FRG-2026-0001-v1, under the lock of the caller's unit."""
    prefix = f"FRG-{year}-"
    newest = Approval.objects.filter(number__startswith=prefix).order_by("-number").first()
    count = int(newest.number.split("-")[2]) if newest else 0
    return f"{prefix}{count + 1:04d}-v1"


@dataclass(frozen=True)
class Force:
    """The computed state of a decided approval; never stored.

    in_force: sealed, current, within its time; seal_pending: decided but not sealed; seal_error: why sealing
    failed, or empty; outdated: the content changed or evidence became invalid; expired: past its end; halted: the
    sentence of a missed condition that ends the force, or empty; late: of one in its period of grace.
    """

    decided: bool
    in_force: bool
    seal_pending: bool
    seal_error: str
    outdated: bool
    expired: bool
    halted: str = ""
    late: str = ""


def force(approval: Approval, *, at: datetime | None = None) -> Force:
    """Return whether the approval is wirksam now, and if not, why."""
    active, now = approval.status in ACTIVE, at or clock.now()
    return _force(
        approval,
        seal_of(approval),
        active and is_outdated(approval),
        now,
        lateness.late_by_approval([approval.pk] if active else [], now).get(approval.pk, []),
    )


def forces(approvals: Sequence[Approval]) -> dict[UUID, Force]:
    """Return `force` of every approval in a constant number of queries; workloads have to be loaded."""
    now = clock.now()
    seals = _seals(approvals)
    late = lateness.late_by_approval([item.pk for item in approvals if item.status in ACTIVE], now)
    broken = set(
        _broken()
        .filter(workload__in=[item.workload_id for item in approvals])
        .values_list("workload", flat=True)
    )
    inherited = _with_broken_inheritance(approvals)
    found = {}
    for item in approvals:
        changed = item.content_sha256 != item.workload.content_sha256
        changed = changed or item.workload_id in broken or item.pk in inherited
        outdated = item.status in ACTIVE and changed
        found[item.pk] = _force(item, seals[item.pk], outdated, now, late.get(item.pk, []))
    return found


def seal_of(approval: Approval) -> signing.SealState:
    """Return the seal that counts: of the addendum once there is one, else of the decision."""
    return _seals([approval])[approval.pk]


def _seals(approvals: Sequence[Approval]) -> dict[UUID, signing.SealState]:
    """Return the seal of each approval: of its addendum until that is sealed, else of its decision."""
    addenda = dict(Addendum.objects.filter(approval__in=approvals).values_list("approval_id", "pk"))
    states = signing.seal_states([*(item.pk for item in approvals), *addenda.values()])
    found = {}
    for item in approvals:
        decision = states[item.pk]
        later = states[addenda[item.pk]] if item.pk in addenda else decision
        found[item.pk] = later if decision.sealed else decision
    return found


def _force(
    approval: Approval, seal: signing.SealState, outdated: bool, now: datetime, late: list[lateness.Late]
) -> Force:
    active = approval.status in ACTIVE
    decided = active or approval.status == ApprovalStatus.REJECTED
    expired = bool(approval.valid_until and now > approval.valid_until)
    halted = late[0].sentence if late and late[0].halts else ""
    started = bool(approval.valid_from and approval.valid_from <= now)
    return Force(
        decided=decided,
        in_force=active and seal.sealed and not outdated and not expired and started and not halted,
        seal_pending=decided and not seal.sealed,
        seal_error=seal.error,
        outdated=outdated,
        expired=active and expired,
        halted=halted,
        late=late[0].sentence if late and not halted else "",
    )


def is_outdated(approval: Approval) -> bool:
    """Return whether content or evidence no longer are what was decided on."""
    if approval.content_sha256 != approval.workload.content_sha256:
        return True
    return _broken().filter(workload=approval.workload).exists() or approval.pk in _with_broken_inheritance(
        [approval]
    )


def _with_broken_inheritance(approvals: Sequence[Approval]) -> set[UUID]:
    """Return the approvals whose dossier pins evidence taken over that is no longer what it was."""
    broken = _broken().filter(workload__isnull=True).values_list("pk", flat=True)
    ids = [str(key) for key in broken]
    if not ids:
        return set()
    pinned = Dossier.objects.filter(approval__in=approvals, sha256=F("approval__dossier_sha256"))
    return {
        approval_id
        for approval_id, content in pinned.values_list("approval_id", "content")
        if any(key in content for key in ids)
    }


def _broken() -> QuerySet[EvidenceItem]:
    return EvidenceItem.objects.filter(status__in=(EvidenceStatus.INVALID, EvidenceStatus.TAMPERED))


def previous(approval: Approval) -> Approval | None:
    """Return the last decided approval of the same workload and type, for "seit der letzten Freigabe geändert"."""
    earlier = Approval.objects.filter(
        workload=approval.workload, type=approval.type, decided_at__isnull=False
    )
    return earlier.exclude(pk=approval.pk).order_by("-decided_at").first()


def _account(user: User) -> Account:
    return Account(user.person_id, user.pk, user.is_service)
