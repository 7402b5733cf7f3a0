"""The one review act of `kompakt`: accepts the evidence, confirms the frozen criteria, votes, sets T-07 (3.19)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from qms.approvals import dossier, mails, rules, selectors, texts, transitions
from qms.approvals.choices import Meaning, VoteValue
from qms.approvals.dossier import BuiltDossier
from qms.approvals.mails import Occasion
from qms.approvals.models import Approval, Vote
from qms.approvals.services.requests import accept_request
from qms.approvals.transitions import Trigger
from qms.audit.actors import Actor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record, witnessed
from qms.core import clock
from qms.core.errors import CriterionNotMet, WrongState
from qms.evidence import selectors as evidence
from qms.evidence import services as evidence_services
from qms.evidence.choices import EvidenceStatus
from qms.gates import services as gates
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.signing import ceremony


@dataclass(frozen=True)
class SubjectAnswer:
    """One of the four subjects with its vote and, where needed, its reason."""

    subject: str
    value: VoteValue
    reason: str = ""


@dataclass(frozen=True)
class Review:
    """What the reviewer is about to sign; `dossier_sha256` is the digest the dossier has after the act."""

    answers: tuple[SubjectAnswer, ...]
    meaning: Meaning
    reason: str
    compared_with: str
    evaluated_at: datetime
    dossier_sha256: str


def preview(*, actor: User, approval_id: UUID) -> tuple[Approval, BuiltDossier]:
    """Return the request and the dossier as it will be after the actor's act; refuses like the act itself would."""
    approval = selectors.get(approval_id, actor=actor)
    _check_may_review(approval, actor)
    return approval, dossier.build(approval, at=clock.now(), reviewer=actor.person)


@witnessed
def check_may_review(*, actor: User, approval_id: UUID) -> Role:
    """Raise what keeps the person from reviewing this request, before any content is looked at."""
    return _check_may_review(selectors.get(approval_id, actor=actor), actor)


@witnessed
def prepare_review(
    *,
    actor: User,
    approval_id: UUID,
    answers: tuple[SubjectAnswer, ...],
    meaning: Meaning,
    reason: str,
    compared_with: str,
) -> Review:
    """Return what the reviewer signs next; changes nothing and refuses like the act itself would."""
    approval, built = preview(actor=actor, approval_id=approval_id)
    evidence_services.check_files(approval.workload, as_actor=actor.audit_actor())
    review = Review(answers, meaning, reason, compared_with, built.facts.now, built.sha256)
    _check_answers(approval, review)
    texts.check_printable(reason, compared_with, actor.person.display_name)
    rules.check_meaning(meaning, [Meaning.REVIEWED])
    return review


@audited
def complete_review(
    *, actor: User, approval_id: UUID, review: Review, challenge_id: UUID, response: ceremony.Response
) -> Approval:
    """Perform the review act: T-03 and T-07 in one transaction, bound to the dossier after it."""
    approval = selectors.lock(approval_id, actor=actor)
    role = _check_may_review(approval, actor)
    _check_answers(approval, review)
    rules.check_meaning(review.meaning, [Meaning.REVIEWED])
    # Before the comparison: a manipulated file would only look like changed content.
    evidence_services.check_files(approval.workload, as_actor=actor.audit_actor(role))
    built = dossier.build(approval, at=review.evaluated_at, reviewer=actor.person)
    if built.sha256 != review.dossier_sha256:
        raise dossier.stale()
    act = ceremony.complete(actor=actor, challenge_id=challenge_id, response=response, digest=built.sha256)
    as_actor = actor.audit_actor(role)
    accept_request(approval, actor, role)
    _accept_evidence(approval, actor, as_actor, review.compared_with)
    approval.evaluated_at = review.evaluated_at
    approval.reviewer, approval.reviewer_account = actor.person, actor
    approval.status = transitions.step(approval.status, Trigger.READY).to
    approval.save()
    after = dossier.build(approval, at=review.evaluated_at)
    if after.sha256 != built.sha256:
        raise dossier.stale()
    dossier.store(approval, after)
    _vote(approval, actor, role, review, act)
    record(
        AuditKind.VOTE_CAST,
        actor=as_actor,
        subject=approval,
        facts={"dossier_sha256": built.sha256, "subjects": _codes(review)},
        private=_texts(review),
        refs=[act.record_sha256],
    )
    record(
        AuditKind.READY_FOR_DECISION,
        actor=as_actor,
        subject=approval,
        facts={"dossier_sha256": built.sha256, "method": act.method.value},
        refs=[act.record_sha256],
    )
    mails.request_mails(Occasion.TO_DECIDE, approval, selectors.holders(Permission.DECIDE_APPROVAL))
    return approval


def _check_may_review(approval: Approval, actor: User) -> Role:
    selectors.check_voter(approval, actor)
    role = guards.require(actor=actor, permission=Permission.COMPLETE_REVIEW, workload=approval.workload)
    reviewable = transitions.can_step(approval.status, Trigger.ACCEPT) or transitions.can_step(
        approval.status, Trigger.READY
    )
    if not reviewable:
        raise WrongState(
            _("Dieser Antrag kann in seinem Zustand nicht geprüft werden."),
            id="T-07",
            next_step=_("Bitte laden Sie die Seite neu."),
        )
    return role


def _check_answers(approval: Approval, review: Review) -> None:
    """Refuse incomplete answers, and a refusal of a blocking subject: then the request goes back (3.19, rule 2)."""
    subjects = {subject.code: subject for subject in gates.asked_subjects(approval.workload)}
    given = [(answer.subject, answer.value, answer.reason) for answer in review.answers]
    rules.check_answers(given, expected=list(subjects))
    blocking = {Role.QUALITY, Role.SECURITY}
    refused = [
        subjects[code].name
        for code, value, _reason in given
        if value is VoteValue.REFUSE and subjects[code].standard_role in blocking
    ]
    if refused:
        raise CriterionNotMet(
            _("Mit einer Ablehnung in %(names)s ist der Antrag nicht entscheidungsreif (G7-2).")
            % {"names": ", ".join(refused)},
            id="G7-2",
            next_step=_("Bitte geben Sie den Antrag zurück oder stellen Sie eine Rückfrage."),
        )


def _accept_evidence(approval: Approval, actor: User, as_actor: Actor, compared_with: str) -> None:
    for item in evidence.current(approval.workload).filter(status=EvidenceStatus.NEW):
        evidence_services.check_reviewer(item, actor)
        evidence_services.settle(item, actor=actor, as_actor=as_actor, accept=True)


def _vote(approval: Approval, actor: User, role: Role, review: Review, act: ceremony.SignedAct) -> None:
    workload = approval.workload
    pilot = getattr(workload, "pilot", None)
    Vote.objects.create(
        approval=approval,
        person=actor.person,
        account=actor,
        role=role,
        meaning=review.meaning.value,
        reason=review.reason,
        act_id=act.record_id,
        created_at=clock.now(),
        requester=approval.requester,
        owner=workload.owner,
        deputy=workload.deputy,
        lead=pilot.lead if pilot else None,
        value=rules.overall_vote([answer.value for answer in review.answers]).value,
        subjects=[{**asdict(answer), "value": answer.value.value} for answer in review.answers],
        dossier_sha256=approval.dossier_sha256,
    )


def _texts(review: Review) -> dict[str, str] | None:
    found = {"reason": review.reason, "compared_with": review.compared_with}
    return {name: text for name, text in found.items() if text} or None


def _codes(review: Review) -> list[dict[str, Any]]:
    return [{"subject": answer.subject, "value": answer.value.value} for answer in review.answers]
