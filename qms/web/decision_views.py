"""Screen 8: the decision, and the act that signs it; made for the phone first."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from qms.approvals import conditions, panel, selectors
from qms.approvals.choices import ApprovalStatus, Decision, Meaning
from qms.approvals.models import Approval, DecisionRecord
from qms.approvals.services import decisions
from qms.approvals.services.acts import statement_for
from qms.core import clock
from qms.roles.models import User
from qms.web import act_page, approval_gates, approval_page
from qms.web.answers import account, done, submit
from qms.web.approval_forms import ActForm, DecisionForm
from qms.web.approval_views import approval_crumbs
from qms.web.condition_forms import Basis


@login_required
@require_http_methods(["GET", "POST"])
def decide(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Show what the decision rests on, take decision, reason and meaning, freeze the wording."""
    actor = account(request)
    found = selectors.get(approval_id, actor=actor)
    built = approval_page.live_dossier(found)
    shown = panel.panel(found, actor=actor, built=built)
    form = DecisionForm(request.POST or None, possible=shown.decisions, basis=_basis(found, shown))

    def command() -> HttpResponse:
        frozen = decisions.prepare_decision(actor=actor, approval_id=approval_id, wording=form.wording())
        return done(request, frozen, reverse("approval_decide_sign", args=[approval_id, frozen.pk]))

    def page() -> HttpResponse:
        context: dict[str, Any] = {
            "approval": found,
            "workload": found.workload,
            "panel": shown,
            "form": form,
            "checklist": approval_gates.checklist(shown.report or built.report, found.workload_id),
            "acts": approval_page.acts(found),
            "bar": approval_page.bottom_bar(shown),
            "crumbs": [*approval_crumbs(found), {"label": _("Entscheidung")}],
            **approval_page.headline(found, built),
            **approval_page.changes(found),
        }
        return render(request, "approvals/decide.html", context)

    if request.method != "POST":
        return page()
    decisions.check_may_decide(actor=actor, approval_id=approval_id, decision=_chosen(request))
    return submit(request, form, command, page)


@login_required
@require_http_methods(["GET", "POST"])
def sign(request: HttpRequest, approval_id: UUID, record_id: UUID) -> HttpResponse:
    """Take the signed act on the frozen wording."""
    actor = account(request)
    frozen = panel.record_to_sign(approval_id, record_id, actor=actor)
    form = ActForm(request.POST or None)

    def command() -> HttpResponse:
        challenge, response = act_page.response_of(request, actor, form)
        made = decisions.decide_approval(
            actor=actor, record_id=record_id, challenge_id=challenge, response=response
        )
        messages.success(request, _success(made))
        return done(request, made, reverse("approval", args=[approval_id]))

    def page() -> HttpResponse:
        return _act(request, frozen, actor, form)

    return submit(request, form, command, page) if request.method == "POST" else page()


def _basis(found: Approval, shown: panel.Panel) -> Basis:
    """Return what conditions may be given on, where they may be given."""
    if not shown.coverable:
        return Basis()
    now = clock.now()
    return Basis(
        shown.coverable,
        conditions.eligible_owners(found.workload),
        conditions.proposed_due(now),
        conditions.latest_due(now),
        conditions.grace_days(),
    )


def _act(request: HttpRequest, frozen: DecisionRecord, actor: User, form: ActForm) -> HttpResponse:
    found = frozen.approval
    statement = statement_for(frozen, actor=actor)
    context = act_page.context(request, actor, statement) | {
        "approval": found,
        "form": form if form.is_bound else None,
        "action": reverse("approval_decide_sign", args=[found.pk, frozen.pk]),
        "back": reverse("approval_decide", args=[found.pk]),
        "decision": frozen.decision,
        "reason": frozen.reason,
        "alternative": frozen.alternative,
        "conditions": approval_page.stated_conditions(frozen),
        "meaning": Meaning(frozen.meaning).label,
        "button": _("Entscheidung signieren"),
        "crumbs": [*approval_crumbs(found), {"label": _("Entscheidung bestätigen")}],
    }
    return render(request, "approvals/act.html", context)


def _chosen(request: HttpRequest) -> Decision:
    value = request.POST.get("decision", "")
    return Decision(value) if value in list(Decision) else Decision.REJECT


def _success(made: Approval) -> str:
    if made.decided_at is None:
        return _("Ihre Stimme ist abgegeben. Es fehlt noch eine Stimme.")
    if made.valid_until is None:
        return _("Die Ablehnung ist signiert. Das Dokument wird gesiegelt.")
    if made.status == ApprovalStatus.CONDITIONALLY_APPROVED:
        count = made.conditions.count()
        return ngettext(
            "Bedingt freigegeben mit %(n)d Auflage.", "Bedingt freigegeben mit %(n)d Auflagen.", count
        ) % {"n": count}
    return _("Die Freigabe ist erteilt. Sie wird wirksam, sobald das Dokument gesiegelt ist.")
