"""A risk class without criteria is refused where runs start and requests are handed in (EM-13)."""

from __future__ import annotations

import pytest

from pilots.models import Run
from qms.approvals.models import Approval
from qms.gates import services as gates
from qms.workloads.choices import AiActRiskClass
from qms.workloads.services import registration
from qms.workloads.services.registration import WorkloadData
from tests.walk import World, address, both_ways, platform, world

__all__ = ["world"]

STAGE = "classified"
pytestmark = pytest.mark.django_db
COVERED = (AiActRiskClass.MINIMAL, AiActRiskClass.TRANSPARENCY)
SENTENCES = {
    AiActRiskClass.HIGH_RISK_ANNEX_I: (
        "Das Regelwerk kompakt 0.2.0 hat keine Kriterien für die Risikoklasse Hochrisiko nach Anhang I (EM-13)."
    ),
    AiActRiskClass.HIGH_RISK_ANNEX_III: (
        "Das Regelwerk kompakt 0.2.0 hat keine Kriterien für die Risikoklasse Hochrisiko nach Anhang III (EM-13)."
    ),
    AiActRiskClass.PROHIBITED: (
        "Für eine verbotene Praktik (Art. 5 KI-Verordnung) gibt es weder Lauf noch Freigabe (EM-13)."
    ),
}


def set_risk_class(world: World, risk_class: AiActRiskClass) -> None:
    workload = world.workload
    if workload.ai_act_risk_class == risk_class:
        return
    names = ("title", "purpose", "business_process", "criticality", "mode", "model_text", "deputy")
    data = WorkloadData(
        **{name: getattr(workload, name) for name in names}, ai_act_risk_class=risk_class.value
    )
    registration.update_workload(
        actor=world.user("wo01"),
        workload_id=workload.pk,
        data=data,
        expected_sha256=workload.content_sha256,
    )


def test_every_risk_class_is_covered_or_has_a_sentence() -> None:
    assert {*COVERED, *SENTENCES} == set(AiActRiskClass)


@pytest.mark.parametrize("risk_class", SENTENCES)
def test_submission_and_runs_are_refused(world: World, risk_class: AiActRiskClass) -> None:
    set_risk_class(world, risk_class)
    refusal = {"id": "EM-13", "message": SENTENCES[risk_class]}
    request = address("approval_request", world.workload_id)
    posted = {"type": "VORFREIGABE"}
    both_ways(world, "wo01", request, posted, event="EINREICHUNG_VERWEIGERT", status=422, **refusal)
    for name, data in (("pilot_baseline", {"start": "1"}), ("pilot_target", {"platform": platform("WSE-2")})):
        url = address(name, world.workload_id)
        both_ways(world, "pl01", url, data, event="LAUF_VERWEIGERT", status=409, **refusal)
    assert not Run.objects.exists()
    assert not Approval.objects.exclude(status="ENTWURF").exists()


@pytest.mark.parametrize("risk_class", COVERED)
def test_covered_classes_are_accepted(world: World, risk_class: AiActRiskClass) -> None:
    set_risk_class(world, risk_class)
    assert gates.uncovered(world.workload) == ()
    request = address("approval_request", world.workload_id)
    assert world.browser("wo01").post(request, {"type": "VORFREIGABE"}).status_code == 302
    assert Approval.objects.get().status == "EINGEREICHT"
