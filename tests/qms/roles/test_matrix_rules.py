from __future__ import annotations

from collections.abc import Iterator

import pytest

from qms.gates.rule_sets import load
from qms.roles import matrix
from qms.roles.permissions import Permission
from qms.roles.roles import Role


@pytest.fixture(autouse=True)
def _kompakt() -> Iterator[None]:
    before = list(matrix._source)
    matrix.set_source(lambda: load("kompakt").permissions)
    yield
    matrix._source[:] = before


def test_permission_values_are_the_rows_in_order() -> None:
    assert [item.value for item in Permission] == [f"P{number:02d}" for number in range(1, 43)]


def test_reading_gives_no_right_to_act() -> None:
    assert matrix.letters(Permission.EDIT_WORKLOAD, Role.REVIEWER) == frozenset("R")
    assert matrix.roles_for(Permission.EDIT_WORKLOAD) == {Role.WORKLOAD_OWNER}


def test_deciding_is_the_approvers_alone() -> None:
    assert matrix.roles_for(Permission.DECIDE_APPROVAL) == {Role.APPROVER}


def test_reading_the_log_is_the_action_of_its_row() -> None:
    expected = {Role.WORKLOAD_OWNER, Role.REVIEWER, Role.APPROVER, Role.AUDITOR}
    assert matrix.roles_for(Permission.READ_AUDIT) == expected
    assert matrix.readers_of_everything(Permission.READ_AUDIT) == {Role.REVIEWER, Role.AUDITOR}


def test_administrator_has_no_domain_right() -> None:
    held = {item for item in Permission if Role.ADMINISTRATOR in matrix.roles_for(item)}
    assert held == {Permission.REPORT_INCIDENT, Permission.ASSIGN_ROLES, Permission.CONFIGURE_SYSTEM}


def test_unknown_role_has_no_letters() -> None:
    assert matrix.letters(Permission.EDIT_WORKLOAD, Role.PILOT_LEAD) == frozenset()


def test_missing_source_is_an_error() -> None:
    matrix._source.clear()
    with pytest.raises(matrix.MatrixMissing):
        matrix.current()
