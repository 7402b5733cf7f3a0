"""Requesting an approval and everything before the review: T-01, T-02, T-04, T-05, T-12."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext as _

from qms.approvals import dossier, mails, rules, selectors, texts, transitions
from qms.approvals.choices import ApprovalType
from qms.approvals.mails import Occasion
from qms.approvals.models import UNDECIDED, Approval, Question, Vote
from qms.approvals.transitions import Trigger
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock
from qms.core.errors import CriterionNotMet, WrongState
from qms.gates import coverage
from qms.gates import services as gates
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.workloads import selectors as workloads
from qms.workloads.models import Workload


@audited
def request_approval(*, actor: User, workload_id: UUID, type: ApprovalType) -> Approval:  # noqa: A002 - spec word
    """Submit a request (T-01): G0 green, type allowed, no other undecided request, classes and flags covered."""
    workload = workloads.lock(workload_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.REQUEST_APPROVAL, workload=workload)
    check_submittable(workload, type)
    approval = _draft(workload, type, actor)
    approval.requester, approval.requester_account = actor.person, actor
    approval.status = transitions.step(approval.status, Trigger.SUBMIT).to
    approval.submitted_at = approval.evaluated_at = clock.now()
    approval.rule_set = gates.rule_set().label
    approval.save()
    built = dossier.refresh(approval, at=approval.evaluated_at)
    record(
        AuditKind.REQUEST_SUBMITTED,
        actor=actor.audit_actor(role),
        subject=approval,
        facts={
            "type": approval.type,
            "number": approval.number,
            "workload": str(workload.pk),
            "dossier_sha256": built.sha256,
        },
    )
    _record_red_gates(approval, built, actor, role)
    mails.request_mails(Occasion.TO_REVIEW, approval, selectors.holders(Permission.COMPLETE_REVIEW))
    return approval


@audited
def return_incomplete(*, actor: User, approval_id: UUID, reason: str) -> Approval:
    """Give the request back as incomplete, with what is missing (T-02)."""
    approval = selectors.lock(approval_id, actor=actor)
    selectors.check_voter(approval, actor)
    role = guards.require(actor=actor, permission=Permission.COMPLETE_REVIEW, workload=approval.workload)
    step = transitions.step(approval.status, Trigger.RETURN)
    _need(reason, _("Bitte sagen Sie, was fehlt."))
    selectors.move(approval, step)
    record(
        AuditKind.REQUEST_RETURNED,
        actor=actor.audit_actor(role),
        subject=approval,
        private={"reason": reason},
    )
    mails.request_mails(Occasion.RETURNED, approval, [approval.requester_id])
    return approval


@audited
def ask_question(*, actor: User, approval_id: UUID, text: str) -> Question:
    """Ask the requester a question; accepts the request first if that has not happened (T-03, T-04)."""
    approval = selectors.lock(approval_id, actor=actor)
    selectors.check_voter(approval, actor)
    role = guards.require(actor=actor, permission=Permission.COMPLETE_REVIEW, workload=approval.workload)
    accept_request(approval, actor, role)
    step = transitions.step(approval.status, Trigger.QUERY)
    _need(text, _("Bitte schreiben Sie Ihre Frage."))
    selectors.move(approval, step)
    question = Question.objects.create(
        approval=approval, asked_by=actor.person, asked_at=clock.now(), text=text
    )
    record(
        AuditKind.QUERY_RAISED, actor=actor.audit_actor(role), subject=approval, private={"question": text}
    )
    mails.request_mails(Occasion.QUERY, approval, [approval.requester_id])
    return question


@audited
def answer_question(*, actor: User, approval_id: UUID, answer: str) -> Approval:
    """Answer the open question; a changed dossier resets the votes that relied on the old one (T-05)."""
    approval = selectors.lock(approval_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.REQUEST_APPROVAL, workload=approval.workload)
    step = transitions.step(approval.status, Trigger.ANSWER)
    _need(answer, _("Bitte schreiben Sie Ihre Antwort."))
    question = approval.questions.filter(answered_at__isnull=True).latest("asked_at")
    question.answer, question.answered_by, question.answered_at = answer, actor.person, clock.now()
    question.save(update_fields=["answer", "answered_by", "answered_at"])
    selectors.move(approval, step)
    approval.evaluated_at = clock.now()
    approval.save(update_fields=["evaluated_at"])
    before = approval.dossier_sha256
    built = dossier.refresh(approval, at=approval.evaluated_at)
    as_actor = actor.audit_actor(role)
    record(
        AuditKind.QUERY_ANSWERED,
        actor=as_actor,
        subject=approval,
        facts={"dossier_sha256": built.sha256},
        private={"answer": answer},
    )
    if built.sha256 != before:
        reset = Vote.objects.filter(approval=approval, reset_at__isnull=True).update(reset_at=clock.now())
        if reset:
            record(AuditKind.VOTE_RESET, actor=as_actor, subject=approval, facts={"votes": reset})
    mails.request_mails(Occasion.ANSWERED, approval, [question.asked_by_id])
    return approval


@audited
def withdraw_request(*, actor: User, approval_id: UUID, reason: str) -> Approval:
    """Withdraw an undecided request for good (T-12)."""
    approval = selectors.lock(approval_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.WITHDRAW_APPROVAL, workload=approval.workload)
    step = transitions.step(approval.status, Trigger.WITHDRAW)
    _need(reason, _("Bitte begründen Sie, warum Sie den Antrag zurückziehen."))
    selectors.move(approval, step)
    record(
        AuditKind.REQUEST_WITHDRAWN,
        actor=actor.audit_actor(role),
        subject=approval,
        private={"reason": reason},
    )
    mails.request_mails(Occasion.WITHDRAWN, approval, selectors.holders(Permission.COMPLETE_REVIEW))
    return approval


def accept_request(approval: Approval, actor: User, role: Role) -> None:
    """Take the request into review if it is still waiting (T-03), inside the caller's command."""
    if transitions.can_step(approval.status, Trigger.ACCEPT):
        selectors.move(approval, transitions.step(approval.status, Trigger.ACCEPT))
        record(AuditKind.REQUEST_ACCEPTED, actor=actor.audit_actor(role), subject=approval)


