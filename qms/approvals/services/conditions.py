"""Fulfilling the conditions of a conditional approval: hand in a proof, confirm it, or give it back (P24, spec 3.8)."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext as _

from qms.approvals import mails, selectors, texts, transitions
from qms.approvals.choices import ConditionStatus
from qms.approvals.conditions import CONFIRMS, FULFILS
from qms.approvals.mails import Occasion
from qms.approvals.models import Approval, Condition
from qms.approvals.transitions import Trigger
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock
from qms.core.errors import CriterionNotMet, NotVisible, SodViolation, WrongState
from qms.evidence import selectors as evidence
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.roles import Role


@audited
def submit_proof(
    *, actor: User, approval_id: UUID, condition_id: UUID, text: str, evidence_id: UUID | None = None
) -> Condition:
    """Hand in the proof of a condition (P24, X); it counts once another person has confirmed it."""
    approval = selectors.lock(approval_id, actor=actor)
    condition = _condition(approval, condition_id)
    role = guards.require(
        actor=actor, permission=Permission.FULFIL_CONDITION, workload=approval.workload, letters=FULFILS
    )
    _check_status(approval, condition, ConditionStatus.OPEN)
    if not text.strip():
        raise CriterionNotMet(
            _("Bitte beschreiben Sie, womit die Auflage erfüllt ist."),
            id=condition.criterion,
            next_step=_("Nachweis beschreiben."),
        )
    texts.check_printable(text)
    found = evidence.current(approval.workload).filter(pk=evidence_id).first() if evidence_id else None
    if evidence_id and found is None:
        raise CriterionNotMet(
            _("Dieser Nachweis gehört nicht zum Workload oder gilt nicht mehr."),
            id=condition.criterion,
            next_step=_("Einen gültigen Nachweis wählen."),
        )
    condition.status, condition.proof, condition.evidence = ConditionStatus.PROVEN.value, text, found
    condition.proven_by, condition.proven_at, condition.returned = actor.person, clock.now(), ""
    condition.save()
    record(
        AuditKind.CONDITION_PROVEN,
        actor=actor.audit_actor(role),
        subject=condition,
        facts=_facts(approval, condition) | ({"evidence": str(found.pk)} if found else {}),
        refs=[found.facts_sha256] if found else [],
        private={"proof": text},
    )
    holders = selectors.holders(Permission.FULFIL_CONDITION, CONFIRMS)
    mails.request_mails(Occasion.CONDITION_PROVEN, approval, holders)
    return condition


@audited
def confirm_condition(
    *, actor: User, approval_id: UUID, condition_id: UUID, expected_sha256: str
) -> Condition:
    """Confirm that a condition is fulfilled (P24, D): by another person than who handed in the proof.

    expected_sha256: `proof_sha256` of the proof the person saw.
    """
    approval, condition, role = _judged(actor, approval_id, condition_id, expected_sha256)
    condition.status = ConditionStatus.MET.value
    condition.confirmed_by, condition.confirmed_at = actor.person, clock.now()
    condition.save()
    record(
        AuditKind.CONDITION_MET,
        actor=actor.audit_actor(role),
        subject=condition,
        facts=_facts(approval, condition),
    )
    return condition


@audited
def return_proof(
    *, actor: User, approval_id: UUID, condition_id: UUID, expected_sha256: str, reason: str
) -> Condition:
    """Give the proof the person saw back with what is missing; the condition is open again."""
    approval, condition, role = _judged(actor, approval_id, condition_id, expected_sha256)
    if not reason.strip():
        raise CriterionNotMet(
            _("Bitte sagen Sie, was fehlt."), id=condition.criterion, next_step=_("Grund eintragen.")
        )
    condition.status, condition.returned = ConditionStatus.OPEN.value, reason
    condition.save()
    record(
        AuditKind.CONDITION_PROOF_RETURNED,
        actor=actor.audit_actor(role),
        subject=condition,
        facts=_facts(approval, condition),
        private={"reason": reason},
    )
    people = {condition.owner_id, condition.proven_by_id, approval.workload.owner_id}
    mails.request_mails(Occasion.CONDITION_RETURNED, approval, [person for person in people if person])
    return condition


def _judged(
    actor: User, approval_id: UUID, condition_id: UUID, expected_sha256: str
) -> tuple[Approval, Condition, Role]:
    """Return what the person judges now; raises the refusals in their order: segregation, permission, state."""
    approval = selectors.lock(approval_id, actor=actor)
    condition = _condition(approval, condition_id)
    check_confirmer(approval, condition, actor)
    role = guards.require(
        actor=actor, permission=Permission.FULFIL_CONDITION, workload=approval.workload, letters=CONFIRMS
    )
    _check_status(approval, condition, ConditionStatus.PROVEN)
    if condition.proof_sha256 != expected_sha256:
        raise WrongState(
            _("Der Inhalt hat sich geändert; bitte erneut prüfen und bestätigen."),
            id="T-13",
            next_step=_("Bitte laden Sie die Seite neu."),
        )
    return approval, condition, role


def check_confirmer(approval: Approval, condition: Condition, actor: User) -> None:
    """Raise SodViolation unless the person may judge the proof: not involved, and not who handed it in."""
    selectors.check_voter(approval, actor)
    if condition.proven_by_id == actor.person_id:
        raise SodViolation(
            _("Eigene Nachweise dürfen nicht selbst geprüft werden (SoD-03)."),
            id="SoD-03",
            next_step=_("Eine andere Person prüft."),
        )


def _condition(approval: Approval, condition_id: UUID) -> Condition:
    found = approval.conditions.select_for_update().filter(pk=condition_id).first()
    if found is None:
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen."))
    return found


def _check_status(approval: Approval, condition: Condition, wanted: ConditionStatus) -> None:
    transitions.step(approval.status, Trigger.CONDITIONS_MET)
    if condition.status != wanted:
        label = ConditionStatus(condition.status).label
        raise WrongState(
            _("Das ist beim Stand „%(status)s“ dieser Auflage nicht möglich.") % {"status": label},
            id="T-13",
            next_step=_("Bitte laden Sie die Seite neu."),
        )


def _facts(approval: Approval, condition: Condition) -> dict[str, object]:
    return {"number": approval.number, "position": condition.position, "criterion": condition.criterion}
