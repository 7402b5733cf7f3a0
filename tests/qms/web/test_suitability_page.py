from __future__ import annotations

import html
from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse

from qms.audit import selectors as audit
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import unit
from qms.core import clock
from qms.core.values import Assurance, Axes, Metric, Origin, Provenance, Unit, decimal_text
from qms.evidence.choices import EvidenceType
from qms.evidence.services import Submission, submit
from qms.gates.report import GateReport
from qms.web import suitability_page, workload_changes
from qms.workloads.models import SuitabilityAnswers, Workload
from qms.workloads.services import criteria
from tests.qms.web.workload_world import URLCONF, World, build

pytestmark = pytest.mark.django_db
NBSP = "\u00a0"
MEASURED = Axes(Provenance.MEASURED, Assurance.SUBMITTED, Origin.OWN)
POST = {
    "org_profile": "UNTERNEHMEN",
    "usage_kind": "REGELBETRIEB",
    "bottleneck_types": ["KOMMUNIKATION", "SPEICHERKAPAZITAET"],
    "requests_per_day": "60.000",
    "runs_per_month": "30",
    "hours_per_run": "20,6",
    "primary_metric": "throughput_samples_s",
    "further_metrics": ["throughput_samples_s", "e2e_latency_ms"],
    "alternative_gpu_optimiert": "Bringt 10 %.",
    "alternative_tpu_cloud": " ",
}


@pytest.fixture(autouse=True)
def _addresses(settings: Any) -> None:
    settings.ROOT_URLCONF = URLCONF


@pytest.fixture
def world(db: None) -> World:
    return build()


@pytest.fixture
def workload(world: World) -> Workload:
    return world.register()


def url(workload: Workload) -> str:
    return reverse("workload_suitability", args=[workload.pk])


def text_of(world: World, workload: Workload, actor: str = "wo01", name: str = "workload_suitability") -> str:
    answer = world.client(actor).get(reverse(name, args=[workload.pk]))
    assert answer.status_code == 200
    return html.unescape(answer.content.decode()).replace("\u00ad", "")


def test_page_says_that_it_is_not_needed_yet_and_is_linked(world: World, workload: Workload) -> None:
    page = text_of(world, workload)
    assert "Nötig, sobald die Vergleichsbasis von Ihrer bestehenden Plattform stammt." in page
    assert "noch keine Angabe; regelmäßig heißt ab 50.000" in page
    assert "noch keine" in page
    assert f'href="{url(workload)}"' in text_of(world, workload, name="workload")


def test_answers_are_stored_and_shown_again(world: World, workload: Workload) -> None:
    answer = world.client("wo01").post(url(workload), POST)
    assert answer.url == url(workload)
    stored = SuitabilityAnswers.objects.get()
    assert stored.requests_per_day == 60000
    assert stored.hours_per_run == Decimal("20.6")
    assert stored.primary_metrics == ["throughput_samples_s", "e2e_latency_ms"]
    assert stored.alternatives == [{"option": "GPU_OPTIMIERT", "verdict": "Bringt 10 %."}]
    page = text_of(world, workload)
    assert f"618{NBSP}h; regelmäßig heißt ab 100{NBSP}h" in page
    assert "60.000; regelmäßig heißt ab 50.000" in page
    assert 'value="20,6"' in page
    assert "(Größe der Gewichte)" in page
    overview = text_of(world, workload, name="workload")
    assert "verteilte Kommunikation, zusammenhängender Speicher" in overview


def test_only_two_answers_are_asked_to_save(world: World, workload: Workload) -> None:
    answer = world.client("wo01").post(url(workload), {})
    assert answer.status_code == 422
    assert sorted(answer.context["form"].errors) == ["org_profile", "usage_kind"]
    least = {name: POST[name] for name in ("org_profile", "usage_kind")}
    assert world.client("wo01").post(url(workload), least).status_code == 302


@pytest.mark.parametrize(
    ("changes", "field", "word"),
    [
        ({"bottleneck_types": ["LATENZ_DURCHSATZ"]}, "business_reason", "Antwortzeit oder Durchsatz"),
        ({"org_profile": "SONSTIGE"}, "__all__", "in einem Satz"),
        ({"primary_metric": ""}, "primary_metric", "an erster Stelle"),
        ({"hours_per_run": "-1"}, "hours_per_run", "0"),
        ({"requests_per_day": "viele"}, "requests_per_day", "Zahl"),
    ],
)
def test_a_refusal_keeps_the_values_and_names_the_place(
    world: World, workload: Workload, changes: dict[str, Any], field: str, word: str
) -> None:
    answer = world.client("wo01").post(url(workload), POST | changes)
    assert answer.status_code == 422
    assert word in " ".join(answer.context["form"].errors[field])
    assert 'value="30"' in answer.content.decode()
    assert not SuitabilityAnswers.objects.exists()


