from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pilots import demo
from qms.approvals import documents, dossier, panel, selectors
from qms.approvals.choices import ApprovalStatus, ApprovalType, Decision, Meaning
from qms.approvals.documents import Wording
from qms.approvals.models import Approval
from qms.approvals.panel import Action, Panel, PanelState
from qms.approvals.services import decisions, requests
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record, unit
from qms.core.errors import NotVisible
from qms.roles.roles import Role
from qms.signing.models import Document
from qms.workloads.models import Workload
from tests.walk import World, world

__all__ = ["world"]

pytestmark = pytest.mark.django_db
STAGE = "requested"


def seen(world: World, name: str) -> Panel:
    approval = world.approval
    built = dossier.build(approval, at=approval.evaluated_at)
    return panel.panel(approval, actor=world.user(name), built=built)


def change(model: Any, **values: Any) -> None:
    """Write past the commands, as only a test may."""
    with unit(actor=SYSTEM):
        model.objects.update(**values)
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Installation", "1"))


def test_reviewer_is_asked_to_vote(world: World) -> None:
    shown = seen(world, "pr01")
    assert shown.state is PanelState.READY_TO_VOTE
    assert {Action.REVIEW, Action.ASK, Action.RETURN} <= shown.actions
    assert (shown.given, shown.required) == (0, 2)


@pytest.mark.parametrize("name", ["fg01", "au01"])
def test_person_without_the_permission_reads_only(world: World, name: str) -> None:
    shown = seen(world, name)
    assert shown.state is PanelState.NO_PERMISSION
    assert shown.sentence == "Sie können diesen Antrag einsehen, aber nicht entscheiden."
    assert not shown.actions
    assert shown.waiting_for == ("Prüfer(in)",)


def test_requester_waits_and_may_withdraw(world: World) -> None:
    shown = seen(world, "wo01")
    assert shown.state is PanelState.WAITING
    assert shown.actions == {Action.WITHDRAW}


def test_reviewer_with_own_evidence_is_locked_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    producers = frozenset({world.user("pr01").person_id})
    real = selectors.sod_case
    monkeypatch.setattr(selectors, "sod_case", lambda *args: replace(real(*args), producers=producers))
    shown = seen(world, "pr01")
    assert shown.state is PanelState.SEGREGATED
    assert (shown.ids, shown.locked) == (("SoD-03",), Action.REVIEW)
    assert Action.REVIEW not in shown.actions


def test_question_waits_for_the_owner(world: World) -> None:
    requests.ask_question(actor=world.user("pr01"), approval_id=world.approval_id, text="Woher?")
    assert seen(world, "wo01").state is PanelState.TO_ANSWER
    assert seen(world, "pr01").state is PanelState.WAITING
    assert Action.ANSWER not in seen(world, "pr01").actions


def test_returned_request_waits_for_its_completion(world: World) -> None:
    requests.return_incomplete(
        actor=world.user("pr01"), approval_id=world.approval_id, reason="Der Zweck ist unklar."
    )
    assert seen(world, "wo01").state is PanelState.TO_COMPLETE
    assert Action.RESUBMIT in seen(world, "wo01").actions
    assert seen(world, "pr01").state is PanelState.WAITING


def test_withdrawn_request_offers_nothing(world: World) -> None:
    requests.withdraw_request(
        actor=world.user("wo01"), approval_id=world.approval_id, reason="Doppelt gestellt."
    )
    shown = seen(world, "wo01")
    assert shown.state is PanelState.CLOSED
    assert shown.sentence == "Der Antrag ist zurückgezogen."
    assert not shown.actions


def test_second_request_is_refused_in_the_words_of_the_command(world: World) -> None:
    shown = panel.request_panel(world.workload, ApprovalType.PRELIMINARY, actor=world.user("wo01"))
    assert (shown.allowed, shown.id) == (False, "T-01")
    assert "läuft bereits" in shown.sentence


def test_request_needs_the_permission(world: World) -> None:
    shown = panel.request_panel(world.workload, ApprovalType.PRELIMINARY, actor=world.user("pr01"))
    assert (shown.allowed, shown.id) == (False, "P19")


