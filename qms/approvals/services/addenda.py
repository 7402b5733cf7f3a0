"""From the last fulfilled condition to the approval without conditions: freeze the addendum, sign it (T-13)."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from qms.approvals import addendum, documents, dossier, mails, rules, selectors, texts, transitions
from qms.approvals.choices import ApprovalStatus, ConditionStatus, Meaning
from qms.approvals.conditions import CONFIRMS
from qms.approvals.mails import Occasion
from qms.approvals.models import Addendum, Approval, DecisionRecord
from qms.approvals.services import acts
from qms.approvals.transitions import Trigger
from qms.audit.events import AuditKind
from qms.audit.services import audited, record, witnessed
from qms.core import clock
from qms.core.errors import CriterionNotMet, NotVisible, WrongState
from qms.evidence import services as evidence
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.signing import ceremony
from qms.signing import services as signing
from qms.signing.request import DocumentKind
from qms.workloads.models import Workload


@witnessed
def check_may_complete(*, actor: User, approval_id: UUID) -> Role:
    """Raise what keeps the person from completing the approval now."""
    return check_complete(selectors.get(approval_id, actor=actor), actor)


@audited
def prepare_addendum(*, actor: User, approval_id: UUID, meaning: Meaning, reason: str = "") -> DecisionRecord:
    """Freeze the wording of the addendum; its digest is what the person signs next."""
    approval = selectors.lock(approval_id, actor=actor)
    role = check_complete(approval, actor)
    evidence.check_files(approval.workload, as_actor=actor.audit_actor(role))
    rules.check_meaning(meaning, [addendum.MEANING])
    texts.check_printable(reason, actor.person.display_name)
    now = clock.now()
    content = addendum.build(approval, actor=actor, role=role, reason=reason, at=now)
    frozen = DecisionRecord.objects.create(
        approval=approval,
        prepared_by=actor.person,
        decision=ApprovalStatus.APPROVED.value,
        reason=reason,
        meaning=meaning.value,
        content=content.text,
        sha256=content.sha256,
        created_at=now,
    )
    record(
        AuditKind.DECISION_FROZEN,
        actor=actor.audit_actor(role),
        subject=approval,
        facts={"addendum": addendum.number_of(approval), "decision_sha256": frozen.sha256},
    )
    return frozen


def record_to_sign(approval_id: UUID, record_id: UUID, *, actor: User) -> DecisionRecord:
    """Return the frozen addendum the person is to sign; raises NotVisible unless it is theirs."""
    approval = selectors.get(approval_id, actor=actor)
    frozen = approval.decision_records.filter(pk=record_id, prepared_by=actor.person).first()
    if frozen is None or documents.parsed(frozen)["kind"] != DocumentKind.ADDENDUM.value:
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen."))
    return frozen


@audited
def sign_addendum(
    *, actor: User, approval_id: UUID, record_id: UUID, challenge_id: UUID, response: ceremony.Response
) -> Approval:
    """Record the signed addendum: the approval goes on without conditions, its document is sealed by a job."""
    approval = selectors.lock(approval_id, actor=actor)
    frozen = record_to_sign(approval_id, record_id, actor=actor)
    role = check_complete(approval, actor)
    evidence.check_files(approval.workload, as_actor=actor.audit_actor(role))
    rules.check_fresh(frozen.created_at, clock.now(), cosigned=False)
    expected = acts.addendum_statement(frozen, actor=actor)
    act = ceremony.complete(actor=actor, challenge_id=challenge_id, response=response, digest=frozen.sha256)
    made = _store(approval, frozen, actor, role, act)
    if not acts.says(made.act.record, expected):
        raise dossier.stale()
    step = transitions.step(approval.status, Trigger.CONDITIONS_MET)
    selectors.move(approval, step)
    as_actor = actor.audit_actor(role)
    record(
        AuditKind.ADDENDUM_CREATED,
        actor=as_actor,
        subject=made,
        facts={
            "number": addendum.number_of(approval),
            "decision_sha256": frozen.sha256,
            "target_sha256": approval.decision_sha256,
            "method": act.method.value,
        },
        refs=[act.record_sha256],
    )
    mirrored = transitions.mirrored_workload_status(approval.type, approval.status)
    if mirrored and mirrored != approval.workload.status:
        Workload.objects.filter(pk=approval.workload_id).update(status=mirrored)
        record(
            AuditKind.WORKLOAD_STATUS_CHANGED,
            actor=as_actor,
            subject=approval.workload,
            after={"status": mirrored},
        )
    signing.request_document(actor=as_actor, request=addendum.request(made))
    people = {approval.requester_id, approval.workload.owner_id, approval.reviewer_id}
    mails.request_mails(Occasion.CONDITIONS_MET, approval, [person for person in people if person])
    return approval


def check_complete(approval: Approval, actor: User) -> Role:
    """Raise the refusal of an addendum in its order: segregation, permission, state, open conditions."""
    selectors.check_voter(approval, actor)
    role = guards.require(
        actor=actor, permission=Permission.FULFIL_CONDITION, workload=approval.workload, letters=CONFIRMS
    )
    transitions.step(approval.status, Trigger.CONDITIONS_MET)
    force = selectors.force(approval)
    if force.seal_pending or force.outdated or force.expired:
        raise WrongState(
            _("Ein Nachtrag setzt eine gesiegelte, nicht veraltete und nicht abgelaufene Freigabe voraus."),
            id="T-13",
            next_step=_("Den Stand der Freigabe auf ihrer Seite ansehen."),
        )
    waiting = approval.conditions.exclude(status=ConditionStatus.MET.value)
    if waiting:
        names = ", ".join(f"{item.position} ({item.criterion})" for item in waiting)
        text = ngettext(
            "Noch nicht alle Auflagen erfüllt: Es fehlt Auflage %(names)s.",
            "Noch nicht alle Auflagen erfüllt: Es fehlen die Auflagen %(names)s.",
            len(waiting),
        )
        raise CriterionNotMet(
            text % {"names": names},
            id=waiting[0].criterion,
            next_step=_("Erst jede Erfüllung nachweisen und bestätigen."),
        )
    return role


def _store(
    approval: Approval, frozen: DecisionRecord, actor: User, role: Role, act: ceremony.SignedAct
) -> Addendum:
    workload = approval.workload
    pilot = getattr(workload, "pilot", None)
    return Addendum.objects.create(
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
    )
