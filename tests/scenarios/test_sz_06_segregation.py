"""SZ-06: the person behind wo02 requests and also holds the role FG; pr01 has set ENTSCHEIDUNGSREIF."""

from __future__ import annotations

import re

import pytest

from pilots import demo
from qms.approvals.choices import ApprovalType
from qms.approvals.models import Approval, ApprovalDecision, DecisionRecord
from qms.approvals.services import requests
from qms.evidence.models import EvidenceItem
from qms.roles.roles import Role
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
