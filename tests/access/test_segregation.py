"""Segregation of duties in the database: what a command refuses is refused to a bare write as well.

Each write happens inside an announced unit, past the commands, so that only CHECK, UNIQUE and triggers are left.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import DatabaseError
from django.db.models import F

from qms.approvals.models import Approval, ApprovalDecision, DecisionRecord, Dossier, Vote
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import clock
from qms.evidence.models import EvidenceItem
from qms.roles.models import RoleAction, RoleAssignment, RoleRequest, User
from qms.roles.roles import Role
from qms.signing.models import ActRecord
from qms.workloads.models import ContentVersion, Pilot, Workload, WorkloadUserGrant
from tests.access.world import World, undone

pytestmark = pytest.mark.django_db


def announced(write: Callable[[], Any]) -> Any:
    """Write as a command would: announced and recorded."""
    with unit(actor=SYSTEM):
        result = write()
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))
    return result


def refused(rule: str, write: Callable[[], Any]) -> None:
    """Expect the database to refuse, naming the rule: name of the constraint, or part of the trigger's sentence."""
    with pytest.raises(DatabaseError) as caught, undone():
        announced(write)
    assert re.search(rule, str(caught.value)), f"refused, but by another rule: {caught.value}"


def act(world: World, account: User) -> ActRecord:
    """Return a new act of the account, copied from one that was really performed."""
    made = ActRecord.objects.first()
    made.pk, made.person, made.passkey_id = None, account.person, made.passkey_id
    made._state.adding = True
    made.nonce, made.sha256 = f"{account.pk:064x}", f"{account.pk + 10**9:064x}"
    made.id = ActRecord._meta.get_field("id").get_default()
    made.save()
    return made


def persons(approval: Approval) -> dict[str, Any]:
    """Return the persons of a case as a row has to copy them."""
    workload = Workload.objects.get(pk=approval.workload_id)
    people = {"requester": approval.requester, "owner": workload.owner, "deputy": workload.deputy}
    return people | {"lead": workload.pilot.lead}


def vote(world: World, account: User, approval: Approval, **changes: Any) -> Vote:
    values = {
        "approval": approval,
        "person": account.person,
        "account": account,
        "role": "PR",
        "meaning": "GEPRUEFT",
        "act": act(world, account),
        "created_at": clock.now(),
        "value": "ZUSTIMMUNG",
        "dossier_sha256": approval.dossier_sha256,
        **persons(approval),
    }
    return Vote.objects.create(**values | changes)


def decision(world: World, account: User, **changes: Any) -> ApprovalDecision:
    approval, frozen = world.approvals["reif"], world.extras["record"]
    values = {
        "approval": approval,
        "record": frozen,
        "person": account.person,
        "account": account,
        "role": "FG",
        "meaning": "FREIGEGEBEN",
        "act": act(world, account),
        "created_at": clock.now(),
        "decision": "FREIGEGEBEN",
        "decision_sha256": frozen.sha256,
        "reviewer": approval.reviewer,
        **persons(approval),
    }
    return ApprovalDecision.objects.create(**values | changes)


def settle(approval: Approval, **changes: Any) -> int:
    values = {"status": "FREIGEGEBEN", "decided_at": clock.now()} | changes
    return Approval.objects.filter(pk=approval.pk).update(**values)


# the way that is allowed, so that every refusal below is one of its rule


def test_another_person_may_vote_and_decide(world: World):
    approval, frozen = world.approvals["reif"], world.extras["record"]
    announced(lambda: vote(world, world.accounts["PR"], world.approvals["eingereicht"]))
    announced(lambda: decision(world, world.accounts["FG"]))
    assert announced(lambda: settle(approval, decision_sha256=frozen.sha256)) == 1


# SoD-01, SoD-02


@pytest.mark.parametrize(
    ("actor", "rule"),
    [
        ("owner", r"sod01|sod02_owner|Workload gearbeitet"),
        ("stellv", r"sod02_deputy|Workload gearbeitet"),
        ("leitung", r"sod02_lead|Workload gearbeitet"),
    ],
)
def test_involved_persons_neither_vote_nor_decide(world: World, actor: str, rule: str):
    account = world.accounts[actor]
    refused(rule, lambda: vote(world, account, world.approvals["eingereicht"]))
    refused(rule, lambda: decision(world, account))


def test_requester_never_decides_whoever_owns_the_workload(world: World):
    approval = world.approvals["reif"]
    announced(
        lambda: Workload.objects.filter(pk=approval.workload_id).update(
            owner=world.accounts["fremd"].person, created_by=world.accounts["fremd"].person
        )
    )
    announced(WorkloadUserGrant.objects.filter(content_object=approval.workload_id).delete)
    refused("sod01", lambda: decision(world, world.accounts["owner"]))


