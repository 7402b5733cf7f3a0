"""Screen 7: the one review of a request, and the act that signs it. The draft travels signed, never stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core import signing as tokens
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from qms.approvals import dossier, panel, selectors
from qms.approvals.choices import ApprovalType, Meaning, VoteValue
from qms.approvals.models import Approval
from qms.approvals.services import reviews
from qms.approvals.services.acts import review_statement
from qms.approvals.services.reviews import Review, SubjectAnswer
from qms.core import clock
from qms.evidence import selectors as evidence
from qms.gates import services as gates
from qms.roles.models import User
from qms.web import act_page, approval_gates, approval_page, evidence_page, workload_page
from qms.web.answers import account, done, submit
from qms.web.approval_forms import ActForm, ReviewForm
from qms.web.approval_views import approval_crumbs, text_forms

SALT: Final = "qms.review-draft"
DRAFT_LIFE_S: Final = 3600


@login_required
@require_http_methods(["GET", "POST"])
def review(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Show everything that carries the request on one page, take the answers, and lead to the act."""
    actor = account(request)
    found = selectors.get(approval_id, actor=actor)
    form = ReviewForm(request.POST or None, subjects=gates.asked_subjects(found.workload))

    def command() -> HttpResponse:
        made = reviews.prepare_review(
            actor=actor,
            approval_id=approval_id,
            answers=form.answers,
            meaning=Meaning(form.cleaned_data["meaning"]),
            reason=form.cleaned_data["reason"],
            compared_with=form.cleaned_data["compared_with"],
        )
        return _act(request, found, made, actor)

    def page() -> HttpResponse:
        return render(request, "approvals/review.html", _context(found, actor, form))

    if request.method != "POST":
        return page()
    reviews.check_may_review(actor=actor, approval_id=approval_id)
    return submit(request, form, command, page)


@login_required
@require_http_methods(["GET", "POST"])
def sign(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Take the signed act. Without an answer, as after a reload, the review starts again."""
    actor = account(request)
    found = selectors.get(approval_id, actor=actor)
    form = ActForm(request.POST or None)
    draft = _read(request.POST.get("draft", ""), found, actor)
    if draft is None:
        messages.warning(
            request, _("Die Bestätigung ist abgelaufen. Bitte prüfen und bestätigen Sie erneut.")
        )
        return redirect("approval_review", approval_id=approval_id)

    def command() -> HttpResponse:
        challenge, response = act_page.response_of(request, actor, form)
        made = reviews.complete_review(
            actor=actor, approval_id=approval_id, review=draft, challenge_id=challenge, response=response
        )
        messages.success(request, _("Ihre Stimme ist abgegeben. Der Antrag ist entscheidungsreif."))
        return done(request, made, reverse("approval", args=[approval_id]))

    return submit(request, form, command, lambda: _act(request, found, draft, actor, form))


def _act(
    request: HttpRequest, found: Approval, draft: Review, actor: User, form: ActForm | None = None
) -> HttpResponse:
    statement = review_statement(found, actor=actor, review=draft)
    names = {subject.code: subject.name for subject in gates.asked_subjects(found.workload)}
    context = act_page.context(request, actor, statement) | {
        "approval": found,
        "form": form,
        "draft": _token(found, draft, actor),
        "action": reverse("approval_review_sign", args=[found.pk]),
        "back": reverse("approval_review", args=[found.pk]),
        "answers": [{"subject": names[item.subject], "value": item.value.value} for item in draft.answers],
        "reason": draft.reason,
        "meaning": draft.meaning.label,
        "button": _("Stimme abgeben"),
        "crumbs": [*approval_crumbs(found), {"label": _("Prüfung bestätigen")}],
    }
    return render(request, "approvals/act.html", context)


def _context(found: Approval, actor: User, form: ReviewForm) -> dict[str, Any]:
    workload = found.workload
    built = dossier.build(found, at=clock.now(), reviewer=actor.person)
    items = evidence.counting(workload)
    rules = gates.rule_set()
    asked = {subject.code for subject in rules.asked_subjects(built.report.gap)}
    live = approval_page.live_dossier(found)
    rows = approval_gates.evidence_rows(items, ApprovalType(found.type))
    results = {item.row.id: item for item in built.report.criteria}
    for row in rows:
        row["results"] = [results[one.id] for one in row["carries"] if one.id in results]
        row["headline"] = evidence_page.headline(row["item"])
    return {
        "approval": found,
        "workload": workload,
        "form": form,
        "panel": panel.panel(found, actor=actor, built=live),
        "forms": text_forms(),
        "checklist": approval_gates.checklist(built.report, workload.pk),
        "evidence": rows,
        "targets": workload_page.targets(workload),
        "rules": workload_page.sentences(workload),
        "people": workload_page.facts(workload),
        "not_asked": [subject.name for subject in rules.subjects if subject.code not in asked],
        "crumbs": [*approval_crumbs(found), {"label": _("Prüfung")}],
        **approval_page.headline(found, built),
        **approval_page.changes(found),
    }


def _token(found: Approval, draft: Review, actor: User) -> str:
    return tokens.dumps(
        {
            "approval": str(found.pk),
            "account": actor.pk,
            "answers": [[item.subject, item.value.value, item.reason] for item in draft.answers],
            "meaning": draft.meaning.value,
            "reason": draft.reason,
            "compared_with": draft.compared_with,
            "evaluated_at": draft.evaluated_at.isoformat(),
            "dossier_sha256": draft.dossier_sha256,
        },
        salt=SALT,
        compress=True,
    )


def _read(token: str, found: Approval, actor: User) -> Review | None:
    """Return the draft of this account for this request, or None if it is not there, too old or another's."""
    try:
        data = tokens.loads(token, salt=SALT, max_age=DRAFT_LIFE_S)
    except tokens.BadSignature:
        return None
    if data["approval"] != str(found.pk) or data["account"] != actor.pk:
        return None
    return Review(
        answers=tuple(
            SubjectAnswer(code, VoteValue(value), reason) for code, value, reason in data["answers"]
        ),
        meaning=Meaning(data["meaning"]),
        reason=data["reason"],
        compared_with=data["compared_with"],
        evaluated_at=datetime.fromisoformat(data["evaluated_at"]),
        dossier_sha256=data["dossier_sha256"],
    )
