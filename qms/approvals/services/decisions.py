"""Freezing the wording of a decision and taking it under the approver's own key (T-08 to T-10)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _

from qms.approvals import conditions, documents, dossier, mails, rules, selectors, texts, transitions
from qms.approvals.choices import ApprovalType, Decision, SignatureMethod
from qms.approvals.conditions import ConditionWording
from qms.approvals.documents import Wording
from qms.approvals.mails import Occasion
from qms.approvals.models import Addendum, Approval, ApprovalDecision, DecisionRecord
from qms.approvals.services import acts, files
from qms.approvals.transitions import Trigger
from qms.audit.events import AuditKind
from qms.audit.services import audited, record, witnessed
from qms.core import clock
from qms.core.errors import WrongState
from qms.evidence import services as evidence
from qms.gates import services as gates
from qms.gates.case_facts import SignerFacts
from qms.gates.facts import Facts
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.roles.rules import four_eyes_complete
from qms.signing import ceremony
from qms.signing import selectors as sealed
from qms.signing import services as signing
from qms.workloads.models import Workload

TRIGGERS = {
    Decision.APPROVE: Trigger.APPROVE,
    Decision.APPROVE_WITH_CONDITIONS: Trigger.APPROVE_WITH_CONDITIONS,
    Decision.REJECT: Trigger.REJECT,
}


@witnessed
def check_may_decide(*, actor: User, approval_id: UUID, decision: Decision) -> Role:
    """Raise what keeps the person from deciding on this request, before any content is looked at."""
    return _check_may_decide(selectors.get(approval_id, actor=actor), actor, decision)


@audited
def prepare_decision(*, actor: User, approval_id: UUID, wording: Wording) -> DecisionRecord:
    """Freeze the wording of the decision as `entscheidung.json`; its digest is what the approver signs next.

    Once somebody signed, everybody after gets that very record, reason included: all sign one digest.
    """
    approval = selectors.lock(approval_id, actor=actor)
    role = _check_may_decide(approval, actor, wording.decision)
    # Before the comparison: a manipulated file would only look like changed content.
    evidence.check_files(approval.workload, as_actor=actor.audit_actor(role))
    built = dossier.check_current(approval)
    rules.check_decision(
        wording.decision, reason=wording.reason, meaning=wording.meaning, alternative=wording.alternative
    )
    texts.check_printable(wording.reason, wording.alternative, actor.person.display_name)
    texts.check_printable(*[text for item in wording.given for text in (item.text, item.measure)])
    now = clock.now()
    signed = _signed_record(approval)
    if signed is not None:
        _check_signable(approval, signed, actor)
        if signed.decision != wording.decision.value:
            raise _other_record()
    if wording.decision is not Decision.REJECT:
        given = conditions.from_record(signed) if signed else wording.given
        facts = documents.decision_facts(approval, built, actor=actor, at=now, frozen=signed, given=given)
        _check_criteria(wording.decision, facts, given)
    frozen = signed or _freeze(approval, built, wording, actor, now)
    record(
        AuditKind.DECISION_FROZEN,
        actor=actor.audit_actor(role),
        subject=approval,
        facts={
            "decision": wording.decision.value,
            "decision_sha256": frozen.sha256,
            "dossier_sha256": approval.dossier_sha256,
        },
    )
    return frozen


@audited
def decide_approval(
    *, actor: User, record_id: UUID, challenge_id: UUID, response: ceremony.Response
) -> Approval:
    """Record one approver's signed decision; the last one required settles the approval (T-08 to T-10)."""
    frozen = DecisionRecord.objects.filter(pk=record_id).first()
    approval = selectors.lock(frozen.approval_id if frozen else record_id, actor=actor)
    if frozen is None:
        raise dossier.stale()
    decision = Decision(frozen.decision)
    role = _check_may_decide(approval, actor, decision)
    evidence.check_files(approval.workload, as_actor=actor.audit_actor(role))
    built = dossier.check_current(approval)
    _check_signable(approval, frozen, actor)
    expected = acts.statement_for(frozen, actor=actor)
    act = ceremony.complete(actor=actor, challenge_id=challenge_id, response=response, digest=frozen.sha256)
    if decision is not Decision.REJECT:
        signer = _signer(frozen, act)
        facts = documents.decision_facts(
            approval, built, actor=actor, at=clock.now(), signer=signer, frozen=frozen
        )
        _check_criteria(decision, facts, conditions.from_record(frozen), signed=True)
    stored = _store_decision(approval, frozen, actor, role, act)
    if not acts.says(stored.act.record, expected):
        raise _other_record()
    as_actor = actor.audit_actor(role)
    record(
        AuditKind.ACT_RECORDED,
        actor=as_actor,
        subject=approval,
        facts={"decision_sha256": frozen.sha256, "method": act.method.value},
        refs=[act.record_sha256],
    )
    if _is_complete(approval, frozen):
        _settle(approval, frozen, built, actor, role)
    return approval


