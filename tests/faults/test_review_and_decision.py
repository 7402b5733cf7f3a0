"""Review and decision by HTTP: second clicks, changed content, wrong people, and nothing half-done."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.db import IntegrityError

from pilots import demo
from qms.approvals import documents, rules
from qms.approvals.choices import Decision, Meaning
from qms.approvals.documents import Wording
from qms.approvals.models import Approval, ApprovalDecision, DecisionRecord, Vote
from qms.approvals.services import decisions
from qms.approvals.services.acts import statement_for
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core import clock, jobs
from qms.core.errors import CriterionNotMet, WrongState
from qms.gates import services as gates
from qms.roles.roles import Role
from qms.signing.models import ActRecord, Document
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
WORDING = Wording(Decision.APPROVE, "Alles geprüft.", Meaning.APPROVED)
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


TWO = "qms.approvals.services.decisions.gates.votes_required"


@pytest.fixture
def two_approvers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reviewed request that needs fg01 and fg02."""
    required = gates.votes_required
    monkeypatch.setattr(TWO, lambda *case: replace(required(*case), approvers=2))
    demo._invite(world.demo, "fg02", "Freigabe 2", demo.PASSWORD)
    world.grant("fg02", Role.APPROVER)
    demo._enrol(world.user("fg02"))
    review(world)


def refused_as_stale(browser: Any, url: str, act: dict[str, str]) -> None:
    with nothing_but("AENDERUNG_VERWEIGERT", id="T-05"):
        answer = browser.post(url, act, headers=JSON)
    assert_refused(answer, status=409, code="AENDERUNG_VERWEIGERT", id="T-05", message=CHANGED)


def signed_fields() -> list[str]:
    return list(ApprovalDecision.objects.order_by("created_at", "id").values_list("act__field", flat=True))


@pytest.mark.usefixtures("two_approvers")
def test_second_approver_gets_the_record_of_the_first(world: World) -> None:
    first, second = world.browser("fg01"), world.browser("fg02")
    url, act = open_decision(world, first)
    assert first.post(url, act).status_code == 302
    assert world.approval.status == "ENTSCHEIDUNGSREIF"
    again, act = open_decision(world, second)
    assert again == url
    assert second.post(again, act).status_code == 302
    assert world.approval.status == "FREIGEGEBEN"
    assert DecisionRecord.objects.count() == 1
    assert signed_fields() == ["Freigabe_02", "Freigabe_03"]


@pytest.mark.needs("pango")
@pytest.mark.usefixtures("two_approvers")
def test_decision_of_two_is_sealed_even_if_both_froze_one(world: World) -> None:
    first, second = world.browser("fg01"), world.browser("fg02")
    (url, act), _other = open_decision(world, first), open_decision(world, second)
    assert first.post(url, act).status_code == 302
    url, act = open_decision(world, second)
    assert second.post(url, act).status_code == 302
    jobs.run_pending()
    document = Document.objects.get(subject_id=world.approval_id)
    assert (document.state, document.error) == ("GESIEGELT", "")


@pytest.mark.usefixtures("two_approvers")
def test_two_records_frozen_side_by_side_are_no_dead_end(world: World) -> None:
    first, second = world.browser("fg01"), world.browser("fg02")
    (url, act), (other, lost) = open_decision(world, first), open_decision(world, second)
    assert other != url
    assert first.post(url, act).status_code == 302
    refused_as_stale(second, other, lost)
    url, act = open_decision(world, second)
    assert second.post(url, act).status_code == 302
    assert world.approval.status == "FREIGEGEBEN"


@pytest.mark.usefixtures("two_approvers")
def test_two_acts_for_the_same_field_are_not_both_taken(world: World) -> None:
    """Both hold an act for field 2 of the same record; the one who comes second has to confirm field 3."""
    first, second = world.browser("fg01"), world.browser("fg02")
    url, act = open_decision(world, first)
    same = {"challenge": hidden(second.get(url), "challenge")} | SIGN
    assert first.post(url, act).status_code == 302
    refused_as_stale(second, url, same)
    assert signed_fields() == ["Freigabe_02"]
    assert second.post(url, {"challenge": hidden(second.get(url), "challenge")} | SIGN).status_code == 302
    assert signed_fields() == ["Freigabe_02", "Freigabe_03"]


