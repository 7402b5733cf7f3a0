"""Conditions of a conditional approval: their wording, what they may cover, who may answer for them (spec 3.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings

from qms.approvals.choices import Severity
from qms.approvals.models import Approval, Condition, DecisionRecord
from qms.core import canonical
from qms.gates import services as gates
from qms.gates.case_facts import ConditionFacts
from qms.gates.choices import CriterionKind
from qms.gates.facts import Facts
from qms.gates.report import CriterionReport, GateReport
from qms.roles import guards
from qms.roles.models import Person, User
from qms.roles.permissions import Permission
from qms.workloads import selectors as workloads
from qms.workloads.models import Workload

FULFILS = frozenset("X")
CONFIRMS = frozenset("D")


@dataclass(frozen=True, slots=True)
class ConditionWording:
    """One condition as the approver words it; None where nothing was chosen."""

    criterion: str
    text: str
    measure: str
    owner: UUID | None
    due: date | None
    severity: Severity | None

    @property
    def complete(self) -> bool:
        """Whether text and severity are given; the rest is judged by G7-7."""
        return bool(self.text.strip()) and self.severity is not None


def local_day(at: datetime) -> date:
    """Return the day of `at` where the organisation is: due dates are days there."""
    return at.astimezone(ZoneInfo(settings.TIME_ZONE)).date()


def proposed_due(at: datetime) -> date:
    """Return the due date proposed for a condition (POL-21)."""
    return local_day(at) + gates.policy().span("POL-21", "default")


def latest_due(at: datetime) -> date:
    """Return the last permitted due date of a condition (POL-21)."""
    return local_day(at) + timedelta(days=gates.policy().span("POL-21", "max").days)


def grace_days() -> int:
    """Return for how many working days a missed condition of severity NORMAL does no harm (POL-47)."""
    return gates.policy().integer("POL-47", "condition_normal")


def eligible_owners(workload: Workload) -> list[Person]:
    """Return the people who could hand in the proof of a condition (P24), by name."""
    accounts = User.objects.filter(
        person__in=workloads.people(workload), person__is_active=True, is_active=True, is_service=False
    ).select_related("person")
    found = {account.person for account in accounts if may_fulfil(account, workload)}
    return sorted(found, key=lambda person: (person.display_name, person.pid))


def may_fulfil(account: User, workload: Workload) -> bool:
    """Return whether the account may hand in a proof (P24, X)."""
    rights = guards.prefetch(account, [workload])
    return rights.acting_role(Permission.FULFIL_CONDITION, workload, FULFILS) is not None


def coverable(facts: Facts) -> tuple[CriterionReport, ...]:
    """Return the open W criteria if a condition on each would let the approval pass, otherwise nothing."""
    found = open_waivable(gates.evaluate_decision(facts))
    covered = frozenset(item.row.id for item in found)
    if not found or gates.evaluate_decision(replace(facts, covered=covered)).blocking_decision():
        return ()
    return found


def open_waivable(report: GateReport) -> tuple[CriterionReport, ...]:
    """Return what blocks the decision and could be covered by a condition."""
    return tuple(item for item in report.blocking_decision() if item.kind is CriterionKind.WAIVABLE)


def judged(facts: Facts, given: Sequence[ConditionWording], workload: Workload) -> Facts:
    """Return the facts with the conditions of the decision: what they cover, and what G7-7 asks of them."""
    if not given:
        return facts
    owners = {person.pk for person in eligible_owners(workload)}
    today = local_day(facts.now)
    return replace(
        facts,
        covered=frozenset(item.criterion for item in given),
        conditions=tuple(
            ConditionFacts(
                item.criterion,
                item.measure,
                item.owner if item.owner in owners else None,
                (item.due - today).days if item.due else None,
            )
            for item in given
        ),
    )


def to_record(given: Sequence[ConditionWording], report: GateReport) -> list[dict[str, Any]]:
    """Return the conditions as `entscheidung.json` states them, in the order of the criteria."""
    titles = {item.row.id: item.row.title_de for item in report.criteria}
    order = list(titles)
    people = Person.objects.in_bulk([item.owner for item in given if item.owner])
    return [
        {
            "position": position,
            "criterion": item.criterion,
            "title": titles[item.criterion],
            "text": item.text,
            "measure": item.measure,
            "owner": {"pid": people[item.owner].pid, "name": people[item.owner].display_name},
            "due": item.due.isoformat(),
            "severity": item.severity.value,
        }
        for position, item in enumerate(sorted(given, key=lambda one: order.index(one.criterion)), start=1)
        if item.owner and item.due and item.severity
    ]


def stated(frozen: DecisionRecord) -> list[dict[str, Any]]:
    """Return the conditions of a frozen decision record as it states them."""
    found: list[dict[str, Any]] = canonical.loads(frozen.content)["conditions"]
    return found


def from_record(frozen: DecisionRecord) -> tuple[ConditionWording, ...]:
    """Return the conditions of a frozen decision record as wordings."""
    rows = stated(frozen)
    people = dict(
        Person.objects.filter(pid__in=[row["owner"]["pid"] for row in rows]).values_list("pid", "pk")
    )
    return tuple(
        ConditionWording(
            row["criterion"],
            row["text"],
            row["measure"],
            people.get(row["owner"]["pid"]),
            date.fromisoformat(row["due"]),
            Severity(row["severity"]),
        )
        for row in rows
    )


def impose(approval: Approval, frozen: DecisionRecord) -> list[Condition]:
    """Store the conditions of the signed record, inside the caller's audited command."""
    return [
        Condition.objects.create(
            approval=approval,
            position=row["position"],
            criterion=row["criterion"],
            text=row["text"],
            measure=row["measure"],
            owner=Person.objects.get(pid=row["owner"]["pid"]),
            due=date.fromisoformat(row["due"]),
            severity=row["severity"],
        )
        for row in stated(frozen)
    ]


def titles() -> dict[str, str]:
    """Return the title of each criterion in the language of the reader."""
    return {row.id: row.title for row in gates.rule_set().criteria}