@pytest.mark.parametrize("name", ["requester", "owner", "deputy", "lead"])
def test_copied_persons_are_those_of_the_case(world: World, name: str):
    other = {name: world.accounts["fremd"].person}
    refused("SoD-02", lambda: decision(world, world.accounts["FG"], **other))
    refused("SoD-02", lambda: vote(world, world.accounts["PR"], world.approvals["eingereicht"], **other))
    if name != "requester":
        refused("SoD-02", lambda: decision(world, world.accounts["FG"], **{name: None}))


def test_who_carried_out_a_run_judges_nothing_even_when_no_longer_lead(world: World):
    pilots = Pilot.objects.filter(workload=world.workloads["reif"])
    announced(lambda: pilots.update(lead=world.accounts["fremd"].person))
    announced(WorkloadUserGrant.objects.filter(content_object=world.workloads["reif"]).delete)
    refused("Workload gearbeitet", lambda: decision(world, world.accounts["leitung"]))


def entrust(world: World, name: str, codename: str) -> None:
    """Give the account one personal grant on both open cases, as if it had been owner, deputy or lead before."""
    permission = Permission.objects.get(codename=codename)
    for case in ("eingereicht", "reif"):
        announced(
            lambda case=case: WorkloadUserGrant.objects.create(
                user=world.accounts[name], permission=permission, content_object=world.workloads[case]
            )
        )


def test_former_deputy_neither_votes_nor_decides(world: World):
    rows = Workload.objects.filter(pk__in=[world.workloads[case].pk for case in ("eingereicht", "reif")])
    announced(lambda: rows.update(deputy=world.accounts["fremd"].person))
    former = world.accounts["stellv"]
    refused("Workload gearbeitet", lambda: vote(world, former, world.approvals["eingereicht"]))
    refused("Workload gearbeitet", lambda: decision(world, former))


@pytest.mark.parametrize("codename", ["own_workload", "run_workload"])
def test_who_was_entrusted_with_the_workload_judges_nothing(world: World, codename: str):
    entrust(world, "PR", codename)
    entrust(world, "FG", codename)
    reviewer, approver = world.accounts["PR"], world.accounts["FG"]
    refused("Workload gearbeitet", lambda: vote(world, reviewer, world.approvals["eingereicht"]))
    refused("Workload gearbeitet", lambda: decision(world, approver))


@pytest.mark.parametrize("codename", ["view_workload", "review_workload", "decide_workload"])
def test_other_personal_grants_involve_nobody(world: World, codename: str):
    entrust(world, "PR", codename)
    entrust(world, "FG", codename)
    announced(lambda: vote(world, world.accounts["PR"], world.approvals["eingereicht"]))
    announced(lambda: decision(world, world.accounts["FG"]))


# SoD-03


def test_producer_is_not_the_reviewer(world: World):
    item = world.extras["evidence"]
    rows = EvidenceItem.objects.filter(pk=item.pk)
    refused("evidence_four_eyes", lambda: rows.update(reviewer=F("producer"), status="GEPRUEFT"))


def test_evidence_is_not_rewritten(world: World):
    item = world.extras["evidence"]
    rows = EvidenceItem.objects.filter(pk=item.pk)
    other = world.accounts["fremd"].person
    for change in (
        {"producer": other},
        {"facts_sha256": "0" * 64},
        {"provenance": "EMULIERT"},
        {"type": "EV-04"},
    ):
        refused("SoD-03", lambda change=change: rows.update(**change))
    refused("Nachweise", lambda: rows._raw_delete("default"))
    announced(lambda: rows.update(reviewer=world.accounts["PR"].person, reviewed_at=clock.now()))
    refused("SoD-03", lambda: rows.update(reviewer=other))


# SoD-04


def test_reviewer_is_not_the_approver(world: World):
    refused("decision_sod04", lambda: decision(world, world.accounts["PR"]))
    refused("SoD-02", lambda: decision(world, world.accounts["PR"], reviewer=world.accounts["fremd"].person))


def test_reviewer_is_not_the_requester(world: World):
    approval, owner = world.approvals["eingereicht"], world.accounts["owner"]
    rows = Approval.objects.filter(pk=approval.pk)
    refused(
        "reviewer_is_not_requester",
        lambda: rows.update(reviewer=owner.person, reviewer_account=owner),
    )


