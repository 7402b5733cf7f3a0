from __future__ import annotations

from uuid import UUID

import pytest

from qms.core.errors import SodViolation
from qms.roles.roles import Role
from qms.roles.rules import (
    Account,
    Case,
    SodAction,
    check_role_conflicts,
    check_segregation,
    four_eyes_complete,
    violations,
)

A, B, C, D = (UUID(int=number) for number in range(1, 5))


def account(person: UUID, number: int = 1) -> Account:
    return Account(person, number)


def refused(case: Case, action: SodAction) -> SodViolation:
    with pytest.raises(SodViolation) as caught:
        check_segregation(case, action)
    return caught.value


def test_requester_may_not_decide_and_sz_06_1_is_named_before_sod_02() -> None:
    error = refused(Case(account(A), requester=account(A), deputy=A), SodAction.DECIDE)
    assert error.id == "SoD-01"
    assert error.message == "Funktionstrennung SoD-01: Antragstellende Person darf nicht entscheiden."
    assert error.facts["violated"] == ["SoD-01", "SoD-02"]
    assert error.code == "SOD_VERLETZUNG"


def test_second_account_of_the_requester_is_named_as_sod_15() -> None:
    error = refused(Case(account(A, 2), requester=account(A, 1)), SodAction.DECIDE)
    assert error.id == "SoD-15"
    assert error.message == "Funktionstrennung SoD-15: Mehrere Konten derselben Person zählen einmal."


def test_second_account_of_an_earlier_decider_counts_once() -> None:
    case = Case(account(C, 2), requester=account(A), reviewer=account(B), deciders=(account(C, 1),))
    assert refused(case, SodAction.DECIDE).id == "SoD-15"


def test_producer_posting_the_review_is_named_as_sod_03_before_sod_02() -> None:
    error = refused(Case(account(A), lead=A, producers=frozenset({A})), SodAction.VOTE)
    assert error.id == "SoD-03"
    assert error.message == "Eigene Nachweise dürfen nicht selbst geprüft werden (SoD-03)."


def test_producer_reviewing_one_item_is_refused() -> None:
    assert refused(Case(account(A), producers=frozenset({A})), SodAction.REVIEW_EVIDENCE).id == "SoD-03"


@pytest.mark.parametrize("field", ["owner", "deputy", "lead"])
@pytest.mark.parametrize("action", [SodAction.DECIDE, SodAction.VOTE, SodAction.CONFIRM_CLASSIFICATION])
def test_owner_deputy_and_lead_neither_vote_nor_decide(field: str, action: SodAction) -> None:
    assert refused(Case(account(A), **{field: A}), action).id == "SoD-02"


def test_worker_of_the_pilot_does_not_decide() -> None:
    assert refused(Case(account(A), workers=frozenset({A})), SodAction.DECIDE).id == "SoD-02"


def test_reviewer_does_not_decide_the_same_case() -> None:
    case = Case(account(B), requester=account(A), reviewer=account(B))
    assert refused(case, SodAction.DECIDE).id == "SoD-04"


def test_nobody_changes_own_roles() -> None:
    error = refused(Case(account(A), role_target=A), SodAction.CHANGE_ROLES)
    assert error.id == "SoD-07"
    assert error.message == "Eigene Rollen können nicht geändert werden (SoD-07)."


def test_role_change_is_confirmed_by_another_person() -> None:
    assert refused(Case(account(A), role_target=B, role_executor=A), SodAction.CONFIRM_ROLES).id == "SoD-07"
    check_segregation(Case(account(C), role_target=B, role_executor=A), SodAction.CONFIRM_ROLES)


@pytest.mark.parametrize("action", list(SodAction))
def test_service_account_is_refused_everything_that_judges(action: SodAction) -> None:
    case = Case(Account(A, 1, is_service=True), producers=frozenset({A}), role_target=A)
    assert refused(case, action).id == "SoD-16"


@pytest.mark.parametrize("action", list(SodAction))
def test_uninvolved_person_is_allowed(action: SodAction) -> None:
    case = Case(
        account(D),
        requester=account(A),
        owner=A,
        deputy=B,
        lead=B,
        producers=frozenset({B}),
        reviewer=account(C),
        role_target=A,
        role_executor=B,
    )
    assert violations(case, action) == ()


def test_same_person_through_the_same_account_is_not_a_second_account() -> None:
    ids = {rule.id for rule in violations(Case(account(A), requester=account(A)), SodAction.DECIDE)}
    assert ids == {"SoD-01"}


@pytest.mark.parametrize(
    ("reviewer", "deciders", "required", "complete"),
    [
        (B, (C,), 1, True),
        (B, (C,), 2, False),
        (B, (C, C), 2, False),
        (B, (C, D), 2, True),
        (B, (B,), 1, False),
        (None, (C,), 1, False),
    ],
)
def test_four_eyes_count_distinct_persons(
    reviewer: UUID | None, deciders: tuple[UUID, ...], required: int, complete: bool
) -> None:
    assert four_eyes_complete(reviewer, deciders, required) is complete


@pytest.mark.parametrize(
    ("held", "new", "rule"),
    [
        ({Role.ADMINISTRATOR}, Role.APPROVER, "SoD-07"),
        ({Role.WORKLOAD_OWNER}, Role.ADMINISTRATOR, "SoD-07"),
        ({Role.AUDITOR}, Role.REVIEWER, "SoD-08"),
        ({Role.ADMINISTRATOR}, Role.AUDITOR, "SoD-08"),
        ({Role.DATA_PROTECTION}, Role.APPROVER, "SoD-05"),
    ],
)
def test_conflicting_roles_are_refused(held: set[Role], new: Role, rule: str) -> None:
    with pytest.raises(SodViolation) as caught:
        check_role_conflicts(frozenset(held), new)
    assert caught.value.id == rule


def test_compatible_roles_are_accepted() -> None:
    check_role_conflicts(frozenset({Role.WORKLOAD_OWNER}), Role.APPROVER)
    check_role_conflicts(frozenset(), Role.AUDITOR)
