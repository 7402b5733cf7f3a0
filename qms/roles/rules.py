"""Segregation of duties (spec 3.4) as a table of pure checks over person ids; superusers are not exempt.

When several rules refuse, the first row of `SOD_RULES` that applies to the action is named. The order is
decided, not accidental (decision 0150): service account, own evidence, second account, requester, involved
persons, distinct persons, own roles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from qms.core.errors import SodViolation
from qms.roles.roles import DOMAIN_ROLES, Role

PersonId: TypeAlias = UUID
AccountId: TypeAlias = UUID | int


class SodAction(StrEnum):
    """What the acting person is about to do; internal, never stored."""

    DECIDE = "DECIDE"
    VOTE = "VOTE"
    REVIEW_EVIDENCE = "REVIEW_EVIDENCE"
    CONFIRM_CLASSIFICATION = "CONFIRM_CLASSIFICATION"
    CHANGE_ROLES = "CHANGE_ROLES"
    CONFIRM_ROLES = "CONFIRM_ROLES"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Account:
    """One account and the natural person behind it (SoD-15: only the person counts)."""

    person_id: PersonId
    account_id: AccountId
    is_service: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """Who is about to act, and who did what before, by person id.

    requester: who requested the approval; owner, deputy, lead: of the workload and its pilot; workers: everyone
    else who did pilot or platform work on the workload (`kompakt` reads SoD-02 that way); producers: persons
    who produced the evidence accepted in this act (empty for a vote that accepts none); reviewer: who set ENTSCHEIDUNGSREIF; deciders: who already
    decided in this case; role_target: whose roles are changed; role_executor: who executed the change that is
    now confirmed.
    """

    actor: Account
    requester: Account | None = None
    owner: PersonId | None = None
    deputy: PersonId | None = None
    lead: PersonId | None = None
    workers: frozenset[PersonId] = frozenset()
    producers: frozenset[PersonId] = frozenset()
    reviewer: Account | None = None
    deciders: tuple[Account, ...] = ()
    role_target: PersonId | None = None
    role_executor: PersonId | None = None


@dataclass(frozen=True, slots=True)
class SodRule:
    """One row: id of spec 3.4, the actions it guards, whether it is violated, what the person reads and does next."""

    id: str
    actions: frozenset[SodAction]
    violated: Callable[[Case], bool]
    message: Promise
    next_step: Promise


def _service(case: Case) -> bool:
    return case.actor.is_service


def _own_evidence(case: Case) -> bool:
    return case.actor.person_id in case.producers


def _second_account(case: Case) -> bool:
    earlier = [case.requester, case.reviewer, *case.deciders]
    return any(
        account is not None
        and account.person_id == case.actor.person_id
        and account.account_id != case.actor.account_id
        for account in earlier
    )


def _requester(case: Case) -> bool:
    return case.requester is not None and case.requester.person_id == case.actor.person_id


def _involved(case: Case) -> bool:
    return case.actor.person_id in {case.owner, case.deputy, case.lead, *case.workers}


def _not_distinct(case: Case) -> bool:
    earlier = [case.reviewer, *case.deciders]
    return any(account is not None and account.person_id == case.actor.person_id for account in earlier)


def _own_roles(case: Case) -> bool:
    return case.role_target == case.actor.person_id


def _same_executor(case: Case) -> bool:
    return case.role_executor == case.actor.person_id


_ANOTHER_DECIDES = _("Eine andere Person mit der Rolle Freigeber(in) entscheidet.")
_ANOTHER_REVIEWS = _("Eine andere Person prüft.")
_JUDGING = frozenset({SodAction.DECIDE, SodAction.VOTE, SodAction.CONFIRM_CLASSIFICATION})

SOD_RULES: Final[tuple[SodRule, ...]] = (
    SodRule(
        "SoD-16",
        frozenset(SodAction),
        _service,
        _("Dienstkonten dürfen nur anfügen, nicht mitzeichnen, prüfen, entscheiden oder löschen (SoD-16)."),
        _("Mit dem Konto einer Person anmelden."),
    ),
    SodRule(
        "SoD-03",
        frozenset({SodAction.REVIEW_EVIDENCE, SodAction.VOTE}),
        _own_evidence,
        _("Eigene Nachweise dürfen nicht selbst geprüft werden (SoD-03)."),
        _ANOTHER_REVIEWS,
    ),
    SodRule(
        "SoD-15",
        frozenset({SodAction.DECIDE}),
        _second_account,
        _("Funktionstrennung SoD-15: Mehrere Konten derselben Person zählen einmal."),
        _ANOTHER_DECIDES,
    ),
    SodRule(
        "SoD-01",
        frozenset({SodAction.DECIDE}),
        _requester,
        _("Funktionstrennung SoD-01: Antragstellende Person darf nicht entscheiden."),
        _("Entscheiden muss eine andere Person."),
    ),
    SodRule(
        "SoD-02",
        _JUDGING,
        _involved,
        _(
            "Funktionstrennung SoD-02: Owner, Stellvertretung und Pilotbeteiligte prüfen und entscheiden nicht."
        ),
        _("Eine unbeteiligte Person prüft oder entscheidet."),
    ),
    SodRule(
        "SoD-04",
        frozenset({SodAction.DECIDE}),
        _not_distinct,
        _("Funktionstrennung SoD-04: Prüfung und Entscheidung brauchen verschiedene Personen."),
        _ANOTHER_DECIDES,
    ),
    SodRule(
        "SoD-07",
        frozenset({SodAction.CHANGE_ROLES, SodAction.CONFIRM_ROLES}),
        _own_roles,
        _("Eigene Rollen können nicht geändert werden (SoD-07)."),
        _("Eine andere Person mit der Rolle Administrator(in) führt die Änderung aus."),
    ),
    SodRule(
        "SoD-07",
        frozenset({SodAction.CONFIRM_ROLES}),
        _same_executor,
        _("Rollenänderungen bestätigt eine zweite Person (SoD-07)."),
        _("Eine andere Person bestätigt die Änderung."),
    ),
)


def violations(case: Case, action: SodAction) -> tuple[SodRule, ...]:
    """Return every violated rule of `action` in the order of the table; empty means allowed."""
    return tuple(rule for rule in SOD_RULES if action in rule.actions and rule.violated(case))


def check_segregation(case: Case, action: SodAction) -> None:
    """Raise SodViolation with the id of the first violated rule; the facts list every violated id."""
    found = violations(case, action)
    if found:
        rule = found[0]
        ids = sorted({item.id for item in found})
        raise SodViolation(
            str(rule.message), id=rule.id, next_step=str(rule.next_step), facts={"violated": ids}
        )


def four_eyes_complete(reviewer: PersonId | None, deciders: tuple[PersonId, ...], required: int) -> bool:
    """Return whether SoD-04 is complete: a reviewer and `required` distinct deciders, all different persons."""
    distinct = set(deciders)
    return reviewer is not None and reviewer not in distinct and len(distinct) >= required


@dataclass(frozen=True, slots=True)
class RoleConflict:
    """Two kinds of roles one person may not hold together: `role` with any of `excludes`."""

    id: str
    role: Role
    excludes: frozenset[Role]
    message: Promise


_DS_EXCLUDES: Final = frozenset(
    {Role.WORKLOAD_OWNER, Role.PILOT_LEAD, Role.OPERATIONS, Role.ADMINISTRATOR, Role.APPROVER}
)

ROLE_CONFLICTS: Final[tuple[RoleConflict, ...]] = (
    RoleConflict(
        "SoD-07",
        Role.ADMINISTRATOR,
        DOMAIN_ROLES,
        _("Administrator(in) hält keine fachliche Rolle (SoD-07)."),
    ),
    RoleConflict(
        "SoD-08",
        Role.AUDITOR,
        frozenset(Role) - {Role.AUDITOR},
        _("Auditor(in) hält keine weitere Rolle (SoD-08)."),
    ),
    RoleConflict(
        "SoD-05",
        Role.DATA_PROTECTION,
        _DS_EXCLUDES,
        _("Datenschutz hält keine Rolle, die entscheidet, betreibt oder verantwortet (SoD-05)."),
    ),
)


def check_role_conflicts(held: frozenset[Role], new: Role) -> None:
    """Raise SodViolation if a person who holds `held` may not also hold `new` (SoD-05, -07, -08)."""
    for conflict in ROLE_CONFLICTS:
        clash = (new == conflict.role and held & conflict.excludes) or (
            conflict.role in held and new in conflict.excludes
        )
        if clash:
            step = str(_("Zuerst die andere Rolle entziehen oder eine andere Person benennen."))
            raise SodViolation(
                str(conflict.message), id=conflict.id, next_step=step, facts={"role": new.value}
            )
