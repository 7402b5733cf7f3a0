"""Screens 2 (Daten, with its confirmation by another person) and 3 (Ziele)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from qms.web import workload_classes
from qms.web.answers import account, done, submit
from qms.web.workload_criteria_forms import CriteriaForm, proposed_rules, rule_forms, rules_data, stored_rules
from qms.web.workload_data_forms import AnswersForm, ChangeClassForm, ConfirmForm
from qms.web.workload_views import workload_crumbs
from qms.workloads import inheritance, selectors
from qms.workloads.choices import Flag, Level, ObjectClass
from qms.workloads.models import Workload
from qms.workloads.services import classification
from qms.workloads.services import criteria as criteria_service
from qms.workloads.services.classification import LocationData


@login_required
@require_http_methods(["GET", "POST"])
def data(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Screen 2: four questions; once answered, the proposal for the seven object classes."""
    actor = account(request)
    workload = selectors.get(workload_id, actor=actor)
    answered = hasattr(workload, "answers")
    if request.method != "POST" and answered and "antworten" not in request.GET:
        return _result(request, workload)
    form = AnswersForm(request.POST or None, workload=workload)

    def command() -> HttpResponse:
        location = LocationData(*(form.cleaned_data[name] for name in ("provider", "region", "country")))
        classification.answer_questions(
            actor=actor,
            workload_id=workload_id,
            answers=form.answers(),
            location=location,
            expected_sha256=form.expected_sha256,
        )
        messages.success(request, _("Die Antworten sind gespeichert. Das ist der Vorschlag daraus."))
        return done(request, workload, reverse("workload_data", args=[workload_id]))

    def page() -> HttpResponse:
        context = {
            "form": form,
            "workload": workload,
            "answered": answered,
            "crumbs": _crumbs(workload, _("Daten")),
        }
        return render(request, "workloads/data.html", context)

    return submit(request, form, command, page) if request.method == "POST" else page()


@login_required
@require_POST
def adjust(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Set level and flags of one object class by hand."""
    actor = account(request)
    workload = selectors.get(workload_id, actor=actor)
    form = ChangeClassForm(request.POST)

    def command() -> HttpResponse:
        values = form.cleaned_data
        classification.adjust_classification(
            actor=actor,
            workload_id=workload_id,
            object_class=ObjectClass(values["object_class"]),
            level=Level(values["level"]),
            flags=tuple(Flag(code) for code in values["flags"]),
            reason=values["reason"],
        )
        messages.success(request, _("Die Stufe ist geändert."))
        return done(request, workload, reverse("workload_data", args=[workload_id]))

    return submit(request, form, command, lambda: _result(request, workload, form))


@login_required
@require_http_methods(["GET", "POST"])
def confirm(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """The other person: answers, proposal and changes side by side, confirmed in one act."""
    actor = account(request)
    workload = selectors.get(workload_id, actor=actor)
    form = ConfirmForm(request.POST or None)

    def command() -> HttpResponse:
        chosen = tuple(ObjectClass(code) for code in form.cleaned_data["classes"])
        classification.confirm_classification(
            actor=actor,
            workload_id=workload_id,
            object_classes=chosen,
            expected_sha256=form.expected_sha256,
        )
        messages.success(request, _("Die Datenklassifizierung ist bestätigt."))
        return done(request, workload, reverse("workload", args=[workload_id]))

    def page() -> HttpResponse:
        context = workload_classes.confirmation(workload, actor) | {"form": form, "workload": workload}
        context["crumbs"] = _crumbs(workload, _("Klassifizierung bestätigen"))
        return render(request, "workloads/confirm.html", context)

    return submit(request, form, command, page) if request.method == "POST" else page()


@login_required
@require_http_methods(["GET", "POST"])
def criteria(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Screen 3: quality target, fallback path, pilot frame; abort rules prefilled and read back."""
    actor = account(request)
    workload = selectors.get(workload_id, actor=actor)
    values = classification.class_values(workload)
    level, flags = inheritance.workload_level(values), inheritance.workload_flags(values)
    posted = request.POST or None
    form = CriteriaForm(posted, workload=workload)
    rules = rule_forms(posted, workload, level, flags)

    def command() -> HttpResponse:
        stored = stored_rules(workload) or proposed_rules(workload, level, flags)
        criteria_service.set_criteria(
            actor=actor,
            workload_id=workload_id,
            data=form.to_data(rules_data(rules, stored)),
            expected_sha256=form.expected_sha256,
        )
        messages.success(request, _("Ziele und Abbruchkriterien sind gespeichert."))
        return done(request, workload, reverse("workload", args=[workload_id]))

    def page() -> HttpResponse:
        proposed = not workload.abort_criteria.exists()
        context = {"form": form, "rules": rules, "rules_proposed": proposed, "workload": workload}
        context["crumbs"] = _crumbs(workload, _("Ziele"))
        return render(request, "workloads/criteria.html", context)

    if request.method != "POST":
        return page()
    if form.is_valid() and rules.is_bound and not rules.is_sendable:
        form.add_error(None, _("Mindestens ein Abbruchkriterium ist unvollständig; es ist unten markiert."))
    return submit(request, form, command, page)


def _result(request: HttpRequest, workload: Workload, form: ChangeClassForm | None = None) -> HttpResponse:
    context: dict[str, Any] = workload_classes.result(workload, account(request), form)
    context |= {"workload": workload, "crumbs": _crumbs(workload, _("Daten"))}
    return render(request, "workloads/classes.html", context)


def _crumbs(workload: Workload, label: str) -> list[dict[str, str]]:
    return [*workload_crumbs(workload), {"label": label}]
