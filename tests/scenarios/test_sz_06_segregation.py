"""SZ-06: the person behind wo02 requests and also holds the role FG; pr01 has set ENTSCHEIDUNGSREIF."""

from __future__ import annotations

import re

import pytest

from pilots import demo
from qms.approvals import documents, dossier
from qms.approvals import selectors as approvals
from qms.approvals.choices import ApprovalType, Decision, Meaning
from qms.approvals.documents import Wording
from qms.approvals.models import Approval, ApprovalDecision, DecisionRecord
from qms.approvals.services import decisions, requests
from qms.core.errors import SodViolation
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.roles.roles import Role
from qms.workloads import selectors as workloads
from qms.workloads.services import registration
from qms.workloads.services.registration import WorkloadData
from tests.walk import World, address, both_ways, decision_post, screen

STAGE = "emulated"
LOCKED = re.compile(r"<button[^>]*\bdisabled>(?:(?!</button>).)*Entscheiden</button>", re.DOTALL)
pytestmark = pytest.mark.django_db


@pytest.fixture
def ready(world: World) -> Approval:
    """A request of wo02 that pr01 has reviewed."""
    world.grant("wo02", Role.APPROVER)
    made = requests.request_approval(
        actor=world.user("wo02"), workload_id=world.workload_id, type=ApprovalType.PRELIMINARY
    )
    demo.review(world.demo, made)
    made.refresh_from_db()
    assert made.status == "ENTSCHEIDUNGSREIF"
    return made


def refused_decision(world: World, ready: Approval, name: str, rule: str, message: str) -> None:
    url = address("approval_decide", ready.pk)
    both_ways(world, name, url, decision_post(), event="SOD_VERLETZUNG", status=403, id=rule, message=message)
    ready.refresh_from_db()
    assert ready.status == "ENTSCHEIDUNGSREIF"
    assert not DecisionRecord.objects.exists()
    assert not ApprovalDecision.objects.exists()
    page = world.browser(name).get(url)
    assert message in screen(page)
    assert LOCKED.search(page.content.decode())
    assert 'name="decision"' not in page.content.decode()


def test_SZ_06_1_requester_does_not_decide(world: World, ready: Approval) -> None:
    message = "Funktionstrennung SoD-01: Antragstellende Person darf nicht entscheiden."
    refused_decision(world, ready, "wo02", "SoD-01", message)
    page = world.browser("wo02").get(address("approval", ready.pk))
    assert message in screen(page)
    assert LOCKED.search(page.content.decode())


def test_SZ_06_3_second_account_of_the_requester_does_not_decide(world: World, ready: Approval) -> None:
    second = world.second_account("wo02", "wo02-zweitkonto")
    assert second.person_id == ready.requester_id
    message = "Funktionstrennung SoD-15: Mehrere Konten derselben Person zählen einmal."
    refused_decision(world, ready, "wo02-zweitkonto", "SoD-15", message)


def test_SZ_06_5_own_evidence_is_not_reviewed_by_its_producer(world: World) -> None:
    made = demo.request_approval(world.demo, world.workload)
    item = EvidenceItem.objects.get(type="EV-02")
    assert item.producer == world.user("pl01").person
    both_ways(
        world,
        "pl01",
        address("evidence_review", item.pk),
        {"accept": "ja", "compared_with": "", "reason": ""},
        event="SOD_VERLETZUNG",
        status=403,
        id="SoD-03",
        message="Eigene Nachweise dürfen nicht selbst geprüft werden (SoD-03).",
    )
    item.refresh_from_db()
    made.refresh_from_db()
    assert (item.status, made.status) == ("NEU", "EINGEREICHT")


INVOLVED = (
    "Funktionstrennung SoD-02: Owner, Stellvertretung und Pilotbeteiligte prüfen und entscheiden nicht."
)


def replace_deputy(world: World, name: str) -> None:
    """The owner names another deputy on the first screen."""
    workload = world.workload
    names = ("title", "purpose", "business_process", "criticality", "mode", "model_text", "ai_act_risk_class")
    registration.update_workload(
        actor=world.user("wo01"),
        workload_id=workload.pk,
        data=WorkloadData(
            **{field: getattr(workload, field) for field in names}, deputy=world.user(name).person
        ),
        expected_sha256=workload.content_sha256,
    )


@pytest.fixture
def former(world: World) -> Approval:
    """wo02, also FG, was deputy; the owner names another one, requests, pr01 has reviewed."""
    world.grant("wo02", Role.APPROVER)
    demo._invite(world.demo, "wo03", "Workload-Owner 3", demo.PASSWORD)
    world.grant("wo03", Role.WORKLOAD_OWNER)
    replace_deputy(world, "wo03")
    assert world.workload.deputy == world.user("wo03").person
    made = demo.request_approval(world.demo, world.workload)
    demo.review(world.demo, made)
    made.refresh_from_db()
    assert made.status == "ENTSCHEIDUNGSREIF"
    return made


def test_former_deputy_does_not_decide(world: World, former: Approval) -> None:
    refused_decision(world, former, "wo02", "SoD-02", INVOLVED)


def test_former_deputy_is_refused_by_the_command(world: World, former: Approval) -> None:
    with pytest.raises(SodViolation) as caught:
        approvals.check_decider(former, world.user("wo02"))
    assert caught.value.id == "SoD-02"
    with pytest.raises(SodViolation):
        approvals.check_voter(former, world.user("wo02"))
    wording = Wording(Decision.APPROVE, "Die geprüften Kriterien sind erfüllt.", Meaning.APPROVED)
    with pytest.raises(SodViolation) as caught:
        decisions.prepare_decision(actor=world.user("wo02"), approval_id=former.pk, wording=wording)
    assert caught.value.id == "SoD-02"


def test_former_deputy_counts_in_the_facts_of_g7_3(world: World, former: Approval) -> None:
    person, built = world.user("wo02").person, dossier.check_current(former)
    assert person.pk in built.facts.case.workers
    facts = documents.decision_facts(former, built, actor=world.user("wo02"), at=built.facts.now)
    broken = next(row for row in gates.evaluate_decision(facts).criteria if row.row.id == "G7-3")
    assert "SoD-02" in broken.reason_de
    assert person.pid not in documents._entitled(former)
    assert world.user("fg01").person.pid in documents._entitled(former)


def test_who_never_worked_on_it_still_decides(world: World, former: Approval) -> None:
    assert world.user("ad01").person_id not in workloads.workers(world.workload)
    demo.decide(world.demo, former)
    former.refresh_from_db()
    assert former.status == "FREIGEGEBEN"
