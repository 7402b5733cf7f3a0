"""Conditions at their boundaries: what may be decided, who may prove and confirm, when a missed one counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.urls import reverse
from django.utils import translation

from pilots import demo
from qms.approvals import lateness, selectors
from qms.approvals.choices import Decision, Meaning, Severity
from qms.approvals.conditions import local_day
from qms.approvals.models import Approval, Condition, DecisionRecord
from qms.approvals.services import addenda, conditions, decisions
from qms.approvals.services.acts import statement_for
from qms.core.errors import CriterionNotMet, NotVisible, PermissionMissing, Refusal, SodViolation, WrongState
from qms.evidence import selectors as evidence
from qms.gates import services as gates
from qms.roles.models import Person
from qms.roles.roles import Role
from qms.signing import ceremony
from qms.signing.models import Document
from tests.conditional import (
    approve,
    both,
    complete,
    condition,
    conditional_house,
    conditions_of,
    fulfil,
    past_the_commands,
    posted,
    sealed,
    today,
    wording,
)
from tests.walk import JSON, World, address, assert_refused, nothing_but, screen

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """The house with a reviewed request that has two open criteria."""
    with django_db_blocker.unblock(), conditional_house() as made:
        yield made


def refused(world: World, *given: Any) -> Refusal:
    with translation.override("de"), pytest.raises(Refusal) as caught:
        decisions.prepare_decision(
            actor=world.user("fg01"), approval_id=world.approval_id, wording=wording(*given)
        )
    return caught.value


class TestDecision:
    """What a conditional decision needs."""

    def test_every_open_criterion_needs_its_condition(self, world: World) -> None:
        error = refused(world, both(world)[0])
        assert (error.http_status, error.id) == (422, "G3-3")
        assert error.message == "Bedingte Freigabe nicht möglich: Zu G3-3 fehlt eine Auflage."

    def test_without_any_condition_the_first_open_criterion_is_named(self, world: World) -> None:
        assert refused(world).id == "G0-2"

    def test_fulfilled_or_unknown_criteria_get_no_condition(self, world: World) -> None:
        for name in ("G3-5", "G9-9"):
            error = refused(world, *both(world), condition(world, name))
            assert isinstance(error, CriterionNotMet)
            assert error.id == name
            assert "gehört zu einem offenen Kriterium" in error.message

    def test_criterion_without_exception_gets_none(self, world: World) -> None:
        error = refused(world, *both(world), condition(world, "G1-1"))
        assert error.id == "G1-1"
        assert "kann nicht durch eine Auflage ersetzt werden" in error.message

    @pytest.mark.parametrize(
        ("changes", "part"),
        [
            ({"due": 91}, "Frist liegt nicht zwischen heute und 90 Tagen"),
            ({"due": -1}, "Frist liegt nicht zwischen heute und 90 Tagen"),
            ({"due": None}, "Frist fehlt"),
            ({"measure": " "}, "messbares Kriterium fehlt"),
            ({"owner": None}, "verantwortliche Person fehlt"),
            ({"text": " "}, "einen Text und eine Schwere"),
            ({"severity": None}, "einen Text und eine Schwere"),
        ],
    )
    def test_condition_is_whole(self, world: World, changes: dict[str, Any], part: str) -> None:
        if isinstance(changes.get("due"), int):
            changes = {"due": today() + timedelta(days=changes["due"])}
        first, second = both(world)
        error = refused(world, replace(first, **changes), second)
        assert (error.http_status, error.id) == (422, "G7-7")
        assert part in error.message

    def test_person_who_could_not_prove_it_is_no_owner(self, world: World) -> None:
        first, second = both(world)
        for name in ("pr01", "fg01", "au01"):
            error = refused(world, replace(first, owner=world.user(name).person_id), second)
            assert error.id == "G7-7", name

    @pytest.mark.parametrize("days", [0, 90])
    def test_due_dates_at_the_limits_are_taken(self, world: World, days: int) -> None:
        first, second = both(world)
        frozen = decisions.prepare_decision(
            actor=world.user("fg01"),
            approval_id=world.approval_id,
            wording=wording(replace(first, due=today() + timedelta(days=days)), second),
        )
        assert '"severity":"HOCH"' in frozen.content

    def test_conditions_of_another_decision_do_not_count(self, world: World) -> None:
        plain = replace(wording(*both(world)), decision=Decision.APPROVE, meaning=Meaning.APPROVED)
        with translation.override("de"), pytest.raises(CriterionNotMet) as caught:
            decisions.prepare_decision(actor=world.user("fg01"), approval_id=world.approval_id, wording=plain)
        assert caught.value.message == "Freigabe ohne Auflagen nicht möglich: offen sind G0-2 und G3-3."

    def test_page_asks_for_each_missing_field_and_keeps_what_was_written(self, world: World) -> None:
        first, second = both(world)
        sent = posted(replace(first, measure="", owner=None, severity=None), second)
        answer = world.browser("fg01").post(address("approval_decide", world.approval_id), sent)
        assert answer.status_code == 422
        text = screen(answer)
        for sentence in (
            "Bitte sagen Sie, woran die Erfüllung gemessen wird.",
            "Bitte wählen Sie eine verantwortliche Person.",
            "Bitte wählen Sie die Schwere.",
        ):
            assert sentence in text
        assert first.text in text

    def test_machine_is_told_the_criterion(self, world: World) -> None:
        late = replace(both(world)[0], due=today() + timedelta(days=91))
        with nothing_but("GATE_NICHT_ERFUELLT"):
            answer = world.browser("fg01").post(
                address("approval_decide", world.approval_id), posted(late, both(world)[1]), headers=JSON
            )
        assert_refused(
            answer,
            status=422,
            code="GATE_NICHT_ERFUELLT",
            id="G7-7",
            message="G0-2: Frist liegt nicht zwischen heute und 90 Tagen (POL-21) (G7-7).",
        )


def test_owner_who_leaves_before_the_signature_stops_it(world: World) -> None:
    frozen = decisions.prepare_decision(
        actor=world.user("fg01"), approval_id=world.approval_id, wording=wording(*both(world))
    )
    with past_the_commands():
        Person.objects.filter(pk=world.user("pl01").person_id).update(is_active=False)
    with pytest.raises(CriterionNotMet) as caught:
        sign(world, "fg01", frozen)
    assert caught.value.id == "G7-7"
    assert not Condition.objects.exists()


@pytest.mark.parametrize(
    ("at", "day"),
    [
        (datetime(2026, 3, 28, 22, 59, 59, tzinfo=UTC), date(2026, 3, 28)),
        (datetime(2026, 3, 28, 23, tzinfo=UTC), date(2026, 3, 29)),
        (datetime(2026, 3, 29, 21, 59, 59, tzinfo=UTC), date(2026, 3, 29)),
        (datetime(2026, 3, 29, 22, tzinfo=UTC), date(2026, 3, 30)),
    ],
)
def test_due_days_begin_at_midnight_in_winter_and_in_summer_time(at: datetime, day: date) -> None:
    assert local_day(at) == day


def test_second_approver_signs_the_same_conditions(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    demo._invite(world.demo, "fg02", "Freigabe 2", demo.PASSWORD)
    demo._give_role(world.demo, "fg02", Role.APPROVER)
    demo._enrol(world.user("fg02"))
    real = gates.votes_required
    monkeypatch.setattr(gates, "votes_required", lambda *args: replace(real(*args), approvers=2))
    frozen = decisions.prepare_decision(
        actor=world.user("fg01"), approval_id=world.approval_id, wording=wording(*both(world))
    )
    assert sign(world, "fg01", frozen).status == "ENTSCHEIDUNGSREIF"
    assert not Condition.objects.exists()
    page = screen(world.browser("fg02").get(address("approval_decide", world.approval_id)))
    assert "Entscheidung mitzeichnen" in page
    made = sign(world, "fg02", frozen)
    assert (made.status, made.conditions.count()) == ("BEDINGT_FREIGEGEBEN", 2)


def sign(world: World, name: str, frozen: DecisionRecord) -> Approval:
    actor = world.user(name)
    challenge = ceremony.begin(actor=actor, session_key="test", statement=statement_for(frozen, actor=actor))
    response = ceremony.software_response(actor=actor, challenge_id=challenge.id, session_key="test")
    return decisions.decide_approval(
        actor=actor, record_id=frozen.pk, challenge_id=challenge.id, response=response
    )


class TestFulfilment:
    """After the conditional approval and its seal."""

    @pytest.fixture(autouse=True)
    def _approved(self, world: World) -> None:
        approve(world)
        sealed(world.approval_id)

    def names(self, world: World, index: int = 0) -> dict[str, Any]:
        return {"approval_id": world.approval_id, "condition_id": conditions_of(world)[index].pk}

    def shown(self, world: World, index: int = 0) -> dict[str, Any]:
        return self.names(world, index) | {"expected_sha256": conditions_of(world)[index].proof_sha256}

    def test_only_who_works_on_the_workload_hands_in_a_proof(self, world: World) -> None:
        for name in ("pr01", "fg01", "au01"):
            with pytest.raises(PermissionMissing) as caught:
                conditions.submit_proof(actor=world.user(name), text="Da.", **self.names(world))
            assert caught.value.id == "P24"

    def test_proof_needs_words_and_evidence_of_this_workload(self, world: World) -> None:
        owner, found = world.user("wo01"), self.names(world)
        with pytest.raises(CriterionNotMet):
            conditions.submit_proof(actor=owner, text="  ", **found)
        with pytest.raises(CriterionNotMet):
            conditions.submit_proof(actor=owner, text="Da.", evidence_id=found["condition_id"], **found)
        item = evidence.current(world.workload)[0]
        made = conditions.submit_proof(actor=owner, text="Da.", evidence_id=item.pk, **found)
        assert (made.status, made.evidence, made.proven_by) == ("NACHGEWIESEN", item, owner.person)

    def test_start_page_says_whose_turn_it_is(self, world: World) -> None:
        owner, reviewer = world.browser("wo01"), world.browser("pr01")
        assert "Auflage nachweisen" in screen(owner.get("/"))
        assert "Nachweisen" not in screen(reviewer.get("/"))
        conditions.submit_proof(actor=world.user("wo01"), text="Da.", **self.names(world))
        assert "Erfüllung bestätigen" in screen(reviewer.get("/"))
        conditions.confirm_condition(actor=world.user("pr01"), **self.shown(world))
        fulfil(world, conditions_of(world)[1])
        assert "Nachtrag erstellen" in screen(reviewer.get("/"))
        complete(world)
        assert "Nachtrag erstellen" not in screen(reviewer.get("/"))

    def test_unknown_condition_does_not_exist(self, world: World) -> None:
        with pytest.raises(NotVisible):
            conditions.submit_proof(
                actor=world.user("wo01"),
                text="Da.",
                approval_id=world.approval_id,
                condition_id=world.approval_id,
            )

    def test_nothing_is_confirmed_before_it_is_proven_nor_twice(self, world: World) -> None:
        reviewer, found = world.user("pr01"), self.names(world)
        with pytest.raises(WrongState):
            conditions.confirm_condition(actor=reviewer, **self.shown(world))
        conditions.submit_proof(actor=world.user("wo01"), text="Da.", **found)
        with pytest.raises(WrongState):
            conditions.submit_proof(actor=world.user("wo01"), text="Noch einmal.", **found)
        conditions.confirm_condition(actor=reviewer, **self.shown(world))
        with pytest.raises(WrongState):
            conditions.confirm_condition(actor=reviewer, **self.shown(world))

    def test_who_is_involved_confirms_nothing(self, world: World) -> None:
        found = self.names(world)
        conditions.submit_proof(actor=world.user("wo01"), text="Da.", **found)
        for name in ("wo01", "pl01"):
            with pytest.raises(SodViolation):
                conditions.confirm_condition(actor=world.user(name), **self.shown(world))
        with pytest.raises(PermissionMissing):
            conditions.confirm_condition(actor=world.user("fg01"), **self.shown(world))

    def test_returned_proof_leaves_the_condition_open(self, world: World) -> None:
        reviewer, found = world.user("pr01"), self.names(world)
        conditions.submit_proof(actor=world.user("wo01"), text="Da.", **found)
        with pytest.raises(CriterionNotMet):
            conditions.return_proof(actor=reviewer, reason=" ", **self.shown(world))
        url = reverse("condition_return", args=list(found.values()))
        sent = {"text": "Das Datum fehlt.", "proof_sha256": conditions_of(world)[0].proof_sha256}
        assert world.browser("pr01").post(url, sent).status_code == 302
        assert conditions_of(world)[0].status == "OFFEN"
        page = screen(world.browser("wo01").get(address("approval", world.approval_id)))
        assert "Das Datum fehlt." in page

    def test_empty_proof_keeps_the_page(self, world: World) -> None:
        url = reverse("condition_proof", args=list(self.names(world).values()))
        answer = world.browser("wo01").post(url, {"text": ""})
        assert answer.status_code == 422
        assert "Bitte beschreiben Sie, womit die Auflage erfüllt ist." in screen(answer)

    def test_addendum_needs_every_condition_met(self, world: World) -> None:
        fulfil(world, conditions_of(world)[0])
        with translation.override("de"), pytest.raises(CriterionNotMet) as caught:
            addenda.prepare_addendum(
                actor=world.user("pr01"), approval_id=world.approval_id, meaning=Meaning.REVIEWED
            )
        assert caught.value.message == "Noch nicht alle Auflagen erfüllt: Es fehlt Auflage 2 (G3-3)."
        answer = world.browser("pr01").post(
            address("approval_addendum", world.approval_id), {"meaning": "GEPRUEFT"}, headers=JSON
        )
        assert answer.status_code == 422
        assert answer.json()["criterion"] == "G3-3"

    def test_addendum_is_made_once_and_by_nobody_involved(self, world: World) -> None:
        for item in conditions_of(world):
            fulfil(world, item)
        with pytest.raises(SodViolation):
            addenda.check_may_complete(actor=world.user("wo01"), approval_id=world.approval_id)
        complete(world)
        with pytest.raises(WrongState) as caught:
            addenda.check_may_complete(actor=world.user("pr01"), approval_id=world.approval_id)
        assert caught.value.id == "T-13"

    def test_failed_seal_of_the_addendum_is_asked_for_again(self, world: World) -> None:
        for item in conditions_of(world):
            fulfil(world, item)
        complete(world)
        subject = world.approval.addendum.pk
        with past_the_commands():
            Document.objects.filter(subject_id=subject).update(state="FEHLGESCHLAGEN", error="Kein Platz.")
        assert not selectors.force(world.approval).in_force
        reviewer = world.browser("pr01")
        assert "Erneut siegeln" in screen(reviewer.get("/"))
        assert "Kein Platz." in screen(reviewer.get(address("approval", world.approval_id)))
        assert reviewer.post(address("approval_document", world.approval_id)).status_code == 302
        assert Document.objects.get(subject_id=subject).state == "AUSSTEHEND"
        assert Document.objects.get(subject_id=world.approval_id).state == "GESIEGELT"

    def test_history_tells_of_the_conditions(self, world: World) -> None:
        fulfil(world, conditions_of(world)[0])
        page = screen(world.browser("au01").get(address("approval", world.approval_id)))
        assert "Nachweis zu einer Auflage eingereicht." in page
        assert "Erfüllung einer Auflage bestätigt." in page

    def test_frozen_addendum_belongs_to_who_worded_it(self, world: World) -> None:
        for item in conditions_of(world):
            fulfil(world, item)
        frozen = addenda.prepare_addendum(
            actor=world.user("pr01"), approval_id=world.approval_id, meaning=Meaning.REVIEWED
        )
        with pytest.raises(NotVisible):
            addenda.record_to_sign(world.approval_id, frozen.pk, actor=world.user("fg01"))

    def test_addendum_is_refused_for_outdated_content(self, world: World) -> None:
        for item in conditions_of(world):
            fulfil(world, item)
        with past_the_commands():
            Approval.objects.filter(pk=world.approval_id).update(status="BEDINGT_FREIGEGEBEN")
            world.workload.__class__.objects.filter(pk=world.workload_id).update(content_sha256="0" * 64)
        with pytest.raises(WrongState):
            addenda.check_may_complete(actor=world.user("pr01"), approval_id=world.approval_id)

    def test_database_refuses_what_the_commands_refuse(self, world: World) -> None:
        first = conditions_of(world)[0]
        changes: tuple[tuple[Any, dict[str, Any]], ...] = (
            (Condition.objects.filter(pk=first.pk), {"due": first.due + timedelta(days=1)}),
            (Condition.objects.filter(pk=first.pk), {"status": "ERFUELLT"}),
            (
                Condition.objects.filter(pk=first.pk),
                {
                    "status": "ERFUELLT",
                    "proven_by": world.user("wo01").person,
                    "confirmed_by": world.user("wo01").person,
                },
            ),
            (
                Condition.objects.filter(pk=first.pk),
                {
                    "status": "ERFUELLT",
                    "proven_by": world.user("wo01").person,
                    "confirmed_by": world.user("pl01").person,
                },
            ),
            (Approval.objects.filter(pk=world.approval_id), {"status": "FREIGEGEBEN"}),
        )
        for query, values in changes:
            with pytest.raises(DatabaseError), past_the_commands():
                query.update(**values)
        with pytest.raises(DatabaseError), past_the_commands():
            Condition.objects.filter(pk=first.pk).delete()


FRIDAY = date(2026, 11, 27)


@pytest.mark.parametrize(
    ("day", "count", "end"),
    [
        (FRIDAY, 5, date(2026, 12, 4)),
        (date(2026, 11, 28), 5, date(2026, 12, 4)),
        (date(2026, 11, 30), 5, date(2026, 12, 7)),
        (FRIDAY, 0, FRIDAY),
    ],
)
def test_working_days_skip_the_weekend(day: date, count: int, end: date) -> None:
    assert lateness.add_working_days(day, count) == end


@pytest.mark.parametrize(
    ("severity", "status", "day", "expected"),
    [
        (Severity.HIGH, "OFFEN", FRIDAY, None),
        (Severity.HIGH, "OFFEN", date(2026, 11, 28), True),
        (Severity.IMMEDIATE, "NACHGEWIESEN", date(2026, 11, 28), True),
        (Severity.HIGH, "ERFUELLT", date(2027, 11, 28), None),
        (Severity.NORMAL, "OFFEN", date(2026, 11, 28), False),
        (Severity.NORMAL, "OFFEN", date(2026, 12, 4), False),
        (Severity.NORMAL, "OFFEN", date(2026, 12, 5), True),
    ],
)
def test_missed_condition_counts_by_its_severity(
    severity: Severity, status: str, day: date, expected: bool | None
) -> None:
    found = lateness.judge(Condition(position=1, due=FRIDAY, severity=severity.value, status=status), day, 5)
    assert (found.halts if found else None) is expected


def test_many_approvals_are_judged_in_one_query(world: World, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(12):
        selectors.forces([world.approval])
