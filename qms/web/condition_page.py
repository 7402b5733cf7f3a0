"""The conditions of a Freigabe on its page: what is asked, where each stands, and what the person may do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext as _

from qms.approvals import conditions, lateness, selectors
from qms.approvals.choices import ConditionStatus, Severity
from qms.approvals.models import Approval, Condition
from qms.approvals.services import addenda
from qms.approvals.services.conditions import check_confirmer
from qms.core import clock, formats
from qms.core.errors import Refusal
from qms.evidence import selectors as evidence
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.signing import selectors as signing
from qms.web.approval_forms import TextForm
from qms.web.condition_forms import ProofForm


class ReturnForm(TextForm):
    """What a proof lacks, with the digest of the proof it was written about."""

    proof_sha256 = forms.CharField(required=False, widget=forms.HiddenInput)


@dataclass(frozen=True, slots=True)
class Row:
    """One condition: badge `state`, the sentence of its lateness, and the forms the person may send."""

    condition: Condition
    title: str
    severity: str
    state: str
    late: str
    proof: ProofForm | None
    confirms: bool
    back: ReturnForm | None


def page(approval: Approval, actor: User, bound: Mapping[UUID, Any] | None = None) -> dict[str, Any]:
    """Return what the page of a Freigabe shows about its conditions; bound: forms that were refused, by condition."""
    found = list(approval.conditions.select_related("owner", "proven_by", "confirmed_by", "evidence"))
    if not found:
        return {"conditions": []}
    late = {item.condition.pk: item for item in _late(approval)}
    active = approval.status == "BEDINGT_FREIGEGEBEN"
    proves = active and conditions.may_fulfil(actor, approval.workload)
    titles, sent = conditions.titles(), bound or {}
    rows = [
        Row(
            item,
            titles.get(item.criterion, item.criterion),
            str(Severity(item.severity).label),
            "UEBERFAELLIG" if item.pk in late else item.status,
            late[item.pk].sentence if item.pk in late else "",
            _proof_form(item, approval, sent) if proves and item.status == ConditionStatus.OPEN else None,
            active and _may_confirm(item, approval, actor),
            _return_form(item, sent) if active and _may_confirm(item, approval, actor) else None,
        )
        for item in found
    ]
    addendum = getattr(approval, "addendum", None)
    return {
        "conditions": rows,
        "conditions_met": sum(item.status == ConditionStatus.MET for item in found),
        "completable": active and _completable(approval, actor),
        "addendum": addendum,
        "addendum_sealed": addendum is not None and signing.seal_state(addendum.pk).sealed,
    }


def covered(approval: Approval) -> dict[str, str]:
    """Return, by criterion, the sentence of the condition that covers it."""
    text = _("Gedeckt durch Auflage %(position)d, fällig am %(day)s.")
    return {
        item.criterion: text % {"position": item.position, "day": formats.day(item.due)}
        for item in approval.conditions.all()
    }


def _late(approval: Approval) -> list[lateness.Late]:
    if approval.status not in selectors.ACTIVE:
        return []
    return lateness.late_by_approval([approval.pk], clock.now()).get(approval.pk, [])


def _proof_form(item: Condition, approval: Approval, sent: Mapping[UUID, Any]) -> ProofForm:
    found = sent.get(item.pk)
    return found if isinstance(found, ProofForm) else proof_form(item, approval)


def proof_form(item: Condition, approval: Approval, data: Any = None) -> ProofForm:
    """Return the form of the proof of one condition, with the evidence of the workload to choose from."""
    return ProofForm(
        data, items=list(evidence.current(approval.workload)), auto_id=f"id_nachweis_{item.position}_%s"
    )


def _return_form(item: Condition, sent: Mapping[UUID, Any]) -> ReturnForm:
    found = sent.get(item.pk)
    return found if isinstance(found, ReturnForm) else return_form(item)


def return_form(item: Condition, data: Any = None) -> ReturnForm:
    """Return the form with which a proof is given back."""
    return ReturnForm(
        data,
        initial={"proof_sha256": item.proof_sha256},
        label=_("Was fehlt?"),
        missing=_("Bitte sagen Sie, was fehlt."),
        auto_id=f"id_zurueck_{item.position}_%s",
    )


def _may_confirm(item: Condition, approval: Approval, actor: User) -> bool:
    if item.status != ConditionStatus.PROVEN:
        return False
    rights = guards.prefetch(actor, [approval.workload])
    if rights.acting_role(Permission.FULFIL_CONDITION, approval.workload, conditions.CONFIRMS) is None:
        return False
    try:
        check_confirmer(approval, item, actor)
    except Refusal:
        return False
    return True


def _completable(approval: Approval, actor: User) -> bool:
    try:
        addenda.check_complete(approval, actor)
    except Refusal:
        return False
    return True
