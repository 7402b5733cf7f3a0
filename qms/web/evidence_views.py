"""Evidence: its facts, the file behind them, and its acceptance by somebody who did not produce it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from qms.audit import selectors as audit
from qms.core.errors import Refusal
from qms.evidence import selectors, services
from qms.evidence.choices import EvidenceStatus
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.web import approval_gates, approval_page, evidence_page
from qms.web.answers import account, done, submit
from qms.web.approval_forms import EvidenceReviewForm
from qms.web.downloads import attachment
from qms.web.workload_views import workload_crumbs


@login_required
@require_GET
def evidence(request: HttpRequest, evidence_id: UUID) -> HttpResponse:
    """Show one piece of evidence."""
    actor = account(request)
    item = selectors.get(evidence_id, actor=actor)
    return _page(request, item, actor, EvidenceReviewForm(kind=item.type))


@login_required
@require_POST
def review(request: HttpRequest, evidence_id: UUID) -> HttpResponse:
    """Accept or reject one piece of evidence."""
    actor = account(request)
    item = selectors.get(evidence_id, actor=actor)
    services.check_may_review(actor=actor, evidence_id=evidence_id)
    form = EvidenceReviewForm(request.POST, kind=item.type)

    def command() -> HttpResponse:
        values = form.cleaned_data
        done_item = services.review_evidence(
            actor=actor,
            evidence_id=evidence_id,
            accept=values["accept"] == "ja",
            compared_with=values["compared_with"],
            reason=values["reason"],
        )
        messages.success(request, _("Ihr Ergebnis ist gespeichert."))
        return done(request, done_item, reverse("evidence", args=[evidence_id]))

    return submit(request, form, command, lambda: _page(request, item, actor, form))


@login_required
@require_GET
def file(request: HttpRequest, evidence_id: UUID) -> HttpResponse:
    """Download the facts, or the file that was handed in; always as an attachment."""
    raw = request.GET.get("teil") == "rohdatei"
    item, data = services.retrieve_evidence(actor=account(request), evidence_id=evidence_id, raw=raw)
    if raw:
        return attachment(data, item.raw_name or f"{item.type}-rohdatei", "application/octet-stream")
    return attachment(data, f"{item.type}-{item.facts_sha256[:12]}.json", "application/json")


def _page(request: HttpRequest, item: EvidenceItem, actor: User, form: EvidenceReviewForm) -> HttpResponse:
    rows = gates.carried(item, selectors.counting(item.workload) if item.workload else None)
    context: dict[str, Any] = {
        "item": item,
        "holder": item.holder,
        "axes": approval_gates.axes_of(item),
        "facts": evidence_page.facts_view(item),
        "carries": rows,
        "form": form,
        "replaced": item.replaced_by_id is not None,
        "history": approval_page.sentences(
            audit.history("Evidence", str(item.pk), limit=approval_page.HISTORY)
        ),
        "history_url": f"{reverse('audit_log')}?objekt=Evidence:{item.pk}",
        "crumbs": [*_holder_crumbs(item), {"label": item.title}],
        **_review_state(item, actor),
    }
    return render(request, "evidence/detail.html", context)


def _holder_crumbs(item: EvidenceItem) -> list[dict[str, str]]:
    """Return the path to what the evidence is about."""
    if item.workload is not None:
        return workload_crumbs(item.workload)
    first = {"label": _("Plattformen"), "url": reverse("platforms")}
    if item.platform is not None:
        return [first, {"label": item.platform.name, "url": reverse("platform", args=[item.platform.pk])}]
    return [first, {"label": str(item.organisation), "url": reverse("organisation")}]


def _review_state(item: EvidenceItem, actor: User) -> dict[str, Any]:
    """Return whether the person may review the item, or the refusal the command would answer with."""
    if item.status != EvidenceStatus.NEW or (item.workload_id is None and item.replaced_by_id):
        return {"may_review": False, "refusal": None}
    try:
        services.check_reviewer(item, actor)
        guards.require(actor=actor, permission=Permission.REVIEW_EVIDENCE, workload=item.workload)
    except Refusal as refusal:
        return {"may_review": False, "refusal": refusal}
    return {"may_review": True, "refusal": None}
