from __future__ import annotations

import pytest
from django.utils import translation

from qms.approvals.choices import ApprovalStatus as S
from qms.approvals.choices import ApprovalType
from qms.approvals.transitions import (
    FINAL,
    TRANSITIONS,
    Trigger,
    can_step,
    mirrored_workload_status,
    offered,
    step,
    transition,
)
from qms.core.errors import WrongState
from qms.workloads.choices import WorkloadStatus

AVAILABLE = {"T-01", "T-02", "T-03", "T-04", "T-05", "T-07", "T-08", "T-09", "T-10", "T-12", "T-13"}


def test_table_has_twenty_rows_in_order_with_one_trigger_each() -> None:
    assert [row.id for row in TRANSITIONS] == [f"T-{number:02d}" for number in range(1, 21)]
    assert len({row.trigger for row in TRANSITIONS}) == len(Trigger)
    assert {row.id for row in TRANSITIONS if row.available} == AVAILABLE


ALLOWED = {
    (S.DRAFT, Trigger.SUBMIT): S.SUBMITTED,
    (S.SUBMITTED, Trigger.RETURN): S.DRAFT,
    (S.SUBMITTED, Trigger.ACCEPT): S.IN_REVIEW,
    (S.IN_REVIEW, Trigger.QUERY): S.QUERY,
    (S.QUERY, Trigger.ANSWER): S.IN_REVIEW,
    (S.IN_REVIEW, Trigger.READY): S.READY_FOR_DECISION,
    (S.READY_FOR_DECISION, Trigger.APPROVE): S.APPROVED,
    (S.READY_FOR_DECISION, Trigger.APPROVE_WITH_CONDITIONS): S.CONDITIONALLY_APPROVED,
    (S.READY_FOR_DECISION, Trigger.REJECT): S.REJECTED,
    (S.CONDITIONALLY_APPROVED, Trigger.CONDITIONS_MET): S.APPROVED,
    (S.DRAFT, Trigger.WITHDRAW): S.WITHDRAWN,
    (S.SUBMITTED, Trigger.WITHDRAW): S.WITHDRAWN,
    (S.IN_REVIEW, Trigger.WITHDRAW): S.WITHDRAWN,
    (S.QUERY, Trigger.WITHDRAW): S.WITHDRAWN,
    (S.READY_FOR_DECISION, Trigger.WITHDRAW): S.WITHDRAWN,
}


@pytest.mark.parametrize("status", list(S))
@pytest.mark.parametrize("trigger", list(Trigger))
def test_only_the_listed_steps_are_possible(status: S, trigger: Trigger) -> None:
    target = ALLOWED.get((status, trigger))
    assert can_step(status, trigger) is (target is not None)
    if target is not None:
        assert step(status.value, trigger).to is target
        return
    with pytest.raises(WrongState) as caught:
        step(status, trigger)
    assert caught.value.id == transition(trigger).id
    assert caught.value.next_step


def test_refusal_is_a_german_sentence() -> None:
    with translation.override("de"), pytest.raises(WrongState) as caught:
        step(S.REJECTED, Trigger.APPROVE)
    assert caught.value.message == "„Freigeben“ ist im Status „Abgelehnt“ nicht möglich (T-08)."
    assert caught.value.next_step == "Einen neuen Antrag stellen."


def test_suspension_is_not_in_this_version() -> None:
    with translation.override("de"), pytest.raises(WrongState) as caught:
        step(S.APPROVED, Trigger.SUSPEND)
    assert caught.value.message == "„Aussetzen“ gibt es in dieser Version noch nicht (T-14)."


@pytest.mark.parametrize("status", sorted(FINAL))
def test_nothing_leads_out_of_a_final_state(status: S) -> None:
    assert offered(status) == ()


def test_offered_follow_the_table() -> None:
    assert [row.id for row in offered(S.READY_FOR_DECISION)] == ["T-08", "T-09", "T-10", "T-12"]


def test_row_without_target_has_none_to_go_to() -> None:
    with pytest.raises(ValueError, match="T-15"):
        _ = transition(Trigger.RESUME).to


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        (ApprovalType.PRELIMINARY, S.APPROVED, WorkloadStatus.PRELIMINARILY_APPROVED),
        (ApprovalType.PILOT, S.APPROVED, WorkloadStatus.IN_PILOT),
        (ApprovalType.PRODUCTION, S.CONDITIONALLY_APPROVED, WorkloadStatus.CONDITIONALLY_APPROVED),
        (ApprovalType.PRELIMINARY, S.REJECTED, None),
    ],
)
def test_workload_mirrors_the_active_approval(
    kind: ApprovalType, status: S, expected: WorkloadStatus | None
) -> None:
    assert mirrored_workload_status(kind.value, status.value) is expected
