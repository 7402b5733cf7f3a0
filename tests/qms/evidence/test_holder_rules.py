"""What may be recorded once at a platform or the organisation: every rule at its boundary, in the command."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.models import AuditEvent
from qms.audit.services import record, unit
from qms.core import clock
from qms.core.errors import CriterionNotMet, NotVisible, PermissionMissing, SodViolation, WrongState
from qms.evidence import holders, selectors, services
from qms.evidence.choices import EvidenceType
from qms.evidence.holder_choices import (
    CRITERIA_OF,
    CapabilityArea,
    CommercialModel,
    EnvironmentItem,
    EnvironmentStatus,
    PlatformLevel,
)
from qms.evidence.holder_facts import (
    Capability,
    CapabilityAnswer,
    Entry,
    Environment,
    EnvironmentAnswer,
    LevelRating,
    Levels,
    Offer,
)
from qms.evidence.holders import MAX_FILE_BYTES, Recording, last_day, months_after
from qms.evidence.models import EvidenceItem
from qms.workloads.models import Organisation, PlatformProfile, Workload
from tests.qms.web import workload_world
from tests.qms.web.workload_world import World

pytestmark = pytest.mark.django_db
TODAY = date(2026, 11, 30)
YEAR = timedelta(days=365)
LEVELS = Levels(
    {
        level: LevelRating(dict.fromkeys(CRITERIA_OF[level], 3), f"Person {level}", f"Bericht {level}")
        for level in PlatformLevel
    }
)
OFFER = Offer(
    CommercialModel.PROVIDER,
    reference="Angebot 4711",
    offered_at=TODAY,
    term_months=12,
    notice_months=2,
    transition="30 Tage",
    data_return="abrufbar",
    export_format="Parquet",
    exit_cost_eur=Decimal(5000),
    exit_cost_reason="",
    switching_charges_eur=Decimal(0),
    switching_reason="zugesagt",
)
ENVIRONMENT = Environment(
    {item: EnvironmentAnswer(EnvironmentStatus.SETTLED, "Betrieb", None, "") for item in EnvironmentItem}
)
CAPABILITY = Capability({area: CapabilityAnswer("Betrieb", "Handbuch") for area in CapabilityArea})


def with_level(**changes: object) -> Levels:
    first = PlatformLevel.HARDWARE
    return Levels({**LEVELS.ratings, first: replace(LEVELS.ratings[first], **changes)})


def with_item(**changes: object) -> Environment:
    first = EnvironmentItem.COOLING
    return Environment({**ENVIRONMENT.items, first: replace(ENVIRONMENT.items[first], **changes)})


@pytest.mark.parametrize("entry", [LEVELS, OFFER, ENVIRONMENT, CAPABILITY], ids=lambda entry: entry.type)
def test_a_complete_entry_has_no_problem(entry: Entry):
    assert list(entry.problems()) == []


@pytest.mark.parametrize(
    ("entry", "criterion"),
    [
        (with_level(scores={}), "G6-1"),
        (with_level(scores={CRITERIA_OF[PlatformLevel.HARDWARE][0]: 5}), "G6-1"),
        (with_level(scores={CRITERIA_OF[PlatformLevel.HARDWARE][0]: -1}), "G6-1"),
        (with_level(scores={CRITERIA_OF[PlatformLevel.SOFTWARE][0]: 3}), "G6-1"),
        (with_level(assessor=" "), "G6-1"),
        (with_level(evidence=""), "G6-1"),
        (with_level(assessor="person SOFTWARE "), "G6-1"),
        (with_level(evidence="Bericht LIEFERUNG"), "G6-1"),
        (Levels({}), "G6-1"),
        (replace(OFFER, reference=" "), "G6-6"),
        (replace(OFFER, transition=""), "G6-6"),
        (replace(OFFER, data_return=""), "G6-6"),
        (replace(OFFER, export_format=""), "G6-6"),
        (replace(OFFER, term_months=0), "G6-6"),
        (replace(OFFER, term_months=241), "G6-6"),
        (replace(OFFER, notice_months=-1), "G6-6"),
        (replace(OFFER, exit_cost_eur=Decimal(0)), "G6-6"),
        (replace(OFFER, exit_cost_eur=Decimal(-1)), "G6-6"),
        (replace(OFFER, exit_cost_eur=Decimal("NaN")), "G6-6"),
        (replace(OFFER, switching_reason=""), "G6-6"),
        (with_item(responsible=""), "G6-7"),
        (with_item(cost_eur=Decimal(-1)), "G6-7"),
        (with_item(status=EnvironmentStatus.NOT_NEEDED), "G6-7"),
        (Environment({}), "G6-7"),
        (Capability({area: CapabilityAnswer("", "") for area in CapabilityArea}), "G2-4"),
        (Capability({CapabilityArea.MONITORING: CapabilityAnswer("Betrieb", "")}), "G2-4"),
        (Capability({CapabilityArea.MONITORING: CapabilityAnswer("", "Handbuch")}), "G2-4"),
    ],
)
def test_what_is_missing_or_impossible_is_named_with_its_criterion(entry: Entry, criterion: str):
    assert {found for found, _sentence in entry.problems()} == {criterion}


@pytest.mark.parametrize(
    "entry",
    [
        with_level(scores={CRITERIA_OF[PlatformLevel.HARDWARE][0]: 0}),
        replace(OFFER, term_months=1, notice_months=0),
        replace(OFFER, term_months=240, exit_cost_eur=Decimal(0), exit_cost_reason="keine Bindung"),
        with_item(status=EnvironmentStatus.NOT_NEEDED, note="Luftkühlung genügt"),
        with_item(cost_eur=Decimal(0)),
        Capability({CapabilityArea.MONITORING: CapabilityAnswer("Betrieb", "Handbuch")}),
    ],
)
def test_the_last_allowed_value_passes(entry: Entry):
    assert list(entry.problems()) == []


def test_the_lowest_score_is_the_score_of_the_level():
    first, second, third = CRITERIA_OF[PlatformLevel.HARDWARE][:3]
    rating = LevelRating({first: 4, second: 1, third: 4}, "Person", "Bericht")
    assert rating.score == 1


@pytest.mark.parametrize(
    ("start", "months", "end"),
    [
        (date(2026, 1, 31), 1, date(2026, 2, 28)),
        (date(2027, 1, 31), 13, date(2028, 2, 29)),
        (date(2026, 11, 30), 12, date(2027, 11, 30)),
        (date(2026, 12, 31), 1, date(2027, 1, 31)),
        (date(9998, 12, 31), 12, date(9999, 12, 31)),
        (date(9999, 12, 30), 12, date.max),
    ],
)
def test_a_term_of_months_ends_on_the_same_day_or_the_last_of_the_month(start: date, months: int, end: date):
    assert months_after(start, months) == end
    assert last_day(replace(OFFER, offered_at=start, term_months=months), TODAY, YEAR) == end


@pytest.fixture
def world() -> World:
    return workload_world.build()


@pytest.fixture
def workload(world: World) -> Workload:
    made = world.register()
    world.answer(made)
    world.set_criteria(made)
    return made


def hand_in(
    world: World,
    entry: Entry,
    *,
    actor: str = "wo01",
    until: date = TODAY + YEAR,
    raw: bytes = b"",
    platform: str = "WSE-2",
) -> EvidenceItem:
    at_platform = entry.type is not EvidenceType.CAPABILITY
    holder = PlatformProfile.objects.get(key=platform) if at_platform else Organisation.objects.get()
    with clock.at(datetime(2026, 11, 30, 9, tzinfo=UTC)):
        return holders.record_at_holder(
            actor=world.people[actor],
            holder_id=holder.pk,
            recording=Recording(entry, until, raw, "angebot.pdf" if raw else ""),
            longest=YEAR,
        )


def review(world: World, item: EvidenceItem, *, accept: bool = True, actor: str = "pr01") -> EvidenceItem:
    reason = "" if accept else "Angaben widersprechen dem Vertrag"
    return services.review_evidence(
        actor=world.people[actor], evidence_id=item.pk, accept=accept, compared_with="", reason=reason
    )


def taken_over(workload: Workload, day: date = TODAY) -> list[EvidenceItem]:
    return selectors.inherited(workload, at=datetime(day.year, day.month, day.day, 9, tzinfo=UTC))


@pytest.mark.parametrize(("days", "allowed"), [(-1, False), (0, True), (365, True), (366, False)])
def test_validity_ends_between_today_and_the_limit_of_pol_60(world: World, days: int, allowed: bool):
    if allowed:
        assert hand_in(world, LEVELS, until=TODAY + timedelta(days=days)).valid_until
        return
    with pytest.raises(CriterionNotMet) as refusal:
        hand_in(world, LEVELS, until=TODAY + timedelta(days=days))
    assert refusal.value.id == "POL-60"
    assert not EvidenceItem.objects.exists()


def test_an_offer_holds_until_the_end_of_its_term_and_not_a_day_longer(world: World):
    end = date(2027, 11, 30)
    with pytest.raises(CriterionNotMet, match=r"30\.11\.2027") as refusal:
        hand_in(world, OFFER, until=end + timedelta(days=1))
    assert refusal.value.id == "POL-60"
    assert hand_in(world, OFFER, until=end).valid_until == end


def test_an_offer_of_tomorrow_is_refused(world: World):
    with pytest.raises(CriterionNotMet) as refusal:
        hand_in(world, replace(OFFER, offered_at=TODAY + timedelta(days=1)))
    assert refusal.value.id == "G6-9"


def test_a_file_makes_the_offer_a_statement_of_the_vendor(world: World):
    with_file = hand_in(world, OFFER, raw=b"%PDF-1.7")
    without = hand_in(world, OFFER, platform="WSE-3")
    assert (with_file.provenance, with_file.assurance, with_file.origin) == (
        "HERSTELLERANGABE",
        "EINGEREICHT",
        "DRITTE",
    )
    assert (without.provenance, without.origin) == ("GESCHAETZT", "EIGEN")
    assert with_file.raw_name == "angebot.pdf"
    assert with_file.size_bytes == 8


def test_a_file_of_8_mib_is_taken_and_one_byte_more_is_not(world: World):
    assert hand_in(world, OFFER, raw=b"x" * MAX_FILE_BYTES).size_bytes == MAX_FILE_BYTES
    with pytest.raises(CriterionNotMet, match="8\u00a0MiB"):
        hand_in(world, OFFER, raw=b"x" * (MAX_FILE_BYTES + 1))


def test_a_character_the_document_cannot_show_is_refused_when_it_is_written(world: World):
    with pytest.raises(CriterionNotMet) as refusal:
        hand_in(world, replace(OFFER, reference="Angebot 🚀"))
    assert refusal.value.id == "G7-9"


@pytest.mark.parametrize(
    ("actor", "entry", "rule"),
    [
        ("fg01", LEVELS, "P16"),
        ("pr01", LEVELS, "P16"),
        ("pr01", OFFER, "P17"),
        ("fg01", ENVIRONMENT, "P14"),
        ("ad01", CAPABILITY, "P14"),
    ],
)
def test_who_may_not_record_is_refused_by_the_row_of_the_matrix(
    world: World, actor: str, entry: Entry, rule: str
):
    with pytest.raises(PermissionMissing) as refusal:
        hand_in(world, entry, actor=actor)
    assert refusal.value.id == rule
    assert AuditEvent.objects.filter(kind="ZUGRIFF_VERWEIGERT").exists()


def test_for_a_person_without_a_role_there_is_no_platform(world: World):
    item = hand_in(world, LEVELS)
    for act in (lambda: hand_in(world, LEVELS, actor="ohne"), lambda: review(world, item, actor="ohne")):
        with pytest.raises(NotVisible):
            act()


def test_the_producer_cannot_accept_it(world: World):
    own = hand_in(world, ENVIRONMENT, actor="pr01")
    with pytest.raises(SodViolation) as refusal:
        review(world, own)
    assert refusal.value.id == "SoD-03"


def test_recording_and_accepting_are_in_the_log(world: World):
    review(world, hand_in(world, LEVELS))
    kinds = list(AuditEvent.objects.order_by("leaf__seq").values_list("kind", flat=True))[-3:]
    assert kinds == ["NACHWEIS_EINGEREICHT", "ORGANISATIONSNACHWEIS_ERFASST", "NACHWEIS_GEPRUEFT"]


def test_the_accepted_version_counts_until_the_next_one_is_accepted(world: World, workload: Workload):
    first = review(world, hand_in(world, LEVELS))
    second = hand_in(world, LEVELS)
    assert taken_over(workload) == [first]
    review(world, second, accept=False)
    assert taken_over(workload) == [first]
    third = review(world, hand_in(world, LEVELS))
    assert taken_over(workload) == [third]
    assert set(third.replaces.all()) == {first, second}


def test_a_newer_version_takes_the_place_of_one_that_nobody_reviewed(world: World):
    first, second = hand_in(world, LEVELS), hand_in(world, LEVELS)
    first.refresh_from_db()
    assert first.replaced_by == second
    with pytest.raises(WrongState, match="durch einen neueren ersetzt"):
        review(world, first)


def test_it_is_taken_over_up_to_its_last_day(world: World, workload: Workload):
    item = review(world, hand_in(world, LEVELS, until=TODAY + timedelta(days=10)))
    assert taken_over(workload, TODAY + timedelta(days=10)) == [item]
    assert taken_over(workload, TODAY + timedelta(days=11)) == []


def test_only_the_platform_of_the_pilot_and_the_organisation_count(world: World, workload: Workload):
    review(world, hand_in(world, LEVELS, platform="WSE-3"))
    matrix = review(world, hand_in(world, CAPABILITY))
    assert taken_over(workload) == [matrix]
    levels = review(world, hand_in(world, LEVELS))
    assert taken_over(workload) == [levels, matrix]
    assert selectors.counting(world.register("Ohne Pilot")) == [matrix]


def test_own_evidence_of_the_workload_overrides_what_is_taken_over(world: World, workload: Workload):
    taken = review(world, hand_in(world, LEVELS))
    assert selectors.counting(workload) == [taken]
    own = _own(world, workload)
    assert selectors.counting(workload) == [own]


def test_a_changed_platform_ends_the_inheritance(world: World, workload: Workload):
    review(world, hand_in(world, LEVELS))
    _next_version("WSE-2")
    assert taken_over(workload) == []


def _own(world: World, workload: Workload) -> EvidenceItem:
    person = world.people["wo01"]
    with unit(actor=person):
        return services.submit(
            actor=person.audit_actor(),
            submission=services.Submission(
                workload=workload,
                type=EvidenceType.LEVELS,
                title="Eigene Bewertung",
                facts=LEVELS.facts("WSE-2"),
                axes=holders._STATED,
                producer=person.person,
                measured_at=clock.now(),
            ),
        )


def _next_version(key: str) -> None:
    with unit(actor=SYSTEM):
        profile = PlatformProfile.objects.get(key=key)
        profile.version += 1
        profile.save()
        record(AuditKind.PLATFORM_PROFILE_CHANGED, actor=SYSTEM, subject=profile)


def test_the_database_refuses_evidence_of_two_holders_and_of_none(world: World, workload: Workload):
    item = hand_in(world, LEVELS)
    for changes in ({"workload_id": workload.pk}, {"platform_id": None}):
        with pytest.raises(IntegrityError), unit(actor=SYSTEM), transaction.atomic():
            EvidenceItem.objects.filter(pk=item.pk).update(**changes)