def test_readers_see_the_answers_and_cannot_change_them(world: World, workload: Workload) -> None:
    world.client("wo01").post(url(workload), POST)
    page = text_of(world, workload, "pr01")
    assert ">Speichern<" not in page
    answer = world.client("pr01").post(url(workload), POST | {"runs_per_month": "1"})
    assert answer.status_code == 403
    assert SuitabilityAnswers.objects.get().runs_per_month == 30
    assert world.client("wo02").get(url(workload)).status_code == 404


def test_frozen_metrics_cannot_be_sent(world: World, workload: Workload) -> None:
    world.client("wo01").post(url(workload), POST)
    found = Workload.objects.get(pk=workload.pk)
    with unit(actor=SYSTEM):
        criteria.freeze(workload=found, as_actor=SYSTEM.audit_actor(), run_id=found.pk, at=clock.now())
    assert "seit dem Start des ersten Ziellaufs eingefroren" in text_of(world, workload)
    changes = {"primary_metric": "ttft_ms", "further_metrics": [], "planned_runs": "90"}
    assert world.client("wo01").post(url(workload), POST | changes).status_code == 302
    stored = SuitabilityAnswers.objects.get()
    assert (stored.planned_runs, stored.primary_metrics[0]) == (90, "throughput_samples_s")


def test_changes_are_named_in_words(world: World, workload: Workload) -> None:
    world.client("wo01").post(url(workload), POST)
    before = Workload.objects.get(pk=workload.pk).content_sha256
    changed = {"alternative_gpu_optimiert": "Bringt 20 %.", "hours_per_run": "10,5", "usage_kind": "PROTOTYP"}
    world.client("wo01").post(url(workload), POST | changed | {"primary_metric": "ttft_ms"})
    rows = workload_changes.since(Workload.objects.get(pk=workload.pk), before)
    found = {row.field: (row.before, row.now, row.touches) for row in rows}
    assert found["Alternative „vorhandene GPU besser nutzen“: Grund"] == (
        "Bringt 10 %.",
        "Bringt 20 %.",
        "G2-5",
    )
    assert found["Eignung und Bedarf: Stunden je Lauf"][:2] == ("20,6", "10,5")
    assert found["Eignung und Bedarf: Nutzung"][:2] == ("Regelbetrieb", "Prototyp")
    assert found["Wichtigste Messgröße 1"] == (
        "Durchsatz in Beispielen je Sekunde",
        "Zeit bis zum ersten Token",
        "G6-8",
    )
    assert workload_changes.sections(["suitability.usage_kind", "criteria.primary_metrics[1]"]) == [
        "Eignung und Bedarf",
        "Wichtigste Messgröße",
    ]


def test_summary_is_empty_before_anybody_answered(workload: Workload) -> None:
    assert suitability_page.summary(workload) == []


def measured(
    world: World, workload: Workload, *, kind: str = "GPU_CLUSTER", comm_share: str = "0.31"
) -> None:
    """Hand in a baseline of eight devices of 80 GB each, and the trace of a profiler."""
    share = Metric("comm_share", Decimal(comm_share), Unit.RATIO, MEASURED)
    for code in (EvidenceType.BASELINE_REPORT, EvidenceType.PROFILE):
        hand_in(world, workload, code, share, kind)


def hand_in(world: World, workload: Workload, code: EvidenceType, share: Metric, kind: str) -> None:
    """Hand in a report with one share."""
    submission = Submission(
        workload=workload,
        type=code,
        title=code.value,
        facts={
            "platform": {"kind": kind, "bestand": True, "devices": 8, "memory_bytes": 80 * 10**9},
            "comm_share": decimal_text(share.value),
            "fingerprint": "f",
            "repetitions": 5,
            "iterations": 200,
            "metrics": [share.to_json()],
            "measured_at": "2026-11-20T10:00:00+00:00",
            "failed_requests": 0,
        },
        axes=MEASURED,
        producer=world.people["wo01"].person,
        measured_at=clock.now(),
    )
    with unit(actor=SYSTEM):
        submit(actor=SYSTEM.audit_actor(), submission=submission)


def test_measured_bottlenecks_stand_beside_the_answers(world: World, workload: Workload) -> None:
    measured(world, workload)
    world.client("wo01").post(url(workload), POST | {"state_gb": "112"})
    page = text_of(world, workload)
    assert "Nötig, sobald" not in page
    assert f"31{NBSP}%" in page
    assert f"112{NBSP}GB von 80{NBSP}GB je Gerät" in page
    assert page.count(">belegt<") == 2
    assert "GPU-Cluster, Geräte: 8" in page
    assert "Engpass belegt" in page  # G2-1 in the gate report


