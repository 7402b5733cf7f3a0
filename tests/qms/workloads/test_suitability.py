from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError

from qms.audit.models import AuditEvent
from qms.audit.services import unit
from qms.core import clock
from qms.core.errors import CriterionNotMet, NotVisible, PermissionMissing, Refusal, WrongState
from qms.gates import services as gates
from qms.gates.choices import ApprovalType
from qms.workloads import selectors, state_size
from qms.workloads.choices import AlternativeOption, BottleneckType, OrganisationProfile, UsageKind
from qms.workloads.models import SuitabilityAnswers, Workload
from qms.workloads.services.suitability import MAX_NUMBER, SuitabilityData, save_suitability
from tests.qms.web.workload_world import World, build

pytestmark = pytest.mark.django_db

DATA = SuitabilityData(
    org_profile=OrganisationProfile.ENTERPRISE,
    usage_kind=UsageKind.REGULAR,
    bottleneck_types=(BottleneckType.COMMUNICATION,),
    runs_per_month=Decimal(30),
    hours_per_run=Decimal("20.6"),
    team_size=6,
    alternatives=(
        (AlternativeOption.OPTIMISED_GPU, "Bringt 10 %, nötig sind 50 %."),
        (AlternativeOption.NO_CHANGE, "Der Lauf dauert länger als eine Nacht."),
    ),
    primary_metrics=("throughput_samples_s", "e2e_latency_ms"),
)


@pytest.fixture
def world(db: None) -> World:
    return build()


@pytest.fixture
def workload(world: World) -> Workload:
    return world.register()


def save(world: World, workload: Workload, actor: str = "wo01", **changes: Any) -> SuitabilityAnswers:
    expected = changes.pop("expected_sha256", "")
    return save_suitability(
        actor=world.people[actor],
        workload_id=workload.pk,
        data=replace(DATA, **changes),
        expected_sha256=expected,
    )


def fresh(workload: Workload) -> Workload:
    return Workload.objects.get(pk=workload.pk)


def freeze(workload: Workload) -> None:
    from qms.audit.actors import SYSTEM
    from qms.workloads.services import criteria

    found = fresh(workload)
    with unit(actor=SYSTEM):
        criteria.freeze(workload=found, as_actor=SYSTEM.audit_actor(), run_id=found.pk, at=clock.now())


def test_answers_are_part_of_the_content_and_the_metrics_of_the_criteria(
    world: World, workload: Workload
) -> None:
    assert selectors.content(fresh(workload))["suitability"] is None
    assert selectors.criteria(fresh(workload))["primary_metrics"] == []
    before = fresh(workload).content_sha256
    save(world, workload)
    now = fresh(workload)
    content = selectors.content(now)
    assert content["suitability"]["runs_per_month"] == "30"
    assert content["suitability"]["hours_per_run"] == "20.6"
    assert content["suitability"]["state_gb"] is None
    assert content["suitability"]["alternatives"][0] == {
        "option": "GPU_OPTIMIERT",
        "verdict": "Bringt 10 %, nötig sind 50 %.",
    }
    assert content["criteria"]["primary_metrics"] == ["throughput_samples_s", "e2e_latency_ms"]
    assert now.content_sha256 != before
    assert AuditEvent.objects.order_by("-leaf__seq")[0].kind == "WORKLOAD_GEAENDERT"


def test_gates_read_the_answers_with_what_the_model_says(world: World, workload: Workload) -> None:
    def facts() -> Any:
        return gates.facts_for(fresh(workload), ApprovalType.PRELIMINARY, at=clock.now()).suitability

    assert facts() is None
    save(world, workload)
    found, model = facts(), fresh(workload).model_facts
    assert found.params_b == Decimal(model["params"]) / 10**9
    assert found.state_gb == Decimal(model["weight_bytes"]) / 10**9
    assert found.runs_per_month == 30
    assert found.alternatives[1] == ("KEINE_AENDERUNG", "Der Lauf dauert länger als eine Nacht.")
    save(world, workload, state_gb=Decimal("112.5"))
    assert facts().state_gb == Decimal("112.5")