class TestReviewed:
    """The same house after the review."""

    @pytest.fixture(autouse=True)
    def _reviewed(self, world: World) -> None:
        demo.review(world.demo, world.approval)

    def test_approver_is_asked_to_decide(self, world: World) -> None:
        shown = seen(world, "fg01")
        assert shown.state is PanelState.READY_TO_DECIDE
        assert shown.sentence == "Vier-Augen-Prinzip: Prüfung liegt vor, Ihre Entscheidung fehlt."
        assert shown.decisions == (Decision.APPROVE, Decision.REJECT)
        assert shown.notes == ("Auf Grundlage emulierter Ergebnisse ist nur eine Vorfreigabe möglich.",)
        assert (shown.given, shown.required) == (1, 2)

    def test_requester_is_locked_out_by_name_of_the_rule(self, world: World) -> None:
        shown = seen(world, "wo01")
        assert shown.state is PanelState.SEGREGATED
        assert shown.sentence == "Funktionstrennung SoD-01: Antragstellende Person darf nicht entscheiden."
        assert (shown.ids, shown.locked) == (("SoD-01",), Action.DECIDE)
        assert "andere Person" in shown.next_step

    def test_deputy_who_may_decide_is_locked_out(self, world: World) -> None:
        world.grant("wo02", Role.APPROVER)
        shown = seen(world, "wo02")
        assert (shown.state, shown.ids) == (PanelState.SEGREGATED, ("SoD-02",))

    def test_reviewer_has_voted(self, world: World) -> None:
        shown = seen(world, "pr01")
        assert shown.state is PanelState.VOTED
        assert shown.sentence == "Ihre Stimme liegt vor. Es fehlt noch eine Stimme."
        assert shown.waiting_for == ("Freigeber(in)",)

    def test_changed_content_stops_the_decision(self, world: World) -> None:
        change(
            Workload,
            purpose="Ein ganz anderer Zweck, der so nie geprüft wurde und deshalb nicht gilt.",
            content_sha256="0" * 64,
        )
        shown = seen(world, "fg01")
        assert shown.state is PanelState.CHANGED
        assert Action.DECIDE not in shown.actions
        assert not shown.decisions

    def test_open_criterion_leaves_only_the_rejection(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = documents.decision_facts

        def broken(*args: Any, **names: Any) -> Any:
            facts = real(*args, **names)
            return replace(facts, integrity=replace(facts.integrity, log_ok=False))

        monkeypatch.setattr(documents, "decision_facts", broken)
        shown = seen(world, "fg01")
        assert shown.state is PanelState.CRITERION_OPEN
        assert shown.decisions == (Decision.REJECT,)
        assert shown.ids == ("G7-4",)
        assert shown.sentence == "Freigeben ist noch nicht möglich: 1 Kriterium ist nicht erfüllt."

    def test_decided_request_shows_result_and_offers_the_seal_after_a_failure(self, world: World) -> None:
        demo.decide(world.demo, world.approval)
        assert seen(world, "pr01").state is PanelState.DECIDED
        assert Action.SEAL not in seen(world, "pr01").actions
        change(Document, state="FEHLGESCHLAGEN", error="Der Zeitstempeldienst antwortet nicht.")
        assert Action.SEAL in seen(world, "pr01").actions
        assert Action.SEAL not in seen(world, "wo01").actions

    def test_record_of_another_person_cannot_be_signed(self, world: World) -> None:
        frozen = decisions.prepare_decision(
            actor=world.user("fg01"),
            approval_id=world.approval_id,
            wording=Wording(Decision.APPROVE, "Passt.", Meaning.APPROVED),
        )
        assert panel.record_to_sign(world.approval_id, frozen.pk, actor=world.user("fg01")) == frozen
        with pytest.raises(NotVisible):
            panel.record_to_sign(world.approval_id, frozen.pk, actor=world.user("pr01"))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("ENTWURF", ["current", "open", "open", "open", "open"]),
        ("EINGEREICHT", ["done", "current", "open", "open", "open"]),
        ("RUECKFRAGE", ["done", "done", "current", "open", "open"]),
        ("ENTSCHEIDUNGSREIF", ["done", "done", "done", "current", "open"]),
        ("FREIGEGEBEN", ["done"] * 5),
        ("ABGELEHNT", ["done"] * 4),
        ("WIDERRUFEN", ["done"] * 5),
    ],
)
def test_stepper_follows_the_transition_table(status: str, expected: list[str]) -> None:
    found = panel.steps(Approval(status=status))
    assert [step.state for step in found] == expected
    assert ApprovalStatus.REJECTED.label not in [step.label for step in found]
