"""Roles change with four eyes (SoD-07, -08, -16), by command and against the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError

from qms.audit.events import AuditKind
from qms.core import clock
from qms.core.errors import CriterionNotMet, NotVisible, PermissionMissing, SodViolation, WrongState
from qms.roles import guards, selectors, services
from qms.roles.models import Person, RoleAction, RoleAssignment, RoleRequest
from qms.roles.roles import Role
from tests.qms.roles.conftest import House, change, events

pytestmark = pytest.mark.usefixtures("kompakt")


def test_role_counts_only_after_a_second_person_confirmed(house: House) -> None:
    reviewer, other = house.join("pr01"), house.join("ohne")
    request = house.request(reviewer, Role.REVIEWER)
    assert guards.roles_of(reviewer) == ()
    services.confirm_role(actor=other, request_id=request.pk)
    assert guards.roles_of(reviewer) == (Role.REVIEWER,)
    assert [group.name for group in reviewer.groups.all()] == ["PR"]


@pytest.mark.parametrize("who", ["requester", "subject"])
def test_confirmation_is_refused_for_requester_and_subject(house: House, who: str) -> None:
    reviewer = house.join("pr01")
    request = house.request(reviewer, Role.REVIEWER)
    actor = house.administrator if who == "requester" else reviewer
    with pytest.raises(SodViolation) as refusal:
        services.confirm_role(actor=actor, request_id=request.pk)
    assert refusal.value.id == "SoD-07"
    assert events(AuditKind.SOD_VIOLATION)[-1]["data"]["action"] == "confirm_role"
    assert guards.roles_of(reviewer) == ()


def test_own_roles_cannot_be_requested_even_with_another_account(house: House) -> None:
    with pytest.raises(SodViolation) as refusal:
        house.request(house.administrator, Role.REVIEWER)
    assert refusal.value.id == "SoD-07"


def test_second_account_of_the_requester_does_not_confirm(staffed: House) -> None:
    # The administrator's person gets its second account from another administrator.
    other = staffed.join("ad02")
    staffed.give(other, Role.ADMINISTRATOR, confirmer=staffed.people["pr01"])
    twin = House(other).second_account(staffed.administrator.person, "ad01-zwei")
    request = staffed.request(staffed.people["ohne"], Role.WORKLOAD_OWNER)
    with pytest.raises(SodViolation):
        services.confirm_role(actor=twin, request_id=request.pk)


def test_first_days_rule_ends_with_the_first_reviewer(house: House) -> None:
    reviewer, other, third = house.join("pr01"), house.join("ohne"), house.join("wo01")
    assert selectors.is_bootstrap()
    house.give(reviewer, Role.REVIEWER, confirmer=other)
    assert events(AuditKind.ROLE_CONFIRMED)[-1]["data"]["bootstrap"] is True
    assert not selectors.is_bootstrap()
    request = house.request(third, Role.WORKLOAD_OWNER)
    with pytest.raises(PermissionMissing) as refusal:
        services.confirm_role(actor=other, request_id=request.pk)
    assert refusal.value.id == "P36"
    services.confirm_role(actor=reviewer, request_id=request.pk)
    assert events(AuditKind.ROLE_CONFIRMED)[-1]["data"]["bootstrap"] is False


def test_first_days_rule_returns_when_the_only_reviewer_cannot_act(staffed: House) -> None:
    services.deactivate_account(
        actor=staffed.administrator, account_id=staffed.people["pr01"].pk, reason="ausgeschieden"
    )
    assert selectors.is_bootstrap()


def test_only_an_administrator_requests_roles(staffed: House) -> None:
    with pytest.raises(PermissionMissing) as refusal:
        services.request_role(
            actor=staffed.people["wo01"],
            person_id=staffed.people["ohne"].person_id,
            role=Role.APPROVER,
            action=RoleAction.GRANT,
            reason="x",
        )
    assert refusal.value.id == "P36"
    assert events(AuditKind.ACCESS_REFUSED)[-1]["data"]["id"] == "P36"


def test_superuser_is_not_exempt(staffed: House) -> None:
    outsider = staffed.people["ohne"]

    def promote() -> None:
        outsider.is_superuser = outsider.is_staff = True
        outsider.save(update_fields=["is_superuser", "is_staff"])

    change(promote)
    request = staffed.request(staffed.people["wo01"], Role.APPROVER)
    with pytest.raises(PermissionMissing):
        services.confirm_role(actor=outsider, request_id=request.pk)
    with pytest.raises(PermissionMissing):
        services.invite_person(actor=outsider, display_name="X", email="x@example.org")


@pytest.mark.parametrize(
    ("held", "wanted", "rule"),
    [
        ("wo01", Role.ADMINISTRATOR, "SoD-07"),
        ("wo01", Role.AUDITOR, "SoD-08"),
        ("fg01", Role.ADMINISTRATOR, "SoD-07"),
    ],
)
def test_conflicting_role_is_refused_before_anything_is_stored(
    staffed: House, held: str, wanted: Role, rule: str
) -> None:
    before = RoleRequest.objects.count()
    with pytest.raises(SodViolation) as refusal:
        staffed.request(staffed.people[held], wanted)
    assert refusal.value.id == rule
    assert RoleRequest.objects.count() == before


def test_conflict_that_arose_meanwhile_is_refused_at_confirmation(staffed: House) -> None:
    person = staffed.people["ohne"]
    first, second = staffed.request(person, Role.AUDITOR), staffed.request(person, Role.WORKLOAD_OWNER)
    services.confirm_role(actor=staffed.people["pr01"], request_id=first.pk)
    with pytest.raises(SodViolation) as refusal:
        services.confirm_role(actor=staffed.people["pr01"], request_id=second.pk)
    assert refusal.value.id == "SoD-08"


@pytest.mark.parametrize(("days", "allowed"), [(364, False), (366, True)])
def test_auditor_needs_a_year_without_other_roles(staffed: House, days: int, allowed: bool) -> None:
    owner = staffed.people["wo01"]
    request = staffed.request(owner, Role.WORKLOAD_OWNER, RoleAction.REVOKE)
    services.confirm_role(actor=staffed.people["pr01"], request_id=request.pk)
    with clock.at(clock.now() + timedelta(days=days)):
        if allowed:
            staffed.request(owner, Role.AUDITOR)
        else:
            with pytest.raises(SodViolation) as refusal:
                staffed.request(owner, Role.AUDITOR)
            assert refusal.value.id == "SoD-08"


def test_revoked_role_leaves_roles_groups_and_history(staffed: House) -> None:
    owner = staffed.people["wo01"]
    request = staffed.request(owner, Role.WORKLOAD_OWNER, RoleAction.REVOKE)
    services.confirm_role(actor=staffed.people["pr01"], request_id=request.pk)
    assert guards.roles_of(owner) == ()
    assert not owner.groups.exists()
    kept = RoleAssignment.objects.get(person=owner.person)
    assert (kept.active, kept.revoked_request) == (False, request)


def test_roles_reach_every_account_of_the_person(staffed: House) -> None:
    owner = staffed.people["wo01"]
    twin = staffed.second_account(owner.person, "wo01-zwei")
    assert [group.name for group in twin.groups.all()] == ["WO"]
    request = staffed.request(owner, Role.WORKLOAD_OWNER, RoleAction.REVOKE)
    services.confirm_role(actor=staffed.people["pr01"], request_id=request.pk)
    assert not twin.groups.exists()


@pytest.mark.parametrize(
    ("person", "role", "action", "error"),
    [
        ("wo01", Role.WORKLOAD_OWNER, RoleAction.GRANT, WrongState),
        ("ohne", Role.WORKLOAD_OWNER, RoleAction.REVOKE, WrongState),
        ("ohne", Role.QUALITY, RoleAction.GRANT, CriterionNotMet),
    ],
)
def test_request_that_changes_nothing_is_refused(
    staffed: House, person: str, role: Role, action: RoleAction, error: type[Exception]
) -> None:
    with pytest.raises(error):
        staffed.request(staffed.people[person], role, action)


def test_last_administrator_keeps_the_role(staffed: House) -> None:
    other = staffed.join("ad02")
    staffed.give(other, Role.ADMINISTRATOR, confirmer=staffed.people["pr01"])
    one_way = staffed.request(other, Role.ADMINISTRATOR, RoleAction.REVOKE)
    other_way = House(other).request(staffed.administrator, Role.ADMINISTRATOR, RoleAction.REVOKE)
    services.confirm_role(actor=staffed.people["pr01"], request_id=one_way.pk)
    with pytest.raises(WrongState):
        services.confirm_role(actor=staffed.people["pr01"], request_id=other_way.pk)
    assert guards.roles_of(staffed.administrator) == (Role.ADMINISTRATOR,)


def test_second_open_request_for_the_same_role_is_refused(staffed: House) -> None:
    staffed.request(staffed.people["ohne"], Role.APPROVER)
    with pytest.raises(WrongState):
        staffed.request(staffed.people["ohne"], Role.APPROVER)


def test_decided_request_is_not_decided_again(staffed: House) -> None:
    request = staffed.request(staffed.people["ohne"], Role.APPROVER)
    services.reject_role(actor=staffed.people["pr01"], request_id=request.pk, reason="nein")
    with pytest.raises(WrongState):
        services.confirm_role(actor=staffed.people["pr01"], request_id=request.pk)
    assert guards.roles_of(staffed.people["ohne"]) == ()


def test_requester_takes_the_request_back(staffed: House) -> None:
    request = staffed.request(staffed.people["ohne"], Role.APPROVER)
    services.reject_role(actor=staffed.administrator, request_id=request.pk, reason="")
    request.refresh_from_db()
    assert request.rejected_by == staffed.administrator.person


def test_missing_reason_and_unknown_person_are_refused(staffed: House) -> None:
    with pytest.raises(CriterionNotMet):
        services.request_role(
            actor=staffed.administrator,
            person_id=staffed.people["ohne"].person_id,
            role=Role.APPROVER,
            action=RoleAction.GRANT,
            reason="  ",
        )
    with pytest.raises(NotVisible):
        services.confirm_role(actor=staffed.people["pr01"], request_id=Person().pk)


def test_reason_stands_in_the_log_only_as_commitment(staffed: House) -> None:
    staffed.request(staffed.people["ohne"], Role.APPROVER)
    line = events(AuditKind.ROLE_REQUESTED)[-1]
    assert "Aufgabe" not in str(line)
    assert line["_sd"]
    assert line["data"]["person"] == staffed.people["ohne"].person.pid


# --- the database says the same --------------------------------------------------------------------------


def _request(staffed: House, **fields: Any) -> Any:
    values = {
        "subject": staffed.people["ohne"].person,
        "role": "FG",
        "action": "ERTEILEN",
        "reason": "x",
        "requested_by": staffed.administrator.person,
    }
    return RoleRequest.objects.create(**(values | fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"requested_by": "ohne"},
        {"confirmed_by": "ohne", "decided_at": True},
        {"confirmed_by": "ad01", "decided_at": True},
        {"confirmed_by": "pr01"},
        {"confirmed_by": "pr01", "rejected_by": "pr01", "decided_at": True},
        {"role": "XX"},
        {"action": "X"},
    ],
)
def test_database_refuses_requests_without_four_eyes(staffed: House, fields: dict[str, Any]) -> None:
    people = {name: account.person for name, account in staffed.people.items()}
    people["ad01"] = staffed.administrator.person
    values = {
        key: people.get(value, value) if key != "decided_at" else clock.now() for key, value in fields.items()
    }
    with pytest.raises(IntegrityError):
        change(lambda: _request(staffed, **values))


def test_database_refuses_an_assignment_without_confirmed_request(staffed: House) -> None:
    request = staffed.request(staffed.people["ohne"], Role.APPROVER)
    person = staffed.people["ohne"].person
    for given in (request, None):
        with pytest.raises(IntegrityError):
            change(
                lambda given=given: RoleAssignment.objects.create(
                    person=person, role="FG", granted_request=given
                )
            )
    with pytest.raises(IntegrityError):
        change(lambda: RoleAssignment.objects.create(person=person, role="AD", granted_request=None))


@pytest.mark.parametrize(("holder", "role"), [("wo01", "AD"), ("wo01", "AU")])
def test_database_refuses_conflicting_roles(staffed: House, holder: str, role: str) -> None:
    person = staffed.people[holder].person
    confirmer = staffed.people["pr01"].person

    def write() -> None:
        request = _request(staffed, subject=person, role=role, confirmed_by=confirmer, decided_at=clock.now())
        RoleAssignment.objects.create(person=person, role=role, granted_request=request)

    with pytest.raises(IntegrityError):
        change(write)


def test_database_refuses_rewriting_or_deleting_history(staffed: House) -> None:
    assignment = RoleAssignment.objects.get(person=staffed.people["wo01"].person)
    other = staffed.people["ohne"].person
    writes = [
        lambda: RoleAssignment.objects.filter(pk=assignment.pk).update(person=other),
        lambda: RoleAssignment.objects.filter(pk=assignment.pk).update(role="FG"),
        lambda: RoleAssignment.objects.filter(pk=assignment.pk).update(active=False, ended_at=clock.now()),
        lambda: RoleAssignment.objects.filter(pk=assignment.pk)._raw_delete("default"),
        lambda: RoleRequest.objects.filter(pk=assignment.granted_request_id).update(role="FG"),
        lambda: RoleRequest.objects.filter(pk=assignment.granted_request_id)._raw_delete("default"),
    ]
    for write in writes:
        with pytest.raises(IntegrityError):
            change(write)


def test_database_refuses_unannounced_role_changes(staffed: House) -> None:
    with pytest.raises(IntegrityError):
        RoleRequest.objects.create(
            subject=staffed.people["ohne"].person,
            role="FG",
            action="ERTEILEN",
            reason="x",
            requested_by=staffed.administrator.person,
        )