@pytest.mark.parametrize(
    ("changes", "criterion", "word"),
    [
        ({"org_profile": OrganisationProfile.OTHER, "org_profile_reason": " "}, "G2-2", "Organisation"),
        ({"bottleneck_types": (BottleneckType.RESPONSE,), "business_reason": " "}, "G2-1", "Antwortzeit"),
        ({"alternatives": ((AlternativeOption.TPU_CLOUD, " "),)}, "G2-5", "Grund"),
        (
            {"alternatives": ((AlternativeOption.TPU_CLOUD, "a"), (AlternativeOption.TPU_CLOUD, "b"))},
            "G2-5",
            "nur einmal",
        ),
        ({"runs_per_month": Decimal("-0.01")}, "G2-2", "negativ"),
        ({"requests_per_day": int(MAX_NUMBER) + 1}, "G2-2", "unsinnig"),
        ({"state_gb": Decimal(0)}, "G2-1", "über 0"),
        ({"primary_metrics": ("gibt_es_nicht",)}, "G6-8", "Messgrößen"),
        ({"primary_metrics": ("e2e_latency_ms", "e2e_latency_ms")}, "G6-8", "nur einmal"),
    ],
)
def test_one_sentence_names_what_is_missing(
    world: World, workload: Workload, changes: dict[str, Any], criterion: str, word: str
) -> None:
    with pytest.raises(CriterionNotMet) as refused:
        save(world, workload, **changes)
    assert refused.value.id == criterion
    assert word in refused.value.message
    assert not SuitabilityAnswers.objects.exists()
    assert AuditEvent.objects.order_by("-leaf__seq")[0].kind == "GATE_NICHT_ERFUELLT"


@pytest.mark.parametrize(
    "changes",
    [
        {"org_profile": OrganisationProfile.OTHER, "org_profile_reason": "Prüfverband"},
        {"bottleneck_types": (BottleneckType.RESPONSE,), "business_reason": "Anrufer warten."},
        {"runs_per_month": Decimal(0)},
        {"requests_per_day": int(MAX_NUMBER)},
        {"state_gb": Decimal("0.001")},
        {"primary_metrics": (), "alternatives": (), "bottleneck_types": ()},
        *({"org_profile": profile, "org_profile_reason": "ein Satz"} for profile in OrganisationProfile),
    ],
)
def test_answers_at_the_boundary_are_taken(world: World, workload: Workload, changes: dict[str, Any]) -> None:
    save(world, workload, **changes)
    assert SuitabilityAnswers.objects.get().workload_id == workload.pk


def test_metrics_stay_once_the_criteria_are_frozen(world: World, workload: Workload) -> None:
    freeze(workload)
    with pytest.raises(WrongState) as refused:
        save(world, workload)
    assert refused.value.id == "P10"
    save(world, workload, primary_metrics=())
    now = fresh(workload)
    facts = gates.facts_for(now, ApprovalType.PRELIMINARY, at=clock.now())
    assert facts.freeze.frozen_sha256 == facts.freeze.current_sha256


def test_other_answers_may_change_after_the_freeze(world: World, workload: Workload) -> None:
    save(world, workload)
    freeze(workload)
    save(world, workload, runs_per_month=Decimal(12))
    assert SuitabilityAnswers.objects.get().runs_per_month == 12


@pytest.mark.parametrize(
    ("actor", "error"),
    [("wo02", NotVisible), ("pr01", PermissionMissing), ("fg01", PermissionMissing), ("ohne", NotVisible)],
)
def test_only_who_works_on_the_workload_answers(
    world: World, workload: Workload, actor: str, error: type[Refusal]
) -> None:
    with pytest.raises(error):
        save(world, workload, actor=actor)
    assert not SuitabilityAnswers.objects.exists()


def test_old_content_and_an_empty_change_are_refused(world: World, workload: Workload) -> None:
    opened_on = fresh(workload).content_sha256
    save(world, workload)
    with pytest.raises(WrongState):
        save(world, workload, planned_runs=3, expected_sha256=opened_on)
    with pytest.raises(CriterionNotMet, match="nichts geändert"):
        save(world, workload)


def test_database_refuses_another_kind_of_organisation_without_reason(
    world: World, workload: Workload
) -> None:
    from qms.audit.actors import SYSTEM

    save(world, workload)
    with pytest.raises(IntegrityError), unit(actor=SYSTEM):
        SuitabilityAnswers.objects.update(org_profile="SONSTIGE", org_profile_reason="")


@pytest.mark.parametrize(
    ("mode", "facts", "expected"),
    [
        ("TRAINING", {"params": 13 * 10**9}, Decimal(208)),  # S045
        ("FEINABSTIMMUNG", {"params": 7 * 10**9, "weight_bytes": 14 * 10**9}, Decimal(112)),  # SZ-01.3
        ("INFERENZ", {"params": 7 * 10**9, "weight_bytes": 14 * 10**9}, Decimal(14)),
        ("INFERENZ", {"params": 7 * 10**9}, None),
        ("TRAINING", {}, None),
        ("", {"params": 1}, None),
    ],
)
def test_needed_state_follows_from_the_model(
    mode: str, facts: dict[str, int], expected: Decimal | None
) -> None:
    assert state_size.state_gb(None, mode, facts) == expected
