"""The public page of a document: whether the Freigabe is in force today. Whoever holds the PDF holds its digest."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from qms.approvals import selectors
from qms.approvals.choices import ApprovalStatus
from qms.approvals.models import Approval
from qms.core import clock, formats
from qms.core.errors import NotVisible


@dataclass(frozen=True, slots=True)
class StatusView:
    """The answer of the page: one word, its tone, and one sentence."""

    code: str
    word: str
    tone: str
    sentence: str


@never_cache
@require_GET
def document_status(request: HttpRequest, number: str) -> HttpResponse:
    """Show the state of today to whoever knows number and digest of the decision; 404 for everybody else."""
    approval = (
        Approval.objects.select_related("workload").filter(number=number, decided_at__isnull=False).first()
    )
    digest = request.GET.get("h", "").replace("\0", "")
    known = approval.decision_sha256 if approval else ""
    if approval is None or not known or not secrets.compare_digest(known.encode(), digest.lower().encode()):
        raise NotVisible(_("Zu dieser Nummer und Prüfsumme gibt es keine Entscheidung."))
    context: dict[str, Any] = {"approval": approval, "state": state_of(approval), "now": clock.now()}
    response = render(request, "status/document.html", context)
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex"
    return response


def state_of(approval: Approval) -> StatusView:
    """Return the computed state of a decided approval in words."""
    force = selectors.force(approval)
    if approval.status == ApprovalStatus.REJECTED:
        text = _("Der Antrag wurde abgelehnt. Eine Freigabe gibt es nicht.")
        return StatusView("ABGELEHNT", _("abgelehnt"), "bad", text)
    if force.expired or approval.status == ApprovalStatus.EXPIRED:
        day = formats.day(approval.valid_until) if approval.valid_until else ""
        text = _("abgelaufen am %(day)s. Eine neue Freigabe braucht einen neuen Antrag.") % {"day": day}
        return StatusView("ABGELAUFEN", _("abgelaufen"), "bad", text)
    if approval.status not in selectors.ACTIVE:
        label = str(ApprovalStatus(approval.status).label)
        text = _("Die Freigabe ist nicht mehr in Kraft: %(status)s.") % {"status": label}
        return StatusView(approval.status, label, "bad", text)
    return _of_active(approval, force)


def _of_active(approval: Approval, force: selectors.Force) -> StatusView:
    if force.outdated:
        text = _(
            "Inhalt oder Nachweise haben sich seit der Entscheidung geändert. Die Freigabe gilt dafür nicht."
        )
        return StatusView("VERALTET", _("veraltet"), "warn", text)
    if force.halted:
        return StatusView("UEBERFAELLIG", _("nicht wirksam"), "bad", force.halted)
    if force.in_force:
        day = formats.day(approval.valid_until) if approval.valid_until else ""
        text = _("Die Freigabe ist heute wirksam und gilt bis %(day)s.") % {"day": day}
        return StatusView("WIRKSAM", _("wirksam"), "ok", text)
    text = _(
        "Die Entscheidung ist getroffen, das Dokument ist aber noch nicht gesiegelt. Sie ist noch nicht wirksam."
    )
    return StatusView("SIEGEL_AUSSTEHEND", _("Siegel ausstehend"), "warn", text)
