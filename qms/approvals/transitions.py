"""The transitions T-01 to T-20 as a table (spec 3.5.3); nothing else changes the state of an approval. Pure.

Rows with `available=False` belong to the specification but not to this version: `step` refuses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.approvals.choices import ApprovalStatus as S
from qms.approvals.choices import ApprovalType
from qms.audit.events import AuditKind
from qms.core.errors import WrongState
from qms.roles.permissions import Permission
from qms.workloads.choices import WorkloadStatus


class Trigger(StrEnum):
    """What sets a transition off; internal, never stored."""

    SUBMIT = "SUBMIT"
    RETURN = "RETURN"
    ACCEPT = "ACCEPT"
    QUERY = "QUERY"
    ANSWER = "ANSWER"
    QUERY_LAPSE = "QUERY_LAPSE"
    READY = "READY"
    APPROVE = "APPROVE"
    APPROVE_WITH_CONDITIONS = "APPROVE_WITH_CONDITIONS"
    REJECT = "REJECT"
    START_RUN = "START_RUN"
    WITHDRAW = "WITHDRAW"
    CONDITIONS_MET = "CONDITIONS_MET"
    SUSPEND = "SUSPEND"
    RESUME = "RESUME"
    RETURN_TO_FALLBACK = "RETURN_TO_FALLBACK"
    REVOKE = "REVOKE"
    EXPIRE = "EXPIRE"
    SUPERSEDE = "SUPERSEDE"
    REASSESS = "REASSESS"


@dataclass(frozen=True, slots=True)
class Transition:
    """One row.

    origins: states it leads out of; target: state it leads to, None where the state stays or the one before the
    suspension returns; permission: None for the system; label: the action as the person reads it.
    """

    id: str
    trigger: Trigger
    origins: frozenset[S]
    target: S | None
    event: AuditKind
    permission: Permission | None
    label: Promise
    available: bool = False

    @property
    def to(self) -> S:
        """Return the state it leads to; raises ValueError for a row without one."""
        if self.target is None:
            raise ValueError(f"{self.id} names no target state")
        return self.target


UNDECIDED: Final = frozenset({S.DRAFT, S.SUBMITTED, S.IN_REVIEW, S.QUERY, S.READY_FOR_DECISION})
ACTIVE: Final = frozenset({S.APPROVED, S.CONDITIONALLY_APPROVED})
_LIVING: Final = ACTIVE | {S.SUSPENDED}
_READY: Final = frozenset({S.READY_FOR_DECISION})
FINAL: Final = frozenset(S) - UNDECIDED - _LIVING

TRANSITIONS: Final[tuple[Transition, ...]] = (
    Transition(
        "T-01",
        Trigger.SUBMIT,
        frozenset({S.DRAFT}),
        S.SUBMITTED,
        AuditKind.REQUEST_SUBMITTED,
        Permission.REQUEST_APPROVAL,
        lazy("Einreichen"),
        available=True,
    ),
    Transition(
        "T-02",
        Trigger.RETURN,
        frozenset({S.SUBMITTED}),
        S.DRAFT,
        AuditKind.REQUEST_RETURNED,
        Permission.COMPLETE_REVIEW,
        lazy("Als unvollständig zurückgeben"),
        available=True,
    ),
    Transition(
        "T-03",
        Trigger.ACCEPT,
        frozenset({S.SUBMITTED}),
        S.IN_REVIEW,
        AuditKind.REQUEST_ACCEPTED,
        Permission.COMPLETE_REVIEW,
        lazy("Zur Prüfung annehmen"),
        available=True,
    ),
    Transition(
        "T-04",
        Trigger.QUERY,
        frozenset({S.IN_REVIEW}),
        S.QUERY,
        AuditKind.QUERY_RAISED,
        Permission.ASK_OR_ANSWER_QUERY,
        lazy("Rückfrage stellen"),
        available=True,
    ),
    Transition(
        "T-05",
        Trigger.ANSWER,
        frozenset({S.QUERY}),
        S.IN_REVIEW,
        AuditKind.QUERY_ANSWERED,
        Permission.ASK_OR_ANSWER_QUERY,
        lazy("Rückfrage beantworten"),
        available=True,
    ),
    Transition(
        "T-06",
        Trigger.QUERY_LAPSE,
        frozenset({S.QUERY}),
        S.DRAFT,
        AuditKind.QUERY_LAPSED,
        None,
        lazy("Frist der Rückfrage überschritten"),
    ),
    Transition(
        "T-07",
        Trigger.READY,
        frozenset({S.IN_REVIEW}),
        S.READY_FOR_DECISION,
        AuditKind.READY_FOR_DECISION,
        Permission.COMPLETE_REVIEW,
        lazy("Als entscheidungsreif bestätigen"),
        available=True,
    ),
    Transition(
        "T-08",
        Trigger.APPROVE,
        _READY,
        S.APPROVED,
        AuditKind.APPROVAL_GRANTED,
        Permission.DECIDE_APPROVAL,
        lazy("Freigeben"),
        available=True,
    ),
    Transition(
        "T-09",
        Trigger.APPROVE_WITH_CONDITIONS,
        _READY,
        S.CONDITIONALLY_APPROVED,
        AuditKind.APPROVAL_GRANTED_WITH_CONDITIONS,
        Permission.DECIDE_APPROVAL,
        lazy("Bedingt freigeben"),
        available=True,
    ),
    Transition(
        "T-10",
        Trigger.REJECT,
        _READY,
        S.REJECTED,
        AuditKind.APPROVAL_REJECTED,
        Permission.DECIDE_APPROVAL,
        lazy("Ablehnen"),
        available=True,
    ),
    Transition(
        "T-11",
        Trigger.START_RUN,
        frozenset(S),
        None,
        AuditKind.RUN_STARTED,
        Permission.START_TARGET_RUN,
        lazy("Lauf starten"),
    ),
    Transition(
        "T-12",
        Trigger.WITHDRAW,
        UNDECIDED,
        S.WITHDRAWN,
        AuditKind.REQUEST_WITHDRAWN,
        Permission.WITHDRAW_APPROVAL,
        lazy("Zurückziehen"),
        available=True,
    ),
    Transition(
        "T-13",
        Trigger.CONDITIONS_MET,
        frozenset({S.CONDITIONALLY_APPROVED}),
        S.APPROVED,
        AuditKind.CONDITION_MET,
        Permission.FULFIL_CONDITION,
        lazy("Alle Auflagen erfüllt"),
        available=True,
    ),
    Transition(
        "T-14",
        Trigger.SUSPEND,
        ACTIVE,
        S.SUSPENDED,
        AuditKind.APPROVAL_SUSPENDED,
        Permission.SUSPEND_APPROVAL,
        lazy("Aussetzen"),
    ),
    Transition(
        "T-15",
        Trigger.RESUME,
        frozenset({S.SUSPENDED}),
        None,
        AuditKind.APPROVAL_RESUMED,
        Permission.RESUME_APPROVAL,
        lazy("Wieder aufnehmen"),
    ),
    Transition(
        "T-16",
        Trigger.RETURN_TO_FALLBACK,
        _LIVING,
        S.RETURNED,
        AuditKind.APPROVAL_RETURNED,
        Permission.RETURN_TO_FALLBACK,
        lazy("Dauerhaft zurückführen"),
    ),
    Transition(
        "T-17",
        Trigger.REVOKE,
        _LIVING,
        S.REVOKED,
        AuditKind.APPROVAL_REVOKED,
        Permission.REVOKE_APPROVAL,
        lazy("Widerrufen"),
    ),
    Transition("T-18", Trigger.EXPIRE, _LIVING, S.EXPIRED, AuditKind.APPROVAL_EXPIRED, None, lazy("Ablauf")),
    Transition(
        "T-19",
        Trigger.SUPERSEDE,
        _LIVING,
        S.SUPERSEDED,
        AuditKind.APPROVAL_SUPERSEDED,
        None,
        lazy("Durch neue Freigabe ersetzt"),
    ),
    Transition(
        "T-20",
        Trigger.REASSESS,
        ACTIVE,
        None,
        AuditKind.REASSESSMENT_TRIGGERED,
        None,
        lazy("Neubewertung"),
    ),
)

_BY_TRIGGER: Final = {row.trigger: row for row in TRANSITIONS}

# What the person can do from a state in which the wished step is not possible.
_NEXT_STEPS: Final[dict[S, Promise]] = {
    S.DRAFT: lazy("Den Antrag einreichen."),
    S.SUBMITTED: lazy("Die Prüfung abwarten."),
    S.IN_REVIEW: lazy("Die Prüfung abwarten."),
    S.QUERY: lazy("Die offene Rückfrage beantworten."),
    S.READY_FOR_DECISION: lazy("Die Entscheidung abwarten."),
    S.SUSPENDED: lazy("Über Wiederaufnahme oder Rückführung entscheiden."),
}

# From IM_PILOT on the workload mirrors the highest active approval (3.5.1).
WORKLOAD_MIRROR: Final[dict[tuple[ApprovalType, S], WorkloadStatus]] = {
    (ApprovalType.PILOT, S.APPROVED): WorkloadStatus.IN_PILOT,
    (ApprovalType.PILOT, S.CONDITIONALLY_APPROVED): WorkloadStatus.IN_PILOT,
    (ApprovalType.PRELIMINARY, S.APPROVED): WorkloadStatus.PRELIMINARILY_APPROVED,
    (ApprovalType.PRELIMINARY, S.CONDITIONALLY_APPROVED): WorkloadStatus.PRELIMINARILY_APPROVED,
    (ApprovalType.PRODUCTION, S.APPROVED): WorkloadStatus.APPROVED,
    (ApprovalType.PRODUCTION, S.CONDITIONALLY_APPROVED): WorkloadStatus.CONDITIONALLY_APPROVED,
    (ApprovalType.CAPACITY, S.APPROVED): WorkloadStatus.APPROVED,
    (ApprovalType.CAPACITY, S.CONDITIONALLY_APPROVED): WorkloadStatus.CONDITIONALLY_APPROVED,
}


def transition(trigger: Trigger) -> Transition:
    """Return the row of `trigger`."""
    return _BY_TRIGGER[trigger]


def can_step(status: S | str, trigger: Trigger) -> bool:
    """Return whether `trigger` is available in `status`."""
    row = _BY_TRIGGER[trigger]
    return row.available and S(status) in row.origins


def step(status: S | str, trigger: Trigger) -> Transition:
    """Return the transition `trigger` makes from `status`; raises WrongState naming the T id."""
    row, current = _BY_TRIGGER[trigger], S(status)
    if can_step(current, trigger):
        return row
    values = {"label": row.label, "status": current.label, "id": row.id}
    if row.available:
        text = _("„%(label)s“ ist im Status „%(status)s“ nicht möglich (%(id)s).")
    else:
        text = _("„%(label)s“ gibt es in dieser Version noch nicht (%(id)s).")
    default = _("Einen neuen Antrag stellen.") if current in FINAL else _("Die Seite neu laden.")
    raise WrongState(
        text % values,
        id=row.id,
        next_step=str(_NEXT_STEPS.get(current, default)),
        facts={"status": current.value},
    )


def offered(status: S | str) -> tuple[Transition, ...]:
    """Return the transitions available in `status`, in the order of the table."""
    return tuple(row for row in TRANSITIONS if row.available and S(status) in row.origins)


def mirrored_workload_status(approval_type: ApprovalType | str, status: S | str) -> WorkloadStatus | None:
    """Return the workload status an approval of this type and status brings, None if it brings none."""
    return WORKLOAD_MIRROR.get((ApprovalType(approval_type), S(status)))