def test_suitability_comes_before_the_request_once_the_platform_is_measured(
    world: World, workload: Workload
) -> None:
    world.answer(workload)
    world.confirm(workload)
    world.set_criteria(workload)
    assert "Nötig, sobald die Vergleichsbasis" in text_of(world, workload, name="workload")
    measured(world, workload)
    page = text_of(world, workload, name="workload")
    assert "Bitte vor dem Ziellauf ausfüllen" in page
    assert "Nötig, sobald die Vergleichsbasis" not in page
    assert "G2-1" in page
    assert page.count(f'href="{url(workload)}"') >= 2


def test_a_development_machine_proves_no_bottleneck(world: World, workload: Workload) -> None:
    measured(world, workload, kind="ENTWICKLUNGSRECHNER")
    world.client("wo01").post(url(workload), POST | {"state_gb": "112"})
    page = text_of(world, workload)
    assert "Nötig, sobald" in page
    assert "er belegt keinen Engpass (EM-12)" in page
    assert ">belegt<" not in page


@pytest.mark.parametrize(
    ("kind", "excluded"), [("REGELBETRIEB", False), ("PROTOTYP", True), ("NOTEBOOK", True)]
)
def test_an_exclusion_is_said_with_what_suits_better(
    world: World, workload: Workload, kind: str, excluded: bool
) -> None:
    world.client("wo01").post(url(workload), POST | {"usage_kind": kind})
    page = text_of(world, workload)
    assert ("Besser geeignet: Managed-API" in page) is excluded


def judgements(workload: Workload) -> list[dict[str, Any]]:
    kinds = [AuditKind.SUITABILITY_ASSESSED]
    return [row.data for row in reversed(audit.newest(kinds=kinds, obj_ids=[str(workload.pk)]))]


def test_what_the_suitability_says_is_recorded_where_it_is_judged(world: World, workload: Workload) -> None:
    world.client("wo01").post(url(workload), POST)
    assert judgements(workload) == []  # nothing is compared yet
    measured(world, workload)
    world.client("wo01").post(url(workload), POST | {"state_gb": "112"})
    (found,) = judgements(workload)
    assert found["results"] | {"E4": "", "E5": ""} == {
        "E1": "ERFUELLT",
        "E2": "ERFUELLT",
        "E3": "NICHT_ERFUELLT",
        "E4": "",
        "E5": "",
        **dict.fromkeys(("A1", "A2", "A3", "A4"), "OFFEN"),  # not compiled yet
    }
    world.client("wo01").post(url(workload), POST | {"state_gb": "113"})
    assert len(judgements(workload)) == 1  # says the same
    world.client("wo01").post(url(workload), POST | {"state_gb": "113", "usage_kind": "PROTOTYP"})
    assert [row["results"]["A2"] for row in judgements(workload)] == ["OFFEN", "TRIFFT_ZU"]


def compiled(world: World, workload: Workload, unsupported: int, total: int) -> None:
    submission = Submission(
        workload=workload,
        type=EvidenceType.PORTING,
        title="Portierungsbericht",
        facts={
            "framework": "pytorch",
            "porting_effort_pt": {},
            "partitioning_required": None,
            "total_ops": total,
            "unsupported_ops": unsupported,
        },
        axes=MEASURED,
        producer=world.people["wo01"].person,
        measured_at=clock.now(),
    )
    with unit(actor=SYSTEM):
        submit(actor=SYSTEM.audit_actor(), submission=submission)


@pytest.mark.parametrize(
    ("unsupported", "total", "share"), [(14, 100, "14"), (1, 19, "5,3"), (1, 20, ""), (0, 20, "")]
)
def test_unsupported_nodes_above_the_limit_are_said_with_limit_and_alternative(
    world: World, workload: Workload, *, unsupported: int, total: int, share: str
) -> None:
    compiled(world, workload, unsupported, total)
    page = text_of(world, workload)
    sentence = (
        f"{share}{NBSP}% der Knoten nicht unterstützt (zulässig 5{NBSP}%). Empfehlung: nicht geeignet. "
        "Alternative: GPU optimieren oder Managed-API (G2-3)."
    )
    assert (sentence in page) is bool(share)
    assert ("Empfehlung: nicht geeignet" in page) is bool(share)


@pytest.mark.parametrize(
    ("found", "names"),
    [
        (("0.31", "112"), "Kommunikation und Speicher"),
        (("0.31", "1"), "Kommunikation"),
        (("0.1", "112"), "Speicher"),
    ],
)
def test_a_confirmed_suitability_names_its_bottlenecks(
    world: World, workload: Workload, monkeypatch: pytest.MonkeyPatch, found: tuple[str, str], names: str
) -> None:
    comm_share, need = found
    measured(world, workload, comm_share=comm_share)
    world.client("wo01").post(url(workload), POST | {"state_gb": need})
    assert "Eignung bestätigt" not in text_of(world, workload)  # load and capability are not answered
    monkeypatch.setattr(GateReport, "gate_met", lambda _self, _gate: True)
    assert f"Eignung bestätigt: Engpass {names} nachgewiesen (G2-1)." in text_of(world, workload)
