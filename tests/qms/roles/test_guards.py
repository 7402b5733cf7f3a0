"""Role matrix and direct grants decide; superusers, inactive and service accounts get nothing extra."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext

from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import clock
from qms.core.errors import NotVisible, PermissionMissing, SodViolation
from qms.roles import guards, services
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from tests.qms.roles.conftest import House, change

pytestmark = pytest.mark.usefixtures("kompakt")


def give(codename: guards.Codename, holder: User | Group, workload: Any) -> None:
    change(lambda: guards.grant(permission_codename=codename, holder=holder, workload=workload))


@pytest.mark.parametrize(
    ("person", "permission", "codename"),
    [
        ("wo01", Permission.EDIT_WORKLOAD, guards.OWN),
        ("wo01", Permission.START_BASELINE_RUN, guards.RUN),
        ("wo01", Permission.UPLOAD_EVIDENCE, guards.RUN),
        ("wo01", Permission.CHANGE_FROZEN_CRITERIA, guards.OWN),
        ("pr01", Permission.CONFIRM_CLASSIFICATION, guards.REVIEW),
        ("pr01", Permission.UPLOAD_EVIDENCE, guards.REVIEW),
        ("pr01", Permission.CHANGE_FROZEN_CRITERIA, guards.REVIEW),
        ("fg01", Permission.DECIDE_APPROVAL, guards.DECIDE),
        ("fg01", Permission.CHANGE_FROZEN_CRITERIA, guards.DECIDE),
        ("fg01", Permission.READ_AUDIT, guards.VIEW),
    ],
)
def test_role_and_the_right_grant_together_are_needed(
    staffed: House, workload: Any, person: str, permission: Permission, codename: guards.Codename
) -> None:
    actor = staffed.people[person]
    for other in guards.CODENAMES:
        if other != codename:
            give(other, actor, workload)
    with pytest.raises(PermissionMissing) as refusal:
        guards.require(actor=actor, permission=permission, workload=workload)
    assert refusal.value.id == permission.value
    give(codename, actor, workload)
    assert guards.require(actor=actor, permission=permission, workload=workload) in guards.roles_of(actor)


def test_grant_without_role_is_not_enough(staffed: House, workload: Any) -> None:
    outsider = staffed.people["ohne"]
    for codename in guards.CODENAMES:
        give(codename, outsider, workload)
    with pytest.raises(PermissionMissing):
        guards.require(actor=outsider, permission=Permission.EDIT_WORKLOAD, workload=workload)


def test_reading_letters_do_not_allow_acting(staffed: House) -> None:
    assert not guards.may(actor=staffed.people["pr01"], permission=Permission.EDIT_WORKLOAD)
    assert guards.may(actor=staffed.people["pr01"], permission=Permission.READ_AUDIT)


def test_letters_narrow_the_act(staffed: House) -> None:
    reviewer = staffed.people["pr01"]
    assert (
        guards.require(actor=reviewer, permission=Permission.ASSIGN_ROLES, letters=frozenset("V"))
        is Role.REVIEWER
    )
    with pytest.raises(PermissionMissing):
        guards.require(actor=reviewer, permission=Permission.ASSIGN_ROLES, letters=frozenset("X"))


def test_group_grant_counts_for_members_of_the_role(staffed: House, workload: Any) -> None:
    give(guards.DECIDE, guards.role_group(Role.APPROVER), workload)
    approver = staffed.people["fg01"]
    assert guards.may(actor=approver, permission=Permission.DECIDE_APPROVAL, workload=workload)
    assert guards.is_visible(approver, workload)
    assert not guards.is_visible(staffed.people["wo01"], workload)


def test_grant_to_one_account_counts_for_all_accounts_of_the_person(staffed: House, workload: Any) -> None:
    owner = staffed.people["wo01"]
    give(guards.OWN, owner, workload)
    twin = staffed.second_account(owner.person, "wo01-zwei")
    assert guards.may(actor=twin, permission=Permission.EDIT_WORKLOAD, workload=workload)
    change(lambda: guards.revoke(permission_codename=guards.OWN, holder=twin, workload=workload))
    assert not guards.may(actor=owner, permission=Permission.EDIT_WORKLOAD, workload=workload)


def test_superuser_sees_and_may_nothing_without_role_and_grant(staffed: House, workload: Any) -> None:
    outsider = staffed.people["ohne"]
    change(lambda: User.objects.filter(pk=outsider.pk).update(is_superuser=True))
    outsider = User.objects.get(pk=outsider.pk)
    assert outsider.has_perm("workloads.own_workload", workload) is True  # what the guards must not ask
    assert not guards.may(actor=outsider, permission=Permission.EDIT_WORKLOAD, workload=workload)
    with pytest.raises(NotVisible):
        guards.require_visible(outsider, workload)


@pytest.mark.parametrize("what", ["account", "person"])
def test_inactive_account_or_person_sees_and_may_nothing(staffed: House, workload: Any, what: str) -> None:
    owner = staffed.people["wo01"]
    give(guards.OWN, owner, workload)
    target = owner if what == "account" else owner.person
    change(lambda: type(target)._base_manager.filter(pk=target.pk).update(is_active=False))
    owner = User.objects.get(pk=owner.pk)
    assert not guards.may(actor=owner, permission=Permission.EDIT_WORKLOAD, workload=workload)
    assert not guards.is_visible(owner, workload)


def test_service_account_is_refused_and_gets_no_grant(staffed: House, workload: Any) -> None:
    owner = staffed.people["wo01"]
    give(guards.OWN, owner, workload)
    service = services.register_service_account(
        actor=staffed.administrator, username="messung", person_id=owner.person_id
    )
    with pytest.raises(SodViolation) as refusal:
        guards.require(actor=service, permission=Permission.EDIT_WORKLOAD, workload=workload)
    assert refusal.value.id == "SoD-16"
    assert not guards.may(actor=service, permission=Permission.EDIT_WORKLOAD, workload=workload)
    with pytest.raises(SodViolation):
        give(guards.RUN, service, workload)


def test_outsider_does_not_learn_that_a_workload_exists(staffed: House, workload: Any) -> None:
    with pytest.raises(NotVisible):
        guards.require_visible(staffed.people["wo01"], workload)
    with pytest.raises(NotVisible):
        guards.require_visible(staffed.people["wo01"], None)
    give(guards.VIEW, staffed.people["wo01"], workload)
    guards.require_visible(staffed.people["wo01"], workload)


def test_any_grant_makes_visible_and_each_workload_is_listed_once(staffed: House, workload: Any) -> None:
    owner = staffed.people["wo01"]
    give(guards.RUN, owner, workload)
    give(guards.OWN, owner, workload)
    give(guards.VIEW, guards.role_group(Role.WORKLOAD_OWNER), workload)
    model = type(workload)
    assert list(model.objects.filter(pk__in=guards.visible_workload_ids(owner))) == [workload]


def test_granting_twice_changes_nothing_and_revoking_ends_it(staffed: House, workload: Any) -> None:
    owner = staffed.people["wo01"]
    give(guards.OWN, owner, workload)
    give(guards.OWN, owner, workload)
    change(lambda: guards.revoke(permission_codename=guards.OWN, holder=owner, workload=workload))
    assert not guards.is_visible(owner, workload)


def test_rights_of_many_workloads_cost_the_same_as_of_few(staffed: House) -> None:
    from qms.workloads.models import Workload

    owner = User.objects.select_related("person").get(pk=staffed.people["wo01"].pk)
    counts = []
    for number in (5, 25):
        with unit(actor=SYSTEM):
            made = [
                Workload.objects.create(title=f"W{n}", created_by=owner.person, created_at=clock.now())
                for n in range(number)
            ]
            for item in made:
                guards.grant(permission_codename=guards.OWN, holder=owner, workload=item)
            record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))
        with CaptureQueriesContext(connection) as queries:
            rights = guards.prefetch(owner, made)
            assert all(rights.may(Permission.EDIT_WORKLOAD, item) for item in made)
        counts.append(len(queries))
    assert counts == [3, 3]


def test_every_permission_and_role_has_a_grant() -> None:
    for permission in Permission:
        for role in Role:
            assert guards.required_codename(permission, role) in guards.CODENAMES
