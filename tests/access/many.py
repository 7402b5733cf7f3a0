"""Many rows at once, past the commands: workloads with grants, classes and requests; people with accounts and roles."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.contrib.auth.models import Group, Permission

from qms.approvals.models import Approval
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import clock
from qms.roles.models import Person, RoleAction, RoleRequest, User
from qms.roles.roles import Role
from qms.workloads.models import (
    ClassificationAnswers,
    ObjectClassification,
    Workload,
    WorkloadGroupGrant,
    WorkloadUserGrant,
)

GROUP_GRANTS = {
    Role.REVIEWER: ("view_workload", "review_workload"),
    Role.APPROVER: ("view_workload", "decide_workload"),
    Role.AUDITOR: ("view_workload",),
}
OWN = ("view_workload", "own_workload", "run_workload")


def add_workloads(count: int, *, owner: User, deputy: User, requests: bool = True) -> list[Workload]:
    """Add workloads owned by `owner`, all unconfirmed, half of the owners not accepted, each with a request."""
    now = clock.now()
    with unit(actor=SYSTEM):
        made = Workload.objects.bulk_create(
            Workload(
                title=f"Menge {number:05d}",
                created_by=owner.person,
                created_at=now + timedelta(milliseconds=number),
                owner=owner.person,
                owner_accepted_at=None if number % 2 else now,
                deputy=deputy.person,
                mode="INFERENZ",
            )
            for number in range(count)
        )
        _grants(made, owner, deputy)
        ClassificationAnswers.objects.bulk_create(
            ClassificationAnswers(
                workload=item, answers={}, rule_version="1", answered_by=owner.person, answered_at=now
            )
            for item in made
        )
        ObjectClassification.objects.bulk_create(
            ObjectClassification(
                workload=item,
                object_class=name,
                level="K1",
                proposed_level="K1",
                classified_by=owner.person,
            )
            for item in made
            for name in ("EINGABEDATEN", "MODELLGEWICHTE")
        )
        if requests:
            _requests(made, owner)
        for item in made:
            record(AuditKind.WORKLOAD_CREATED, actor=SYSTEM, subject=item)
    return made


def _grants(made: Iterable[Workload], owner: User, deputy: User) -> None:
    codes = {row.codename: row for row in Permission.objects.filter(content_type__app_label="workloads")}
    WorkloadUserGrant.objects.bulk_create(
        WorkloadUserGrant(user=user, permission=codes[code], content_object=item)
        for item in made
        for user in (owner, deputy)
        for code in OWN
    )
    groups = {role: Group.objects.get_or_create(name=role.value)[0] for role in GROUP_GRANTS}
    WorkloadGroupGrant.objects.bulk_create(
        WorkloadGroupGrant(group=groups[role], permission=codes[code], content_object=item)
        for item in made
        for role, names in GROUP_GRANTS.items()
        for code in names
    )


def _requests(made: list[Workload], owner: User) -> None:
    first = Approval.objects.count() + 1000
    Approval.objects.bulk_create(
        Approval(
            number=f"FRG-2025-{first + number}-v1",
            type="VORFREIGABE",
            workload=item,
            status="EINGEREICHT",
            requester=owner.person,
            requester_account=owner,
            created_at=clock.now(),
            submitted_at=clock.now(),
        )
        for number, item in enumerate(made)
    )


def add_people(count: int, *, requested_by: User) -> None:
    """Add people with an account and an open role request each."""
    now = clock.now()
    with unit(actor=SYSTEM):
        people = Person.objects.bulk_create(
            Person(display_name=f"Person M{number:04d}", email=f"m{number}@example.org")
            for number in range(count)
        )
        User.objects.bulk_create(
            User(username=f"m{person.pid}", email=person.email, person=person) for person in people
        )
        RoleRequest.objects.bulk_create(
            RoleRequest(
                subject=person,
                role=Role.WORKLOAD_OWNER.value,
                action=RoleAction.GRANT.value,
                reason="Aufgabe",
                requested_by=requested_by.person,
                requested_at=now,
            )
            for person in people
        )
        for person in people:
            record(AuditKind.PERSON_CREATED, actor=SYSTEM, subject=person)
