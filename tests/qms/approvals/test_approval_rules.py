from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils import translation

from qms.approvals import rules
from qms.approvals.choices import ApprovalType, Decision, Meaning, VoteValue
from qms.core.errors import CriterionNotMet, Refusal, WrongState
from qms.gates.engine import evaluate_decision
from qms.gates.rule_sets import load
from tests.qms.gates.complete_facts import NOW, changed, complete

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


def test_submission_without_owner_is_refused_as_in_sz_03_1() -> None:
    error = refusal(lambda: rules.check_submittable(report("workload.owner_accepted_at", None)))
    assert error.message == (
        "Einreichen nicht möglich: Es fehlt eine verantwortliche Person, die die Owner-Rolle angenommen hat (G0-1)."
    )
    assert error.body()["criterion"] == "G0-1"
    assert error.code == "EINREICHUNG_VERWEIGERT"


def test_submission_is_not_refused_by_what_is_due_later() -> None:
    rules.check_submittable(report("classification.classes", ()))
    rules.check_submittable(report("workload.deputy", None))


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


def test_missing_votes_are_named() -> None:
    assert refusal(lambda: rules.check_votes_complete(report("votes", ()))).id == "G7-2"
    rules.check_votes_complete(report())


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


def test_non_waivable_criterion_takes_no_condition_as_in_sz_04_3() -> None:
    error = refusal(lambda: rules.check_condition_possible(report(), "G1-1"))
    assert error.message == (
        "Bedingte Freigabe nicht möglich: G1-1 kann nicht durch eine Auflage ersetzt werden."
    )
    rules.check_condition_possible(report(), "G0-2")


@pytest.mark.parametrize(("days", "fine"), [(180, True), (181, False), (0, False)])
def test_validity_within_the_policy(days: int, fine: bool) -> None:
    def call() -> None:
        rules.check_validity(RULES.policy, V, valid_from=NOW, valid_until=NOW + timedelta(days=days))

    if fine:
        call()
    else:
        assert refusal(call).id == "G7-6"
