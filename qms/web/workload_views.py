"""Workloads: list, screen 1 (Angaben), the owner role, and the overview."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from qms.roles import guards
from qms.roles.permissions import Permission
from qms.web import workload_page
from qms.web.answers import account, done, submit
from qms.web.workload_forms import ACCEPT, CAPTURE, OwnerForm, WorkloadForm
from qms.workloads import selectors
from qms.workloads.models import ObjectClassification, Workload
from qms.workloads.services import registration

PAGE_SIZE: Final = 25


@login_required
@require_GET
def workloads(request: HttpRequest) -> HttpResponse:
    """List the visible workloads, newest first, 25 a page, found by title."""
    actor = account(request)
    query = request.GET.get("q", "").replace("\0", "").strip()  # PostgreSQL stores no NUL
    found = Workload.objects.visible_to(actor).select_related("owner").order_by("-id")
    if query:
        found = found.filter(title__icontains=query)
    after = _uuid(request.GET.get("after", ""))
    if after is not None:
        found = found.filter(pk__lt=after)
    rows = list(found[: PAGE_SIZE + 1])
    page = _with_classes(rows[:PAGE_SIZE])
    context = {
        "crumbs": [],
        "rows": page,
        "query": query,
        "after": after,
        "next_after": page[-1].pk if len(rows) > PAGE_SIZE else None,
        "may_create": guards.prefetch(actor).may(Permission.EDIT_WORKLOAD),
    }
    return render(request, "workloads/list.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Screen 1: record a workload and, with the first button, take the owner role in the same act."""
    actor = account(request)
    form = WorkloadForm(request.POST or None, actor_person=actor.person)

    def command() -> HttpResponse:
        accept = ACCEPT in form.data
        made = registration.register_workload(actor=actor, data=form.to_data(), accept_owner=accept)
        messages.success(request, _("Der Workload ist gespeichert."))
        return done(request, made, _after(form, made, "workload_data" if accept else "workload"))

    def page() -> HttpResponse:
        crumbs = [_crumb_list(), {"label": _("Neuer Workload")}]
        return render(request, "workloads/edit.html", {"form": form, "crumbs": crumbs, "accepts": True})

    if request.method == "POST":
        return submit(request, form, command, page)
    guards.require(actor=actor, permission=Permission.EDIT_WORKLOAD)
    return page()


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Screen 1 again: change what was recorded."""
    actor = account(request)
    workload = selectors.get(workload_id, actor=actor)
    form = WorkloadForm(request.POST or None, actor_person=actor.person, workload=workload)

    def command() -> HttpResponse:
        if form.has_changed():
            registration.update_workload(
                actor=actor,
                workload_id=workload_id,
                data=form.to_data(),
                expected_sha256=form.expected_sha256,
            )
            messages.success(request, _("Die Angaben sind gespeichert."))
        return done(request, workload, _after(form, workload, "workload"))

    def page() -> HttpResponse:
        crumbs = [*workload_crumbs(workload), {"label": _("Angaben")}]
        context = {"form": form, "crumbs": crumbs, "workload": workload, "accepts": False}
        context["model_facts"] = workload_page.model_facts(workload)
        return render(request, "workloads/edit.html", context)

    return submit(request, form, command, page) if request.method == "POST" else page()


@login_required
@require_POST
def owner(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Accept the owner role, or name the person who shall own the workload."""
    actor = account(request)
    workload = selectors.get(workload_id, actor=actor)
    url = reverse("workload", args=[workload_id])
    if request.POST.get("action") == ACCEPT:
        registration.accept_ownership(actor=actor, workload_id=workload_id)
        messages.success(request, _("Sie verantworten jetzt diesen Workload."))
        return done(request, workload, url)
    form = OwnerForm(request.POST, workload=workload)

    def command() -> HttpResponse:
        named = form.cleaned_data["person"]
        registration.name_owner(actor=actor, workload_id=workload_id, owner=named)
        messages.success(request, _("Benannt. Die Person nimmt die Owner-Rolle selbst an."))
        return done(request, workload, url)

    return submit(request, form, command, lambda: _overview(request, workload, owner_form=form))


@login_required
@require_GET
def workload(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Show one workload: what is next, what is open, what it consists of, what happened."""
    return _overview(request, selectors.get(workload_id, actor=account(request)))


def workload_crumbs(found: Workload) -> list[dict[str, str]]:
    """Return the path to the overview of a workload."""
    return [_crumb_list(), {"label": found.title, "url": reverse("workload", args=[found.pk])}]


def _overview(request: HttpRequest, found: Workload, owner_form: OwnerForm | None = None) -> HttpResponse:
    context: dict[str, Any] = workload_page.overview(found, account(request))
    context["owner_form"] = owner_form or OwnerForm(workload=found)
    context["crumbs"] = workload_crumbs(found)
    return render(request, "workloads/detail.html", context)


def _with_classes(rows: list[Workload]) -> list[Workload]:
    """Add the highest level and the number of unconfirmed classes; joined in, they would be counted for every row."""
    unconfirmed = Count("pk", filter=Q(confirmed_by__isnull=True))
    grouped = ObjectClassification.objects.filter(workload__in=rows).order_by().values_list("workload")
    counts = {key: values for key, *values in grouped.annotate(highest=Max("level"), unconfirmed=unconfirmed)}
    for row in rows:
        level, number = counts.get(row.pk, (None, 0))
        row.level, row.unconfirmed = level, number  # type: ignore[attr-defined]
    return rows


def _after(form: WorkloadForm, found: Workload, page: str) -> str:
    """Return where screen 1 leads: to `page`, or to the upload of a capture if that button was pressed."""
    return reverse("pilot_model" if CAPTURE in form.data else page, args=[found.pk])


def _crumb_list() -> dict[str, str]:
    return {"label": _("Workloads"), "url": reverse("workloads")}


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
