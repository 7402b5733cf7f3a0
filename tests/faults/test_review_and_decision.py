"""Review and decision by HTTP: second clicks, changed content, wrong people, and nothing half-done."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError

from pilots import demo
from qms.approvals.models import Approval, ApprovalDecision, DecisionRecord, Vote
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import clock
from qms.roles.roles import Role
from qms.signing.models import ActRecord
from qms.workloads.services import registration
from tests.walk import (
    JSON,
    SIGN,
    World,
    address,
    assert_refused,
    both_ways,
    decision_post,
    hidden,
    kinds_since,
    log_size,
    nothing_but,
    review_post,
    screen,
)

STAGE = "requested"
CHANGED = "Der Inhalt hat sich geändert; bitte erneut prüfen und bestätigen."
pytestmark = pytest.mark.django_db


def open_review(world: World, browser: Any) -> dict[str, str]:
    """Fill in screen 7 and return what the act page would send."""
    page = browser.post(address("approval_review", world.approval_id), review_post())
    assert page.status_code == 200, screen(page)
    return {"challenge": hidden(page, "challenge"), "draft": hidden(page, "draft")} | SIGN


def review(world: World) -> Any:
    browser = world.browser("pr01")
    act = open_review(world, browser)
    return browser, act, browser.post(address("approval_review_sign", world.approval_id), act)


def open_decision(world: World, browser: Any) -> tuple[str, dict[str, str]]:
    """Fill in screen 8 and return where the act page sends what."""
    answer = browser.post(address("approval_decide", world.approval_id), decision_post())
    assert answer.status_code == 302, screen(answer)
    page = browser.get(answer.url)
    return answer.url, {"challenge": hidden(page, "challenge")} | SIGN


def change_purpose(world: World) -> None:
    workload = world.workload
    data = registration.WorkloadData(
        title=workload.title,
        purpose=workload.purpose + " Neu ist die zweite Fertigungslinie.",
        business_process=workload.business_process,
        criticality=workload.criticality,
        mode=workload.mode,
        model_text=workload.model_text,
        deputy=workload.deputy,
        ai_act_risk_class=workload.ai_act_risk_class,
    )
    registration.update_workload(
        actor=world.user("wo01"), workload_id=workload.pk, data=data, expected_sha256=workload.content_sha256
    )


def test_forms_lead_from_the_request_to_the_decision(world: World) -> None:
    _browser, _act, answer = review(world)
    assert answer.status_code == 302
    assert world.approval.status == "ENTSCHEIDUNGSREIF"
    browser = world.browser("fg01")
    url, act = open_decision(world, browser)
    assert browser.post(url, act).status_code == 302
    assert world.approval.status == "FREIGEGEBEN"


def test_second_request_of_the_same_kind_is_refused(world: World) -> None:
    both_ways(
        world,
        "wo01",
        address("approval_request", world.workload_id),
        {"type": "VORFREIGABE"},
        event="AENDERUNG_VERWEIGERT",
        status=409,
        id="T-01",
        message="Für diesen Workload läuft bereits ein Antrag dieser Art.",
    )
    assert Approval.objects.count() == 1


def test_double_click_on_the_review_leaves_one_vote(world: World) -> None:
    size = log_size()
    browser, act, answer = review(world)
    assert answer.status_code == 302
    url = address("approval_review_sign", world.approval_id)
    with nothing_but("AENDERUNG_VERWEIGERT", id="T-07"):
        again = browser.post(url, act, headers=JSON)
    assert_refused(
        again,
        status=409,
        code="AENDERUNG_VERWEIGERT",
        id="T-07",
        message="Dieser Antrag kann in seinem Zustand nicht geprüft werden.",
    )
    assert Vote.objects.count() == 1
    assert kinds_since(size).count("MITZEICHNUNG_ABGEGEBEN") == 1


def test_double_click_on_the_decision_leaves_one_decision(world: World) -> None:
    review(world)
    size, browser = log_size(), world.browser("fg01")
    url, act = open_decision(world, browser)
    assert browser.post(url, act).status_code == 302
    with nothing_but("AENDERUNG_VERWEIGERT"):
        again = browser.post(url, act, headers=JSON)
    assert again.status_code == 409
    assert again.json()["message_de"] == "„Freigeben“ ist im Status „Freigegeben“ nicht möglich (T-08)."
    assert ApprovalDecision.objects.count() == 1
    assert kinds_since(size).count("FREIGABE_ERTEILT") == 1


def test_content_changed_between_form_and_review_act_is_refused(world: World) -> None:
    browser = world.browser("pr01")
    act = open_review(world, browser)
    change_purpose(world)
    url = address("approval_review_sign", world.approval_id)
    with nothing_but("AENDERUNG_VERWEIGERT", id="T-05"):
        answer = browser.post(url, act, headers=JSON)
    assert_refused(answer, status=409, code="AENDERUNG_VERWEIGERT", id="T-05", message=CHANGED)
    assert world.approval.status == "EINGEREICHT"


def test_content_changed_after_the_review_is_not_decided(world: World) -> None:
    review(world)
    change_purpose(world)
    both_ways(
        world,
        "fg01",
        address("approval_decide", world.approval_id),
        decision_post(),
        event="AENDERUNG_VERWEIGERT",
        status=409,
        id="T-05",
        message=CHANGED,
    )
    assert not DecisionRecord.objects.exists()
    page = screen(world.browser("fg01").get(address("approval", world.approval_id)))
    assert (
        "Der Inhalt hat sich geändert, seit der Antrag geprüft wurde. Eine Entscheidung ist nicht möglich."
        in page
    )


def test_content_changed_between_wording_and_signature_is_refused(world: World) -> None:
    review(world)
    browser = world.browser("fg01")
    url, act = open_decision(world, browser)
    change_purpose(world)
    with nothing_but("AENDERUNG_VERWEIGERT", id="T-05"):
        answer = browser.post(url, act, headers=JSON)
    assert_refused(answer, status=409, code="AENDERUNG_VERWEIGERT", id="T-05", message=CHANGED)
    assert not ApprovalDecision.objects.exists()
    assert world.approval.status == "ENTSCHEIDUNGSREIF"


@pytest.mark.parametrize(
    ("name", "rule"), [("wo01", "SoD-01"), ("wo02", "SoD-02"), ("pl01", "SoD-02"), ("pr01", "SoD-04")]
)
def test_people_of_the_case_do_not_decide_even_with_the_role(world: World, name: str, rule: str) -> None:
    review(world)
    _second_reviewer(world)
    world.grant(name, Role.APPROVER, confirmer="pr02")
    with nothing_but("SOD_VERLETZUNG", id=rule):
        answer = world.browser(name).post(
            address("approval_decide", world.approval_id), decision_post(), headers=JSON
        )
    assert answer.status_code == 403
    assert answer.json()["id"] == rule
    assert not DecisionRecord.objects.exists()


def _second_reviewer(world: World) -> None:
    """Give the role of a reviewer to one more person, so that somebody can confirm roles of the first."""
    demo._invite(world.demo, "pr02", "Prüfung 2", demo.PASSWORD)
    world.grant("pr02", Role.REVIEWER)


def test_superuser_flag_decides_nothing(world: World) -> None:
    review(world)
    owner = world.user("wo01")
    with unit(actor=SYSTEM):
        owner.is_superuser = owner.is_staff = True
        owner.save(update_fields=["is_superuser", "is_staff"])
        record(AuditKind.ACCOUNT_CHANGED, actor=SYSTEM, subject=owner)
    with nothing_but("SOD_VERLETZUNG", id="SoD-01"):
        answer = world.browser("wo01").post(
            address("approval_decide", world.approval_id), decision_post(), headers=JSON
        )
    assert answer.status_code == 403


def test_second_account_of_the_reviewer_does_not_decide(world: World) -> None:
    review(world)
    world.second_account("pr01", "pr01-zweitkonto")
    with nothing_but("SOD_VERLETZUNG", id="SoD-15"):
        answer = world.browser("pr01-zweitkonto").post(
            address("approval_decide", world.approval_id), decision_post(), headers=JSON
        )
    assert answer.status_code == 403


def test_producer_of_evidence_does_not_review_the_request(world: World) -> None:
    with nothing_but("SOD_VERLETZUNG", id="SoD-03"):
        answer = world.browser("pl01").post(
            address("approval_review", world.approval_id), review_post(), headers=JSON
        )
    assert answer.status_code == 403


def test_person_without_the_role_is_named_the_permission(world: World) -> None:
    review(world)
    with nothing_but("ZUGRIFF_VERWEIGERT", id="P23"):
        answer = world.browser("au01").post(
            address("approval_decide", world.approval_id), decision_post(), headers=JSON
        )
    assert answer.status_code == 403


def test_request_of_a_hidden_workload_does_not_exist(world: World) -> None:
    for name in ("approval_review", "approval_decide", "approval_document"):
        with nothing_but(""):
            answer = world.browser("ad01").post(address(name, world.approval_id), {"x": "1"}, headers=JSON)
        assert answer.status_code == 404


def test_decision_before_the_review_is_refused(world: World) -> None:
    with nothing_but("AENDERUNG_VERWEIGERT"):
        answer = world.browser("fg01").post(
            address("approval_decide", world.approval_id), decision_post(), headers=JSON
        )
    assert answer.status_code == 409
    assert world.approval.status == "EINGEREICHT"


def test_challenge_of_another_session_is_refused(world: World) -> None:
    act = open_review(world, world.browser("pr01"))
    url = address("approval_review_sign", world.approval_id)
    with nothing_but("SIGNATUR_VERWEIGERT", id="G7-10"):
        answer = world.browser("pr01").post(url, act, headers=JSON)
    assert_refused(
        answer,
        status=422,
        code="SIGNATUR_VERWEIGERT",
        id="G7-10",
        message="Diese Bestätigung gehört nicht zu Ihrer Sitzung.",
    )


def test_wrong_password_and_code_leave_one_event(world: World) -> None:
    browser = world.browser("pr01")
    act = open_review(world, browser) | {"software": "", "password": "falsch", "code": "000000"}
    with nothing_but("SIGNATUR_VERWEIGERT", id="G7-10"):
        answer = browser.post(address("approval_review_sign", world.approval_id), act, headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["message_de"] == "Passwort oder Einmalcode stimmen nicht."


def test_decision_without_a_reason_is_refused(world: World) -> None:
    review(world)
    page = world.browser("fg01").post(address("approval_decide", world.approval_id), decision_post(reason=""))
    assert page.status_code == 422
    assert "Bitte begründen Sie die Entscheidung; die Begründung steht im signierten Dokument." in screen(
        page
    )
    assert not DecisionRecord.objects.exists()


def test_database_itself_refuses_the_requester_as_decider(world: World) -> None:
    """Two requests at the same second cannot both pass: the row itself is refused, whoever writes it."""
    review(world)
    browser = world.browser("fg01")
    open_decision(world, browser)
    approval, requester = world.approval, world.user("wo01")
    frozen = DecisionRecord.objects.get()
    before = log_size()
    with pytest.raises(IntegrityError), unit(actor=SYSTEM):
        ApprovalDecision.objects.create(
            approval=approval,
            record=frozen,
            person=requester.person,
            account=requester,
            role="FG",
            meaning="FREIGEGEBEN",
            act=ActRecord.objects.get(),
            created_at=clock.now(),
            requester=approval.requester,
            owner=approval.workload.owner,
            deputy=approval.workload.deputy,
            lead=approval.workload.pilot.lead,
            decision="FREIGEGEBEN",
            decision_sha256=frozen.sha256,
            reviewer=approval.reviewer,
        )
    assert log_size() == before
    assert not ApprovalDecision.objects.exists()


def test_database_itself_refuses_a_second_undecided_request(world: World) -> None:
    approval = world.approval
    with pytest.raises(IntegrityError), unit(actor=SYSTEM):
        Approval.objects.create(
            number="FRG-2026-9999-v1",
            type=approval.type,
            workload=approval.workload,
            status="EINGEREICHT",
            requester=approval.requester,
            requester_account=approval.requester_account,
            created_at=clock.now(),
        )
    assert Approval.objects.count() == 1
