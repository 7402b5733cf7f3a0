"""What a person is asked to confirm: the statement of the review act and of the decision (signing.md 6.1)."""

from __future__ import annotations

from qms.approvals.addendum import number_of
from qms.approvals.choices import Decision
from qms.approvals.conditions import CONFIRMS
from qms.approvals.documents import REVIEW_FIELD, decisions_on, meaning_text
from qms.approvals.models import Approval, DecisionRecord
from qms.approvals.rules import overall_vote
from qms.approvals.services.reviews import Review
from qms.audit.events import AuditKind
from qms.core import canonical
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.signing.acts import Act, DigestName
from qms.signing.ceremony import Statement
from qms.signing.request import person_field


def review_statement(approval: Approval, *, actor: User, review: Review) -> Statement:
    """Return what the reviewer confirms: the dossier as it is after the act."""
    role = guards.require(actor=actor, permission=Permission.COMPLETE_REVIEW, workload=approval.workload)
    return Statement(
        act=AuditKind.READY_FOR_DECISION.value,
        document=approval.number,
        version="1",
        field=person_field(REVIEW_FIELD),
        acting_role=role.value,
        meaning=meaning_text(review.meaning),
        value=overall_vote([answer.value for answer in review.answers]).value,
        digest_name=DigestName.DOSSIER,
        digest=review.dossier_sha256,
    )


def statement_for(frozen: DecisionRecord, *, actor: User) -> Statement:
    """Return what the approver confirms: the frozen decision record."""
    approval = frozen.approval
    role = guards.require(actor=actor, permission=Permission.DECIDE_APPROVAL, workload=approval.workload)
    position = REVIEW_FIELD + decisions_on(approval, frozen).count() + 1
    return Statement(
        act=AuditKind.ACT_RECORDED.value,
        document=approval.number,
        version="1",
        field=person_field(position),
        acting_role=role.value,
        meaning=meaning_text(frozen.meaning),
        value=Decision(frozen.decision).value,
        digest_name=DigestName.DECISION,
        digest=frozen.sha256,
    )


def addendum_statement(frozen: DecisionRecord, *, actor: User) -> Statement:
    """Return what the person confirms who completes a conditional approval: the frozen addendum (T-13)."""
    approval = frozen.approval
    role = guards.require(
        actor=actor, permission=Permission.FULFIL_CONDITION, workload=approval.workload, letters=CONFIRMS
    )
    return Statement(
        act=AuditKind.ADDENDUM_CREATED.value,
        document=number_of(approval),
        version="1",
        field=person_field(REVIEW_FIELD),
        acting_role=role.value,
        meaning=meaning_text(frozen.meaning),
        value=Decision(frozen.decision).value,
        digest_name=DigestName.DECISION,
        digest=frozen.sha256,
    )


def says(record: str, expected: Statement) -> bool:
    """Return whether a stored act record states exactly what is expected: field, role, meaning and all else."""
    act = Act.from_json(canonical.loads(record)["act"])
    return all(getattr(act, name) == getattr(expected, name) for name in Statement.__slots__)
