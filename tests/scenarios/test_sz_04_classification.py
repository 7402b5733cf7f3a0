"""SZ-04: CHECKPOINTS and AUSGABEN are proposed but not confirmed."""

from __future__ import annotations

import pytest

from pilots import demo
from pilots.models import Run
from qms.approvals.models import Approval
from qms.evidence.models import EvidenceItem
from qms.workloads.choices import ObjectClass
from tests.conditional import condition, posted
from tests.walk import JSON, World, address, both_ways, platform, recorded, screen

STAGE = "recorded"
OPEN = {ObjectClass.CHECKPOINTS, ObjectClass.OUTPUTS}
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _five_of_seven(world: World) -> None:
    chosen = {"classes": [row.value for row in ObjectClass if row not in OPEN]}
    answer = world.browser("pr01").post(address("workload_confirm", world.workload_id), chosen)
    assert answer.status_code == 302
    assert world.workload.status == "ERFASST"


def test_SZ_04_1_no_run_before_every_class_is_confirmed(world: World) -> None:
    both_ways(
        world,
        "pl01",
        address("pilot_target", world.workload_id),
        {"platform": platform("WSE-2")},
        event="LAUF_VERWEIGERT",
        status=409,
        id="T-11",
        message=(
            "Vor einem Lauf muss die Datenklassifizierung vollständig bestätigt sein: "
            "Checkpoints, Ausgaben (G1-1)."
        ),
    )
    assert not Run.objects.exists()
    assert not EvidenceItem.objects.exists()
    assert world.workload.status == "ERFASST"


def test_SZ_04_2_request_is_accepted_with_a_red_gate(world: World) -> None:
    with recorded("ANTRAG_EINGEREICHT", "GATE_NICHT_ERFUELLT"):
        answer = world.browser("wo01").post(
            address("approval_request", world.workload_id), {"type": "VORFREIGABE"}, follow=True
        )
    assert answer.status_code == 200
    found = Approval.objects.get()
    assert found.status == "EINGEREICHT"
    sentence = "Gate G1 nicht erfüllt: Datenklassifizierung unvollständig (G1-1, keine Ausnahme möglich)."
    assert sentence in screen(answer)


def test_SZ_04_3_no_condition_replaces_the_classification(world: World) -> None:
    made = demo.review(world.demo, demo.request_approval(world.demo, world.workload))
    assert made.status == "ENTSCHEIDUNGSREIF"
    world.approval_id = made.pk
    url = address("approval_decide", made.pk)
    page = screen(world.browser("fg01").get(url))
    assert "Auflagen angeben" not in page
    refusal = {
        "event": "GATE_NICHT_ERFUELLT",
        "status": 422,
        "id": "G1-1",
        "message": "Bedingte Freigabe nicht möglich: G1-1 kann nicht durch eine Auflage ersetzt werden.",
    }
    given = condition(world, "G1-1", text="Klassifizierung nachreichen")
    for sent in (posted(given), posted(), {**posted(), "auflage_G1-1_text": "Klassifizierung nachreichen"}):
        both_ways(world, "fg01", url, sent, **refusal)
    assert world.approval.status == "ENTSCHEIDUNGSREIF"


def test_SZ_04_6_no_document_without_a_decision(world: World) -> None:
    made = demo.request_approval(world.demo, world.workload)
    refusal = {
        "event": "DOKUMENT_VERWEIGERT",
        "status": 409,
        "id": "G7-9",
        "message": "Kein Freigabedokument ohne Entscheidung. Verfügbar: Gate-Bericht (G7-9).",
    }
    both_ways(world, "pr01", address("approval_document", made.pk), {}, **refusal)
    page = world.browser("pr01").get(address("approval_document", made.pk))
    assert page.status_code == 409
    assert refusal["message"] in screen(page)
    answer = world.browser("pr01").get(address("approval_document", made.pk), headers=JSON)
    assert answer.json()["code"] == "DOKUMENT_VERWEIGERT"
    made.refresh_from_db()
    assert made.status == "EINGEREICHT"
    report = world.browser("pr01").get(address("approval_gate_report", made.pk))
    assert report.status_code == 200
