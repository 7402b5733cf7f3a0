from __future__ import annotations

import json
from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError
from django.utils import timezone

from pilots.catalog.claims import about_machine
from pilots.wafer.claims import CLAIMS
from qms.audit.actors import SYSTEM
from qms.audit.models import AuditEvent
from qms.audit.services import record, unit
from qms.core import clock
from qms.core.errors import CriterionNotMet, NotVisible, PermissionMissing, SodViolation, WrongState
from qms.core.values import Assurance, Axes, Origin, Provenance
from qms.evidence import claim_services, claims
from qms.evidence.choices import EvidenceType
from qms.evidence.claim_choices import ClaimKind, ClaimStatus
from qms.evidence.claim_services import BYPASS_REASON, ClaimChange, update_claim
from qms.evidence.models import Claim, EvidenceItem
from qms.evidence.services import Submission, submit
from qms.workloads.models import Workload
from tests.qms.web.workload_world import World, build

pytestmark = pytest.mark.django_db
MONTHS = 12


@pytest.fixture
def world(db: None) -> World:
    return build()


@pytest.fixture
def workload(world: World) -> Workload:
    return world.register()


def evidence(
    world: World,
    workload: Workload,
    *,
    provenance: Provenance = Provenance.MEASURED,
    status: str = "GEPRUEFT",
    producer: str = "wo01",
) -> EvidenceItem:
    submission = Submission(
        workload=workload,
        type=EvidenceType.TARGET_REPORT,
        title="Ziellauf-Bericht",
        facts={"off_wafer_bytes": 8},
        axes=Axes(provenance, Assurance.SUBMITTED, Origin.OWN),
        producer=world.people[producer].person,
        measured_at=clock.now(),
    )
    with unit(actor=SYSTEM):
        item = submit(actor=SYSTEM.audit_actor(), submission=submission)
        EvidenceItem.objects.filter(pk=item.pk).update(status=status)
    return EvidenceItem.objects.get(pk=item.pk)


def change(world: World, key: str = "S031", actor: str = "pr01", **changes: Any) -> Claim:
    entry = claims.entry(key)
    values = {
        "status": ClaimStatus.PARTLY,
        "reason": "Nur im Labor.",
        "version": entry.version if entry else 0,
    }
    return update_claim(
        actor=world.people[actor],
        key=key,
        change=ClaimChange(**values | changes),
        longest_months=MONTHS,
    )


def newest_event() -> Any:
    return AuditEvent.objects.order_by("-leaf__seq")[0]


def test_register_holds_what_the_emulator_knows_and_more(world: World) -> None:
    said = {claim.id: (claim.statement_de, claim.kind.value, claim.seed_line) for claim in CLAIMS}
    ours = {key: (row.text_de, row.kind.value, row.line) for key, row in claims.statements().items()}
    assert said.items() <= ours.items()
    assert {"S009", "S013", "S018", "S021", "S030", "S031"} <= ours.keys()
    assert {row.stated_on for row in claims.statements().values()} == {date(2026, 10, 20)}
    statuses = {row.statement.key: row.status for row in claims.register()}
    assert statuses["S030"] is ClaimStatus.OPINION
    assert {statuses[key] for key, row in ours.items() if row[1] != "MEINUNG"} == {ClaimStatus.OPEN}