@pytest.mark.usefixtures("two_approvers")
def test_second_approver_cannot_freeze_the_opposite(world: World) -> None:
    first = world.browser("fg01")
    url, act = open_decision(world, first)
    assert first.post(url, act).status_code == 302
    rejection = decision_post(decision="ABGELEHNT", meaning="ABGELEHNT", alternative="GPU")
    refused_as_stale(world.browser("fg02"), address("approval_decide", world.approval_id), rejection)


@pytest.mark.usefixtures("two_approvers")
def test_document_has_the_fields_of_its_own_record_only(world: World) -> None:
    first = world.browser("fg01")
    url, act = open_decision(world, first)
    open_decision(world, world.browser("fg02"))
    assert first.post(url, act).status_code == 302
    signed = DecisionRecord.objects.get(decisions__isnull=False)
    other = DecisionRecord.objects.exclude(pk=signed.pk).get()
    names = [field.field for field in documents._fields(world.approval, signed)]
    assert names == ["Freigabe_01", "Freigabe_02"]
    assert [field.field for field in documents._fields(world.approval, other)] == ["Freigabe_01"]


def freeze_at(world: World, moment: datetime) -> DecisionRecord:
    with clock.at(moment):
        return decisions.prepare_decision(
            actor=world.user("fg01"), approval_id=world.approval_id, wording=WORDING
        )


def sign_at(world: World, frozen: DecisionRecord, moment: datetime) -> Approval:
    approver = world.user("fg01")
    with clock.at(moment):
        challenge, response = demo._answer(approver, statement_for(frozen, actor=approver))
        return decisions.decide_approval(
            actor=approver, record_id=frozen.pk, challenge_id=challenge, response=response
        )


def midnight() -> datetime:
    """Return the next midnight where the house stands."""
    today = clock.now().astimezone(ZoneInfo(settings.TIME_ZONE))
    return datetime.combine(today.date() + timedelta(days=1), time.min, today.tzinfo)


def test_decision_is_signed_until_the_end_of_the_day_it_was_frozen(world: World) -> None:
    review(world)
    frozen = freeze_at(world, midnight() - timedelta(seconds=60))
    with nothing_but("AENDERUNG_VERWEIGERT", id="T-08"), pytest.raises(WrongState) as caught:
        sign_at(world, frozen, midnight())
    assert caught.value.message == "Der Wortlaut dieser Entscheidung ist zu alt, um noch signiert zu werden."
    made = sign_at(world, frozen, midnight() - timedelta(seconds=1))
    assert made.status == "FREIGEGEBEN"
    assert made.valid_from == frozen.created_at


@pytest.mark.parametrize(("days", "refused"), [(180, False), (181, True), (0, True)])
def test_dates_that_are_signed_are_judged(
    world: World, monkeypatch: pytest.MonkeyPatch, days: int, refused: bool
) -> None:
    """Whatever froze the record: at the signature G7-6 reads its dates, not new ones."""
    review(world)
    with monkeypatch.context() as patched:
        patched.setattr(documents, "validity", lambda _type, at: (at, at + timedelta(days=days)))
        patched.setattr(rules, "check_no_open_criterion", lambda *_report, **_options: None)
        frozen = decisions.prepare_decision(
            actor=world.user("fg01"), approval_id=world.approval_id, wording=WORDING
        )
    if not refused:
        assert sign_at(world, frozen, clock.now()).valid_until == frozen.created_at + timedelta(days=days)
        return
    with pytest.raises(CriterionNotMet) as caught:
        sign_at(world, frozen, clock.now())
    assert "G7-6" in caught.value.facts["criteria"]
    assert not ApprovalDecision.objects.exists()


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