@audited
def request_document(*, actor: User, approval_id: UUID) -> Approval:
    """Ask for the signed document again after sealing failed (P32); without a decision there is none (G7-9)."""
    approval = selectors.lock(approval_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.SEAL_DOCUMENT, workload=approval.workload)
    files.check_decided(approval)
    state = sealed.seal_state(approval.pk)
    later = Addendum.objects.filter(approval=approval).first() if state.sealed else None
    signing.repeat_sealing(actor=actor.audit_actor(role), subject_id=later.pk if later else approval.pk)
    return approval


def _check_may_decide(approval: Approval, actor: User, decision: Decision) -> Role:
    selectors.check_decider(approval, actor)
    role = guards.require(actor=actor, permission=Permission.DECIDE_APPROVAL, workload=approval.workload)
    transitions.step(approval.status, TRIGGERS[decision])
    if approval.decisions.filter(account=actor).exists():
        raise WrongState(
            _("Ihre Entscheidung liegt bereits vor."),
            id="T-08",
            next_step=_("Bitte laden Sie die Seite neu."),
        )
    return role


def _check_criteria(
    decision: Decision, facts: Facts, given: Sequence[ConditionWording], *, signed: bool = False
) -> None:
    """Raise CriterionNotMet for what stands in the way of an approval (T-08, T-09)."""
    report = gates.evaluate_decision(facts)
    if decision is Decision.APPROVE:
        rules.check_unconditional([item.row.id for item in conditions.coverable(facts)])
        rules.check_no_open_criterion(report, signed=signed)
        return
    complete = all(item.complete for item in given)
    rules.check_conditions(report, [item.criterion for item in given], complete=complete, signed=signed)


def _signed_record(approval: Approval) -> DecisionRecord | None:
    earlier = approval.decisions.select_related("record").first()
    return earlier.record if earlier else None


def _check_signable(approval: Approval, frozen: DecisionRecord, actor: User) -> None:
    """Raise WrongState (409) unless the person may sign this very record now."""
    if documents.parsed(frozen)["dossier_sha256"] != approval.dossier_sha256:
        raise dossier.stale()
    if not documents.may_sign(frozen, actor):
        raise dossier.stale()
    signed = _signed_record(approval)
    if signed is not None and signed.pk != frozen.pk:
        raise _other_record()
    rules.check_fresh(frozen.created_at, clock.now(), cosigned=signed is not None)


def _other_record() -> WrongState:
    """Return the stale refusal for an act on another record or field than the one to be signed now."""
    return WrongState(
        _("Der Inhalt hat sich geändert; bitte erneut prüfen und bestätigen."),
        id="T-05",
        next_step=_("Bitte laden Sie die Seite neu."),
    )


