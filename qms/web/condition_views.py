"""Fulfilling conditions on the page of a Freigabe, and the addendum that completes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from qms.approvals import addendum, documents, selectors
from qms.approvals.choices import Meaning
from qms.approvals.models import Approval, Condition, DecisionRecord
from qms.approvals.services import addenda, conditions, files
from qms.approvals.services.acts import addendum_statement
from qms.core.errors import NotVisible
from qms.roles.models import User
from qms.web import act_page, approval_page, condition_page
from qms.web.answers import account, done, submit
from qms.web.approval_forms import ActForm
from qms.web.approval_views import approval_crumbs, text_forms
from qms.web.condition_forms import AddendumForm
from qms.web.downloads import attachment


@login_required
@require_POST
def prove(request: HttpRequest, approval_id: UUID, condition_id: UUID) -> HttpResponse:
    """Hand in the proof of a condition."""
    actor = account(request)
    found, item = _condition(approval_id, condition_id, actor)
    form = condition_page.proof_form(item, found, request.POST)

    def command() -> None:
        conditions.submit_proof(
            actor=actor,
            approval_id=approval_id,
            condition_id=condition_id,
            text=form.cleaned_data["text"],
            evidence_id=form.evidence_id,
        )

    text = _("Der Nachweis ist eingereicht. Als Nächstes wird er geprüft.")
    return _act(request, found, item, form, command, success=text)


@login_required
@require_POST
def confirm(request: HttpRequest, approval_id: UUID, condition_id: UUID) -> HttpResponse:
    """Confirm that a condition is fulfilled."""
    actor = account(request)
    found, item = _condition(approval_id, condition_id, actor)

    def command() -> None:
        conditions.confirm_condition(
            actor=actor,
            approval_id=approval_id,
            condition_id=condition_id,
            expected_sha256=request.POST.get("proof_sha256", ""),
        )

    form, text = forms.Form(request.POST), _("Die Erfüllung ist bestätigt.")
    return _act(request, found, item, form, command, success=text)


@login_required
@require_POST
def give_back(request: HttpRequest, approval_id: UUID, condition_id: UUID) -> HttpResponse:
    """Give the proof of a condition back."""
    actor = account(request)
    found, item = _condition(approval_id, condition_id, actor)
    form = condition_page.return_form(item, request.POST)

    def command() -> None:
        conditions.return_proof(
            actor=actor,
            approval_id=approval_id,
            condition_id=condition_id,
            expected_sha256=form.cleaned_data["proof_sha256"],
            reason=form.text_value,
        )

    return _act(request, found, item, form, command, success=_("Der Nachweis ist zurückgegeben."))


@login_required
@require_http_methods(["GET", "POST"])
def complete(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Word the addendum to a conditional approval whose conditions are met."""
    actor = account(request)
    found = selectors.get(approval_id, actor=actor)
    form = AddendumForm(request.POST or None)

    def command() -> HttpResponse:
        frozen = addenda.prepare_addendum(
            actor=actor,
            approval_id=approval_id,
            meaning=Meaning(form.cleaned_data["meaning"]),
            reason=form.cleaned_data["reason"],
        )
        return done(request, frozen, reverse("approval_addendum_sign", args=[approval_id, frozen.pk]))

    def page() -> HttpResponse:
        context = {
            "approval": found,
            "workload": found.workload,
            "form": form,
            "crumbs": [*approval_crumbs(found), {"label": _("Nachtrag")}],
            **condition_page.page(found, actor),
        }
        return render(request, "approvals/addendum.html", context)

    if request.method != "POST":
        return page()
    addenda.check_may_complete(actor=actor, approval_id=approval_id)
    return submit(request, form, command, page)


@login_required
@require_http_methods(["GET", "POST"])
def sign(request: HttpRequest, approval_id: UUID, record_id: UUID) -> HttpResponse:
    """Take the signed act on the frozen addendum."""
    actor = account(request)
    frozen = addenda.record_to_sign(approval_id, record_id, actor=actor)
    form = ActForm(request.POST or None)

    def command() -> HttpResponse:
        challenge, response = act_page.response_of(request, actor, form)
        made = addenda.sign_addendum(
            actor=actor,
            approval_id=approval_id,
            record_id=record_id,
            challenge_id=challenge,
            response=response,
        )
        messages.success(request, _("Alle Auflagen erfüllt. Nachtrag erstellt."))
        return done(request, made, reverse("approval", args=[approval_id]))

    def page() -> HttpResponse:
        return _act_page(request, frozen, actor, form)

    return submit(request, form, command, page) if request.method == "POST" else page()


@login_required
@require_GET
def document(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Download the signed addendum."""
    found, data = files.retrieve_addendum(actor=account(request), approval_id=approval_id)
    return attachment(data, f"{addendum.number_of(found)}.pdf", "application/pdf")


def _act_page(request: HttpRequest, frozen: DecisionRecord, actor: User, form: ActForm) -> HttpResponse:
    found = frozen.approval
    statement = addendum_statement(frozen, actor=actor)
    context = act_page.context(request, actor, statement) | {
        "approval": found,
        "form": form if form.is_bound else None,
        "action": reverse("approval_addendum_sign", args=[found.pk, frozen.pk]),
        "back": reverse("approval_addendum", args=[found.pk]),
        "decision": frozen.decision,
        "reason": frozen.reason,
        "conditions": approval_page.stated_conditions(frozen),
        "meaning": documents.meaning_text(frozen.meaning),
        "button": _("Nachtrag signieren"),
        "crumbs": [*approval_crumbs(found), {"label": _("Nachtrag bestätigen")}],
    }
    return render(request, "approvals/act.html", context)


def _condition(approval_id: UUID, condition_id: UUID, actor: User) -> tuple[Approval, Condition]:
    found = selectors.get(approval_id, actor=actor)
    item = found.conditions.filter(pk=condition_id).first()
    if item is None:
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen."))
    return found, item


def _act(
    request: HttpRequest,
    found: Approval,
    item: Condition,
    form: forms.Form,
    command: Callable[[], None],
    *,
    success: str,
) -> HttpResponse:
    def run() -> HttpResponse:
        command()
        messages.success(request, success)
        return done(request, item, reverse("approval", args=[found.pk]))

    def page() -> HttpResponse:
        actor = account(request)
        context: dict[str, Any] = approval_page.page(found, actor)
        context |= {"forms": text_forms(), "form": form, "crumbs": approval_crumbs(found)}
        context |= condition_page.page(found, actor, {item.pk: form})
        return render(request, "approvals/detail.html", context)

    return submit(request, form, run, page)
