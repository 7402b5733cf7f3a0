"""SZ-03: nothing but the owner is missing, or has not accepted."""

from __future__ import annotations

import pytest

from pilots import demo
from qms.approvals.models import Approval
from qms.workloads.choices import Mode
from qms.workloads.models import Workload
from qms.workloads.services import classification, criteria, registration
from qms.workloads.services.classification import LocationData
from qms.workloads.services.registration import WorkloadData
from tests.walk import JSON, World, address, assert_refused, nothing_but, screen

STAGE = "house"
SENTENCE = "Einreichen nicht möglich: Es fehlt eine verantwortliche Person, die die Owner-Rolle angenommen hat (G0-1)."
REQUEST = {"type": "VORFREIGABE"}
pytestmark = pytest.mark.django_db


@pytest.fixture
def workload(world: World) -> Workload:
    """A draft of pl01 that lacks nothing but its owner."""
    lead = world.user("pl01")
    data = WorkloadData(
        title="Angebotstexte generieren – Inferenz 8B",
        purpose="Entwirft aus Anfragen Angebotstexte, die der Vertrieb prüft und selbst versendet.",
        business_process="Vertrieb",
        criticality="NORMAL",
        mode=Mode.INFERENCE.value,
        model_text=demo.MODEL,
        deputy=world.user("wo01").person,
        ai_act_risk_class="MINIMAL",
    )
    made = registration.register_workload(actor=lead, data=data)
    answers = {
        key: frozenset({code}) for key, code in (("KF-1", "a"), ("KF-2", "b"), ("KF-3", "a"), ("KF-4", "a"))
    }
    classification.answer_questions(
        actor=lead, workload_id=made.pk, answers=answers, location=LocationData(), expected_sha256=""
    )
    criteria.set_criteria(
        actor=lead, workload_id=made.pk, data=demo.criteria_data(lead.person), expected_sha256=""
    )
    return made


def refused_by_form(world: World, workload: Workload) -> None:
    with nothing_but("EINREICHUNG_VERWEIGERT", id="G0-1"):
        page = world.browser("pl01").post(address("approval_request", workload.pk), REQUEST)
    assert page.status_code == 422
    assert SENTENCE in screen(page)
    workload.refresh_from_db()
    assert workload.status == "ENTWURF"
    assert not Approval.objects.exclude(status="ENTWURF").exists()


def test_SZ_03_1_without_an_owner_nothing_is_submitted(world: World, workload: Workload) -> None:
    assert workload.owner is None
    refused_by_form(world, workload)


def test_SZ_03_2_a_named_owner_has_to_accept_first(world: World, workload: Workload) -> None:
    named = {"action": "name", "person": str(world.user("wo02").person_id)}
    assert world.browser("pl01").post(address("workload_owner", workload.pk), named).status_code == 302
    workload.refresh_from_db()
    assert workload.owner == world.user("wo02").person
    refused_by_form(world, workload)


def test_SZ_03_3_direct_call_names_the_criterion(world: World, workload: Workload) -> None:
    registration.name_owner(
        actor=world.user("pl01"), workload_id=workload.pk, owner=world.user("wo02").person
    )
    with nothing_but("EINREICHUNG_VERWEIGERT", id="G0-1"):
        answer = world.browser("pl01").post(address("approval_request", workload.pk), REQUEST, headers=JSON)
    assert_refused(answer, status=422, code="EINREICHUNG_VERWEIGERT", id="G0-1", message=SENTENCE)
    assert answer.json()["criterion"] == "G0-1"
