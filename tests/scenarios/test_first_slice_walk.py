"""The eight screens in order, by forms alone: from an empty house to a decided Vorfreigabe."""

from __future__ import annotations

import pytest

from pilots.models import Run
from qms.approvals.models import Approval
from qms.core import jobs
from qms.workloads.choices import ObjectClass
from qms.workloads.models import Workload
from tests.qms.web.workload_world import ANSWERS, FIELDS, criteria_post
from tests.walk import (
    SIGN,
    World,
    address,
    decision_post,
    hidden,
    platform,
    recorded,
    review_post,
    screen,
    steady_clock,
)

STAGE = "house"
pytestmark = pytest.mark.django_db


def test_eight_screens_lead_to_a_decision(world: World) -> None:
    owner, lead, reviewer, approver = (world.browser(name) for name in ("wo01", "pl01", "pr01", "fg01"))
    fields = FIELDS | {
        "title": "Ausschussprognose – Inferenz MLP",
        "deputy": str(world.user("wo02").person_id),
    }
    assert owner.post("/workloads/neu/", fields | {"accept": "1"}).status_code == 302
    workload = Workload.objects.get()

    def at(name: str) -> str:
        return address(name, workload.pk)

    assert owner.post(at("workload_data"), ANSWERS).status_code == 302
    assert owner.post(at("workload_criteria"), criteria_post()).status_code == 302
    everything = {"classes": [row.value for row in ObjectClass]}
    assert reviewer.post(at("workload_confirm"), everything).status_code == 302
    assert owner.post(at("pilot_baseline"), {"start": "1"}).status_code == 302
    with steady_clock():
        jobs.run_pending()
    with recorded("KRITERIEN_EINGEFROREN", "LAUF_GESTARTET"):
        assert owner.post(at("pilot_target"), {"platform": platform("WSE-2")}).status_code == 302
    jobs.run_pending()
    assert set(Run.objects.values_list("exit_state", flat=True)) == {"BEENDET"}
    for run in Run.objects.all():
        assert owner.get(address("run", run.pk)).status_code == 200
    assert lead.get(at("workload")).status_code == 404

    assert owner.get(at("approval_request")).status_code == 200
    answer = owner.post(at("approval_request"), {"type": "VORFREIGABE"})
    approval = Approval.objects.get()
    assert answer.url == address("approval", approval.pk)
    assert "Ihr Antrag wartet auf die Prüfung." in screen(owner.get(answer.url))

    assert "Prüfen" in screen(reviewer.get("/"))
    assert reviewer.get(address("approval_review", approval.pk)).status_code == 200
    act = reviewer.post(address("approval_review", approval.pk), review_post())
    signed = {"challenge": hidden(act, "challenge"), "draft": hidden(act, "draft")} | SIGN
    with recorded("ANTRAG_ANGENOMMEN", "MITZEICHNUNG_ABGEGEBEN", "FREIGABE_ENTSCHEIDUNGSREIF"):
        assert reviewer.post(address("approval_review_sign", approval.pk), signed).status_code == 302

    assert approver.get(address("approval_decide", approval.pk)).status_code == 200
    frozen = approver.post(address("approval_decide", approval.pk), decision_post())
    act = approver.get(frozen.url)
    with recorded("FREIGABE_ERTEILT", "SIEGELUNG_ANGEFORDERT"):
        assert approver.post(frozen.url, {"challenge": hidden(act, "challenge")} | SIGN).status_code == 302
    approval.refresh_from_db()
    workload.refresh_from_db()
    assert (approval.status, workload.status) == ("FREIGEGEBEN", "VORFREIGEGEBEN")
    for name in ("wo01", "pr01", "fg01", "au01"):
        page = screen(world.browser(name).get(address("approval", approval.pk)))
        assert "Siegel ausstehend" in page
    assert world.browser("ad01").get(address("approval", approval.pk)).status_code == 404


def test_question_and_answer_stand_on_the_page(world: World) -> None:
    from pilots import demo

    workload = demo.register_workload(world.demo)
    demo.confirm_classification(world.demo, workload)
    approval = demo.request_approval(world.demo, workload)
    question = {"text": "Woher stammen die Prozesswerte?"}
    with recorded("ANTRAG_ANGENOMMEN", "RUECKFRAGE_GESTELLT"):
        assert world.browser("pr01").post(address("approval_query", approval.pk), question).status_code == 302
    page = screen(world.browser("wo01").get(address("approval", approval.pk)))
    assert question["text"] in page
    answer = {"text": "Aus der Linie 2, Zeitraum Oktober."}
    with recorded("RUECKFRAGE_BEANTWORTET"):
        assert world.browser("wo01").post(address("approval_answer", approval.pk), answer).status_code == 302
    page = screen(world.browser("pr01").get(address("approval", approval.pk)))
    assert answer["text"] in page