def _freeze(
    approval: Approval, built: dossier.BuiltDossier, wording: Wording, actor: User, now: datetime
) -> DecisionRecord:
    content = documents.decision_json(approval, built, wording, actor=actor, at=now)
    return DecisionRecord.objects.create(
        approval=approval,
        prepared_by=actor.person,
        decision=wording.decision.value,
        reason=wording.reason,
        meaning=wording.meaning.value,
        alternative=wording.alternative,
        content=content.text,
        sha256=content.sha256,
        created_at=now,
    )


def _is_complete(approval: Approval, frozen: DecisionRecord) -> bool:
    required = gates.votes_required(approval.workload, ApprovalType(approval.type)).approvers
    deciders = documents.decisions_on(approval, frozen).values_list("person_id", flat=True)
    return four_eyes_complete(approval.reviewer_id, tuple(deciders), required)


def _signer(frozen: DecisionRecord, act: ceremony.SignedAct) -> SignerFacts:
    return SignerFacts(
        method=SignatureMethod(act.method.value),
        user_verified=True,
        authenticated_at=clock.now(),
        bound_sha256=frozen.sha256,
        expected_sha256=frozen.sha256,
        meaning=frozen.meaning,
    )


def _store_decision(
    approval: Approval,
    frozen: DecisionRecord,
    actor: User,
    role: Role,
    act: ceremony.SignedAct,
) -> ApprovalDecision:
    workload, reviewer = approval.workload, approval.reviewer
    if reviewer is None:
        raise ValueError("expected a reviewed request, got one without reviewer")
    pilot = getattr(workload, "pilot", None)
    return ApprovalDecision.objects.create(
        approval=approval,
        record=frozen,
        person=actor.person,
        account=actor,
        role=role,
        meaning=frozen.meaning,
        reason=frozen.reason,
        act_id=act.record_id,
        created_at=clock.now(),
        requester=approval.requester,
        owner=workload.owner,
        deputy=workload.deputy,
        lead=pilot.lead if pilot else None,
        decision=frozen.decision,
        decision_sha256=frozen.sha256,
        reviewer=reviewer,
    )


def _settle(
    approval: Approval, frozen: DecisionRecord, built: dossier.BuiltDossier, actor: User, role: Role
) -> None:
    decision = Decision(frozen.decision)
    step = transitions.step(approval.status, TRIGGERS[decision])
    validity = documents.validity_of(frozen)
    approval.status, approval.decision_sha256, approval.decided_at = step.to, frozen.sha256, clock.now()
    if decision is not Decision.REJECT:
        approval.valid_from, approval.valid_until = validity
    approval.save()
    as_actor = actor.audit_actor(role)
    imposed = conditions.impose(approval, frozen)
    record(
        step.event,
        actor=as_actor,
        subject=approval,
        facts={"number": approval.number, "decision_sha256": frozen.sha256}
        | ({"conditions": [item.criterion for item in imposed]} if imposed else {}),
        private={"reason": frozen.reason},
    )
    for item in imposed:
        record(
            AuditKind.CONDITION_IMPOSED,
            actor=as_actor,
            subject=item,
            facts={
                "number": approval.number,
                "criterion": item.criterion,
                "owner": item.owner.pid,
                "due": item.due.isoformat(),
                "severity": item.severity,
            },
        )
    mirrored = transitions.mirrored_workload_status(approval.type, approval.status)
    if mirrored:
        Workload.objects.filter(pk=approval.workload_id).update(status=mirrored)
        record(
            AuditKind.WORKLOAD_STATUS_CHANGED,
            actor=as_actor,
            subject=approval.workload,
            after={"status": mirrored},
        )
    request = documents.document_request(approval, frozen, built)
    signing.request_document(actor=as_actor, request=request)
    people = {approval.requester_id, approval.workload.owner_id, approval.reviewer_id}
    people |= {item.owner_id for item in imposed}
    mails.request_mails(Occasion.DECIDED, approval, [person for person in people if person])
