from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import translation

from qms.approvals import rules
from qms.approvals.choices import ApprovalType, Decision, Meaning, VoteValue
from qms.core.errors import CriterionNotMet, Refusal, WrongState
from qms.gates.engine import evaluate_decision
from qms.gates.rule_sets import load
from tests.qms.gates.complete_facts import changed, complete

RULES, V = load("kompakt"), ApprovalType.PRELIMINARY
YES, MAYBE, NO = VoteValue.AGREE, VoteValue.AGREE_WITH_CONDITION, VoteValue.REFUSE


@dataclass
class Workload:
    status: str = "VORFREIGEGEBEN"


def report(path: str = "", value: Any = None) -> Any:
    facts = changed(complete(), path, value) if path else complete()
    return evaluate_decision(RULES, V, facts)


def refusal(call: Any) -> Refusal:
    with translation.override("de"), pytest.raises(Refusal) as caught:
        call()
    return caught.value


def test_production_with_emulated_values_is_refused_as_in_sz_01_12() -> None:
    error = refusal(lambda: rules.check_type_allowed(ApprovalType.PRODUCTION, Workload()))
    assert isinstance(error, CriterionNotMet)
    assert (error.id, error.code) == ("G7-8", "EINREICHUNG_VERWEIGERT")
    assert error.message == "Produktionsfreigabe nicht möglich: maßgebliche Zielwerte sind emuliert (G7-8)."
    assert error.next_step == "Pilot mit gemessenen Werten."


@pytest.mark.parametrize(
    ("kind", "status", "facts", "rule"),
    [
        (V, "ENTWURF", {}, None),
        (V, "ERFASST", {}, None),
        (ApprovalType.PILOT, "ERFASST", {}, None),
        (V, "STILLGELEGT", {}, "T-01"),
        (ApprovalType.PRODUCTION, "IM_PILOT", {"decisive_measured": True}, "G7-1"),
        (ApprovalType.PRODUCTION, "IM_PILOT", {"decisive_measured": True, "pilot_completed": True}, None),
        (ApprovalType.CAPACITY, "FREIGEGEBEN", {}, "G7-8"),
        (ApprovalType.CAPACITY, "FREIGEGEBEN", {"active_production": True}, None),
    ],
)
def test_type_is_allowed_by_state(
    kind: ApprovalType, status: str, facts: dict[str, bool], rule: str | None
) -> None:
    if rule is None:
        rules.check_type_allowed(kind, Workload(status), **facts)
        return
    assert refusal(lambda: rules.check_type_allowed(kind, Workload(status), **facts)).id == rule


def test_decommissioned_workload_is_a_matter_of_state() -> None:
    error = refusal(lambda: rules.check_type_allowed(V, Workload("STILLGELEGT")))
    assert isinstance(error, WrongState)


@pytest.mark.parametrize(
    ("answers", "expected", "fine"),
    [
        ([("A", YES, "")], None, True),
        ([("A", YES, ""), ("B", YES, "")], ("B", "A"), True),
        ([("A", YES, "")], ("A", "B"), False),
        ([("A", YES, ""), ("A", YES, "")], None, False),
        ([], None, False),
        ([("A", NO, " ")], None, False),
        ([("A", NO, "Grund")], None, True),
        ([("A", MAYBE, "")], None, False),
    ],
)
def test_answers_are_complete_and_reasoned(answers: Any, expected: Any, fine: bool) -> None:
    if fine:
        rules.check_answers(answers, expected=expected)
        return
    assert refusal(lambda: rules.check_answers(answers, expected=expected)).id == "G7-2"


@pytest.mark.parametrize(
    ("values", "expected"), [([YES, YES], YES), ([YES, MAYBE], MAYBE), ([MAYBE, NO], NO)]
)
def test_overall_vote_is_the_strictest(values: list[VoteValue], expected: VoteValue) -> None:
    assert rules.overall_vote(values) is expected


def test_overall_vote_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="none"):
        rules.overall_vote([])


@pytest.mark.parametrize(
    ("decision", "reason", "meaning", "alternative", "rule"),
    [
        (Decision.APPROVE, "gut", Meaning.APPROVED, "", None),
        (Decision.APPROVE, " ", Meaning.APPROVED, "", "G7-10"),
        (Decision.APPROVE, "gut", None, "", "G7-10"),
        (Decision.APPROVE, "gut", Meaning.REJECTED, "", "G7-10"),
        (Decision.REJECT, "nein", Meaning.REJECTED, "", "T-10"),
        (Decision.REJECT, "nein", Meaning.REJECTED, "GPU", None),
    ],
)
def test_decision_needs_reason_meaning_and_alternative(
    decision: Decision, reason: str, meaning: Meaning | None, alternative: str, rule: str | None
) -> None:
    def call() -> None:
        rules.check_decision(decision, reason=reason, meaning=meaning, alternative=alternative)

    if rule is None:
        call()
    else:
        assert refusal(call).id == rule


def test_open_criterion_blocks_the_approval_naming_it() -> None:
    error = refusal(lambda: rules.check_no_open_criterion(report("target.unsupported_ops", ("sort", "topk"))))
    assert error.id == "G4-2"
    assert error.message == (
        "Freigabe nicht möglich: Unterstützung der Operatoren (G4-2), Vorherige Gates (G7-1)."
    )
    rules.check_no_open_criterion(report())


def test_signing_act_and_document_do_not_block_before_their_time() -> None:
    rules.check_no_open_criterion(report("signer", None))
    rules.check_no_open_criterion(report("document.sealed", None))


def berlin(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(
    ("frozen", "now", "cosigned", "fine"),
    [
        ("2026-11-30T00:00:00", "2026-11-30T23:59:59", False, True),
        ("2026-11-30T23:59:59", "2026-12-01T00:00:00", False, False),
        ("2026-11-30T00:30:00", "2026-11-30T01:30:00", False, True),  # two days in UTC, one here
        ("2026-10-25T00:00:00", "2026-10-25T23:00:00", False, True),  # the day of 25 hours: 24 of them
        ("2026-10-25T00:00:00", "2026-10-25T23:00:01", False, False),
        ("2026-11-29T12:00:00", "2026-11-30T12:00:00", False, False),
        ("2026-11-29T12:00:00", "2026-11-30T12:00:00", True, True),
        ("2026-11-29T12:00:00", "2026-11-30T12:00:01", True, False),
    ],
)
def test_frozen_decision_is_signed_on_its_day(frozen: str, now: str, cosigned: bool, fine: bool) -> None:
    def call() -> None:
        # In UTC, as they are stored: Python compares times of one zone by the face of the clock.
        rules.check_fresh(berlin(frozen).astimezone(UTC), berlin(now).astimezone(UTC), cosigned=cosigned)

    if fine:
        call()
        return
    error = refusal(call)
    assert (error.http_status, error.id) == (409, "T-08")
    assert error.message == "Der Wortlaut dieser Entscheidung ist zu alt, um noch signiert zu werden."
    assert ("zurück" in str(error.next_step)) is cosigned