def check_submittable(workload: Workload, type: ApprovalType) -> None:  # noqa: A002 - spec word
    """Raise what refuses a submission (T-01): type, a running request, uncovered classes, an open G0."""
    rules.check_type_allowed(type, workload)
    if Approval.objects.filter(workload=workload, type=type, status__in=UNDECIDED[1:]).exists():
        raise WrongState(
            _("Für diesen Workload läuft bereits ein Antrag dieser Art."),
            id="T-01",
            next_step=_("Bitte öffnen Sie den laufenden Antrag."),
        )
    found = gates.uncovered(workload, type)
    if found:
        raise coverage.submission_refusal(found)
    missing = gates.first_open_requirement(workload, type)
    if missing is not None:
        raise CriterionNotMet(
            _("Einreichen nicht möglich: %(reason)s") % {"reason": missing.reason},
            id=missing.criterion,
            code="EINREICHUNG_VERWEIGERT",
            next_step=missing.next_step,
        )


def _draft(workload: Workload, type: ApprovalType, actor: User) -> Approval:  # noqa: A002 - spec word
    draft = Approval.objects.filter(workload=workload, type=type, status="ENTWURF").first()
    if draft:
        return draft
    now = clock.now()
    return Approval.objects.create(
        number=selectors.next_number(now.year),
        type=type,
        workload=workload,
        requester=actor.person,
        requester_account=actor,
        created_at=now,
    )


def _record_red_gates(approval: Approval, built: dossier.BuiltDossier, actor: User, role: Role) -> None:
    red = [gate for gate in ("G0", "G1") if not built.report.gate_met(gate)]
    for gate in red:
        record(
            AuditKind.GATE_NOT_MET,
            actor=actor.audit_actor(role),
            subject=approval,
            facts={"gate": gate, "criteria": built.report.open_ids(gate)},
        )


def _need(text: str, message: str) -> None:
    if not text.strip():
        raise CriterionNotMet(message)
    texts.check_printable(text)
