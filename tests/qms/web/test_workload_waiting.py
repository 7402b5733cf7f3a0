from __future__ import annotations

from typing import Any

import pytest

from qms.approvals.models import Approval
from qms.approvals.services import requests
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.gates.choices import ApprovalType
from qms.web import waiting
from qms.workloads.models import Workload
from qms.workloads.services import registration
from tests.qms.web.workload_world import URLCONF, World, build

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _addresses(settings: Any) -> None:
    settings.ROOT_URLCONF = URLCONF


@pytest.fixture
def world(db: None) -> World:
    return build()


def mine(world: World, name: str) -> list[tuple[str, str]]:
    found = waiting.for_account(world.people[name]).mine
    return [(row.verb, row.subject.split(" · ")[0]) for row in found]


def others(world: World, name: str) -> list[tuple[str, str, str]]:
    found = waiting.for_account(world.people[name]).others
    return [(row.verb, row.subject.split(" · ")[0], row.who) for row in found]


@pytest.fixture
def requested(world: World) -> Approval:
    made = world.register("Antrag")
    world.answer(made)
    world.confirm(made)
    world.set_criteria(made)
    return requests.request_approval(
        actor=world.people["wo01"], workload_id=made.pk, type=ApprovalType.PRELIMINARY
    )


def set_state(approval: Approval, world: World, status: str) -> None:
    """Move a request past the acts that need a passkey."""
    reviewer = world.people["pr01"]
    with unit(actor=SYSTEM):
        Approval.objects.filter(pk=approval.pk).update(
            status=status, reviewer=reviewer.person, reviewer_account=reviewer
        )
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))


def test_nothing_waits_for_anybody_in_an_empty_house(world: World) -> None:
    for name in world.people:
        found = waiting.for_account(world.people[name])
        assert (found.mine, found.others) == ((), ())
    assert "Nichts wartet auf Sie." in world.client("wo01").get("/").content.decode()


def test_draft_without_owner_waits_for_who_recorded_it(world: World) -> None:
    world.register("Entwurf", accept=False)
    assert mine(world, "wo01") == [("Annehmen", "Entwurf")]
    assert mine(world, "pr01") == []


def test_named_owner_is_asked_and_the_others_see_who(world: World) -> None:
    made = world.register("Benannt", accept=False)
    with unit(actor=SYSTEM):
        Workload.objects.filter(pk=made.pk).update(owner=world.people["wo02"].person)
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))
    assert others(world, "wo01") == [("Annehmen", "Benannt", "Workload-Owner 2")]


def test_classification_waits_for_the_reviewer_only(world: World) -> None:
    made = world.register("Daten")
    world.answer(made)
    assert mine(world, "pr01") == [("Bestätigen", "Daten")]
    assert mine(world, "wo01") == []
    assert others(world, "wo01") == [("Bestätigen", "Daten", "Prüfer(in)")]
    assert mine(world, "fg01") == []
    world.confirm(made)
    assert mine(world, "pr01") == []


def test_request_waits_for_review(world: World, requested: Approval) -> None:
    assert mine(world, "pr01") == [("Prüfen", "Antrag")]
    assert others(world, "wo01") == [("Prüfen", "Antrag", "Prüfer(in)")]
    assert mine(world, "fg01") == []


def test_question_waits_for_the_requester(world: World, requested: Approval) -> None:
    requests.ask_question(actor=world.people["pr01"], approval_id=requested.pk, text="Woher?")
    assert mine(world, "wo01") == [("Beantworten", "Antrag")]
    assert mine(world, "pr01") == []
    assert others(world, "pr01") == [("Beantworten", "Antrag", "Workload-Owner 1")]


def test_ready_request_waits_for_the_approver(world: World, requested: Approval) -> None:
    set_state(requested, world, "ENTSCHEIDUNGSREIF")
    assert mine(world, "fg01") == [("Entscheiden", "Antrag")]
    assert others(world, "wo01") == [("Entscheiden", "Antrag", "Freigeber(in)")]
    assert mine(world, "pr01") == []


def test_role_change_waits_for_the_confirming_person(world: World) -> None:
    from qms.roles import services
    from qms.roles.models import RoleAction
    from qms.roles.roles import Role

    services.request_role(
        actor=world.people["ad01"],
        person_id=world.people["ohne"].person_id,
        role=Role.AUDITOR,
        action=RoleAction.GRANT,
        reason="Prüfung",
    )
    assert mine(world, "pr01") == [("Bestätigen", "Person ohne Rolle")]
    assert mine(world, "ad01") == []
    assert others(world, "ad01") == [("Bestätigen", "Person ohne Rolle", "Prüfer(in)")]
    assert mine(world, "wo01") == []


def test_changes_since_the_last_decision_are_named(world: World, requested: Approval) -> None:
    from qms.core import clock

    with unit(actor=SYSTEM):
        Approval.objects.filter(pk=requested.pk).update(status="ZURUECKGEZOGEN", decided_at=clock.now())
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))
    path = f"/workloads/{requested.workload_id}/"
    assert (
        "Seit der letzten Freigabe hat sich nichts geändert."
        in world.client("wo01").get(path).content.decode()
    )
    workload = requested.workload
    data = registration.WorkloadData(
        title="Neuer Titel",
        purpose=workload.purpose,
        business_process=workload.business_process,
        criticality="GESCHAEFTSKRITISCH",
        mode=workload.mode,
        model_text=workload.model_text,
        deputy=world.people["wo02"].person,
        ai_act_risk_class=workload.ai_act_risk_class,
    )
    registration.update_workload(
        actor=world.people["wo01"], workload_id=workload.pk, data=data, expected_sha256=""
    )
    page = world.client("wo01").get(path).content.decode().replace("\u00ad", "")
    for text in (
        "<del>normal</del>",
        "<ins>geschäftskritisch</ins>",
        "<ins>Neuer Titel</ins>",
        "<ins>Workload-Owner 2</ins>",
    ):
        assert text in page
    assert "Workload-Owner 1" in page
    assert "G0-3" in page