def test_no_approval_without_decision_review_and_matching_digest(world: World):
    approval, frozen = world.approvals["reif"], world.extras["record"]
    refused("SoD-04", lambda: settle(approval, decision_sha256=frozen.sha256))
    announced(lambda: decision(world, world.accounts["FG"]))
    refused("SoD-04", lambda: settle(approval, decision_sha256="0" * 64))
    refused("SoD-04", lambda: settle(approval, decision_sha256=frozen.sha256, status="ABGELEHNT"))
    announced(lambda: Vote.objects.filter(approval=approval).update(reset_at=clock.now()))
    refused("SoD-04", lambda: settle(approval, decision_sha256=frozen.sha256))


def test_no_approval_past_the_review(world: World):
    refused(r"SoD-04|Übergang", lambda: settle(world.approvals["eingereicht"]))


def test_no_approval_is_born_decided(world: World):
    approval = world.approvals["frei"]
    values = {"requester": approval.requester, "requester_account": approval.requester_account}
    values |= {"workload": approval.workload, "created_at": clock.now(), "type": "PILOT"}
    for number, status in enumerate(("FREIGEGEBEN", "ABGELEHNT", "AUSGESETZT")):
        refused(
            "SoD-04",
            lambda number=number, status=status: Approval.objects.create(
                number=f"FRG-2026-900{number}-v1", status=status, **values
            ),
        )


@pytest.mark.parametrize(
    "change",
    [
        {"valid_until": None},
        {"valid_from": None},
        {"decision_sha256": "0" * 64},
        {"content_sha256": "0" * 64},
        {"decided_at": None},
        {"number": "FRG-2026-9999-v1"},
        {"reviewer": None, "reviewer_account": None},
        {"status": "ENTWURF"},
        {"status": "ABGELEHNT"},
    ],
    ids=str,
)
def test_decided_approval_stays_what_it_is(world: World, change: dict[str, Any]):
    rows = Approval.objects.filter(pk=world.approvals["frei"].pk)
    refused(r"nicht geändert|Übergang|SoD", lambda: rows.update(**change))


def test_what_a_decision_rests_on_is_written_once(world: World):
    approval = world.approvals["frei"]
    once = {
        ApprovalDecision: {"reason": "anders"},
        DecisionRecord: {"content": "{}"},
        Dossier: {"content": "{}"},
        ActRecord: {"record": "{}"},
        ContentVersion: {"content": "{}"},
    }
    for model, change in once.items():
        refused("steht fest", lambda model=model, change=change: model.objects.update(**change))
        refused("steht fest", lambda model=model: model.objects.all()._raw_delete("default"))
    for change in ({"value": "ABLEHNUNG"}, {"subjects": []}, {"person": world.accounts["FG"].person}):
        refused("Mitzeichnung", lambda change=change: Vote.objects.filter(approval=approval).update(**change))
    refused("Mitzeichnung", lambda: Vote.objects.all()._raw_delete("default"))
    refused("Anträge", lambda: Approval.objects.all()._raw_delete("default"))


def test_a_reset_vote_stays_reset(world: World):
    rows = Vote.objects.filter(approval=world.approvals["reif"])
    announced(lambda: rows.update(reset_at=clock.now()))
    refused("Mitzeichnung", lambda: rows.update(reset_at=None))


# SoD-07


def request(world: World, **changes: Any) -> RoleRequest:
    values = {
        "subject": world.accounts["fremd"].person,
        "role": Role.APPROVER.value,
        "action": RoleAction.GRANT.value,
        "reason": "Aufgabe",
        "requested_by": world.accounts["AD"].person,
    }
    return RoleRequest.objects.create(**values | changes)


def assign(account: User, role: Role, **changes: Any) -> RoleAssignment:
    return RoleAssignment.objects.create(person=account.person, role=role.value, **changes)


def test_nobody_changes_own_roles_and_two_persons_act(world: World):
    subject, admin = world.accounts["fremd"].person, world.accounts["AD"].person
    decided = {"decided_at": clock.now()}
    refused("not_for_oneself", lambda: request(world, requested_by=subject))
    refused("not_confirmed_by_subject", lambda: request(world, confirmed_by=subject, **decided))
    refused("roles_request_four_eyes", lambda: request(world, confirmed_by=admin, **decided))


def test_role_needs_its_confirmed_request(world: World):
    account = world.accounts["fremd"]
    refused("SoD-07", lambda: assign(account, Role.APPROVER))
    waiting = announced(lambda: request(world))
    refused("SoD-07", lambda: assign(account, Role.APPROVER, granted_request=waiting))
    for_another = announced(
        lambda: request(
            world,
            subject=world.accounts["ohne"].person,
            confirmed_by=world.accounts["PR"].person,
            decided_at=clock.now(),
        )
    )
    refused("SoD-07", lambda: assign(account, Role.APPROVER, granted_request=for_another))
    refused("Rollen", lambda: RoleAssignment.objects.filter(person=account.person)._raw_delete("default"))