def test_no_opinion_is_linked_to_a_criterion(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    assert all(not row.criteria for row in claims.statements().values() if row.kind is ClaimKind.OPINION)
    wrong = {"key": "S030", "line": 46, "kind": "MEINUNG", "statement_de": "x", "criteria": ["G4-4"]}
    file = tmp_path / "claims.json"
    file.write_text(json.dumps({"source_de": "x", "stated_on": "2026-10-20", "claims": [wrong]}))
    monkeypatch.setattr(claims, "_FILE", file)
    with pytest.raises(claims.ClaimsError, match="S030"):
        claims.statements.__wrapped__()


def test_emulator_answers_for_every_claim_it_knows() -> None:
    answers = about_machine()
    assert set(answers) == {claim.id for claim in CLAIMS}
    assert answers["S016"].status is ClaimStatus.PARTLY
    assert answers["S016"].machine
    never = {ClaimStatus.CONFIRMED, ClaimStatus.REFUTED}
    assert not {item.status for item in answers.values()} & never


def test_a_change_is_stored_with_version_reviewer_and_event(world: World) -> None:
    row = change(world)
    assert (row.status, row.version, row.reviewer) == ("TEILWEISE", 1, world.people["pr01"].person)
    today = timezone.localdate(clock.now())
    assert row.next_review == claims.add_months(today, MONTHS)
    event = newest_event()
    data = json.loads(event.body)["data"]
    assert event.kind == "BEHAUPTUNG_GEAENDERT"
    assert data["before"]["status"] == "OFFEN"
    assert data["after"]["status"] == "TEILWEISE"
    assert change(world, status=ClaimStatus.NOT_APPLICABLE).version == 2


@pytest.mark.parametrize("status", [ClaimStatus.CONFIRMED, ClaimStatus.REFUTED])
def test_confirmed_and_refuted_need_a_reviewed_measurement(
    world: World, workload: Workload, status: ClaimStatus
) -> None:
    emulated = evidence(world, workload, provenance=Provenance.EMULATED)
    unreviewed = evidence(world, workload, status="NEU")
    for item in (None, emulated, unreviewed):
        with pytest.raises(CriterionNotMet, match="GEMESSEN"):
            change(world, status=status, evidence_id=item and item.pk)
    measured = evidence(world, workload)
    assert change(world, status=status, evidence_id=measured.pk).evidence == measured


def test_only_who_decides_confirms_and_never_with_own_evidence(world: World, workload: Workload) -> None:
    measured = evidence(world, workload, producer="wo02")
    with pytest.raises(PermissionMissing):
        change(world, actor="wo01", status=ClaimStatus.CONFIRMED, evidence_id=measured.pk)
    own = evidence(world, workload, producer="pr01")
    with pytest.raises(SodViolation) as refused:
        change(world, status=ClaimStatus.CONFIRMED, evidence_id=own.pk)
    assert refused.value.id == "SoD-03"
    assert change(world, actor="wo01").status == "TEILWEISE"


@pytest.mark.parametrize("actor", ["fg01", "ad01", "ohne"])
def test_others_change_nothing(world: World, actor: str) -> None:
    with pytest.raises(PermissionMissing):
        change(world, actor=actor)


def test_an_opinion_stays_one(world: World, workload: Workload) -> None:
    item = evidence(world, workload)
    with pytest.raises(CriterionNotMet, match="Meinung"):
        change(world, "S030", status=ClaimStatus.CONFIRMED, evidence_id=item.pk)
    with pytest.raises(CriterionNotMet, match="Meinung"):
        change(world, "S030")
    with pytest.raises(CriterionNotMet, match="keine Meinung"):
        change(world, status=ClaimStatus.OPINION)


def test_reproduced_needs_what_the_emulator_says_or_an_emulated_run(world: World, workload: Workload) -> None:
    assert change(world, "S010", status=ClaimStatus.PARTLY).version == 1
    with pytest.raises(CriterionNotMet, match="stellt diese Aussage nicht nach"):
        change(world, "S031", status=ClaimStatus.REPRODUCED)
    item = evidence(world, workload, provenance=Provenance.EMULATED)
    assert change(world, "S031", status=ClaimStatus.REPRODUCED, evidence_id=item.pk).version == 1


def test_reason_version_and_review_day_are_checked(world: World) -> None:
    today = timezone.localdate(clock.now())
    with pytest.raises(CriterionNotMet, match="begründen"):
        change(world, reason=" ")
    for day in (today, claims.add_months(today, MONTHS) + timedelta(days=1)):
        with pytest.raises(CriterionNotMet, match="POL-55"):
            change(world, next_review=day)
    assert change(world, next_review=today + timedelta(days=1)).version == 1
    with pytest.raises(WrongState):
        change(world, version=0)
    with pytest.raises(NotVisible):
        change(world, "S999")
    with pytest.raises(NotVisible):
        change(world, evidence_id=uuid4())


def test_traffic_across_the_edge_makes_the_claim_partly_true_once(world: World, workload: Workload) -> None:
    item = evidence(world, workload, provenance=Provenance.EMULATED)

    def note(facts: dict[str, Any]) -> None:
        with unit(actor=SYSTEM):
            record(newest_kind(), actor=SYSTEM, subject_ref=("Test", "1"))
            claim_services.note_target_report(item, facts, as_actor=SYSTEM)

    def newest_kind() -> Any:
        from qms.audit.events import AuditKind

        return AuditKind.DEMO_SEEDED

    note({"off_wafer_bytes": 0})
    note({})
    assert not Claim.objects.exists()
    note({"off_wafer_bytes": 1})
    row = Claim.objects.get()
    assert (row.key, row.status, row.reason, row.evidence) == ("S015", "TEILWEISE", BYPASS_REASON, item)
    assert newest_event().kind == "BEHAUPTUNG_GEAENDERT"
    note({"off_wafer_bytes": 2})
    assert Claim.objects.get().version == 1
    change(world, "S015", status=ClaimStatus.NOT_APPLICABLE)
    note({"off_wafer_bytes": 3})
    assert Claim.objects.get().status == "NICHT_ANWENDBAR"


def test_database_refuses_a_confirmed_claim_without_evidence(world: World) -> None:
    change(world)
    with pytest.raises(IntegrityError), unit(actor=SYSTEM):
        Claim.objects.update(status="GEMESSEN_BESTAETIGT")


@pytest.mark.parametrize(
    ("day", "months", "expected"),
    [
        (date(2026, 10, 20), 12, date(2027, 10, 20)),
        (date(2026, 1, 31), 1, date(2026, 2, 28)),
        (date(2026, 12, 31), 2, date(2027, 2, 28)),
        (date(2024, 2, 29), 12, date(2025, 2, 28)),
    ],
)
def test_months_are_added_by_the_calendar(day: date, months: int, expected: date) -> None:
    assert claims.add_months(day, months) == expected


def test_review_is_due_a_year_after_the_statement() -> None:
    entry = claims.Entry(claims.statements()["S031"], None, None)
    assert entry.review_due(MONTHS) == date(2027, 10, 20)