@pytest.mark.parametrize(("actor", "role"), [("AD", Role.APPROVER), ("owner", Role.ADMINISTRATOR)])
def test_administrator_holds_no_domain_role(world: World, actor: str, role: Role):
    account = world.accounts[actor]
    confirmed = announced(
        lambda: request(
            world,
            subject=account.person,
            role=role.value,
            requested_by=world.accounts["stellv"].person,
            confirmed_by=world.accounts["PR"].person,
            decided_at=clock.now(),
        )
    )
    refused("SoD", lambda: assign(account, role, granted_request=confirmed))


def test_group_needs_its_role(world: World):
    reviewers = Group.objects.get(name=Role.REVIEWER.value)
    refused("SoD-07", lambda: world.accounts["ohne"].groups.add(reviewers))
    refused("SoD-07", lambda: world.accounts["super"].groups.add(reviewers))


# SoD-15


def second_account(world: World, actor: str) -> User:
    person = world.accounts[actor].person
    return announced(lambda: User.objects.create_user(f"{actor.lower()}-2", person=person))


@pytest.mark.parametrize("actor", ["owner", "stellv", "leitung", "PR"])
def test_second_account_of_an_involved_person_decides_nothing(world: World, actor: str):
    refused("sod0[124]|gearbeitet", lambda: decision(world, second_account(world, actor)))


def test_account_of_another_person_is_no_disguise(world: World):
    owner, approver = world.accounts["owner"], world.accounts["FG"]
    refused("SoD-15", lambda: decision(world, owner, person=approver.person))
    refused(
        "SoD-15",
        lambda: vote(world, owner, world.approvals["eingereicht"], person=world.accounts["PR"].person),
    )
    refused("SoD-15", lambda: User.objects.filter(pk=owner.pk).update(person=approver.person))


def test_one_person_counts_once(world: World):
    announced(lambda: decision(world, world.accounts["FG"]))
    refused(r"(?i)unique", lambda: decision(world, second_account(world, "FG")))
    refused(r"(?i)unique", lambda: vote(world, second_account(world, "PR"), world.approvals["reif"]))


def test_requester_and_reviewer_act_with_their_own_accounts(world: World):
    rows = Approval.objects.filter(pk=world.approvals["eingereicht"].pk)
    refused("SoD-15", lambda: rows.update(requester_account=world.accounts["fremd"]))
    reviewer = world.accounts["PR"].person
    refused("SoD-15", lambda: rows.update(reviewer=reviewer, reviewer_account=world.accounts["FG"]))
    refused("SoD-15", lambda: rows.update(reviewer=reviewer))


# SoD-16


def service_of(world: World, actor: str) -> User:
    """Return a service account that counts as the person of `actor`."""
    person = world.accounts[actor].person
    return announced(
        lambda: User.objects.create_user(f"dienst-{actor.lower()}", person=person, is_service=True)
    )


def test_service_account_neither_votes_nor_reviews_nor_decides(world: World):
    approver, reviewer = service_of(world, "FG"), service_of(world, "PR")
    refused("SoD-16", lambda: decision(world, approver))
    refused("SoD-16", lambda: vote(world, reviewer, world.approvals["eingereicht"]))
    rows = Approval.objects.filter(pk=world.approvals["eingereicht"].pk)
    refused("SoD-16", lambda: rows.update(reviewer=reviewer.person, reviewer_account=reviewer))
    refused("SoD-16", lambda: rows.update(requester_account=world.accounts["dienst"]))


def test_service_account_gets_no_group_no_grant_and_no_privilege(world: World):
    service = world.accounts["dienst"]
    group = Group.objects.get(name=Role.WORKLOAD_OWNER.value)
    view = Permission.objects.get(codename="view_workload")
    refused("SoD-16", lambda: service.groups.add(group))
    refused(
        "SoD-16",
        lambda: WorkloadUserGrant.objects.create(
            user=service, permission=view, content_object=world.workloads["frei"]
        ),
    )
    grants = WorkloadUserGrant.objects.filter(user=world.accounts["owner"])
    refused("umgeschrieben", lambda: grants.update(user=service))
    refused("service_has_no_privilege", lambda: User.objects.filter(pk=service.pk).update(is_superuser=True))
    refused("SoD-16", lambda: User.objects.filter(pk=service.pk).update(is_service=False))
