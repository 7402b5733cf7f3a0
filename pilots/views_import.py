"""Handing in what the baseline page cannot read by itself: a table whose columns a person names."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from pilots import catalog, pages_import, pages_start
from pilots.choices import RunRole
from pilots.forms_import import MAX_TABLE_BYTES, ColumnsForm, TableForm, layout_of, table_bytes
from pilots.services import results
from qms.web.answers import account, done, submit, takes_up_to
from qms.web.workload_views import workload_crumbs
from qms.workloads import selectors as workloads
from qms.workloads.models import Workload


@takes_up_to(MAX_TABLE_BYTES * 4 // 3)
@login_required
@require_http_methods(["GET", "POST"])
def table(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Two steps without memory: the table and how it is written, then what its columns are."""
    workload = workloads.get(workload_id, actor=account(request))
    if "content" in request.POST:
        return _columns(request, workload)
    form = TableForm(request.POST or None, request.FILES or None)

    def command() -> HttpResponse:
        file = form.cleaned_data["file"]
        names = catalog.cut_table(file.data, form.layout).names
        return _page(
            request, workload, columns=ColumnsForm.first(form, names), data=file.data, layout=form.layout
        )

    def page() -> HttpResponse:
        return _page(request, workload, form=form)

    return submit(request, form, command, page, {"EV-02": "file"}) if request.method == "POST" else page()


def _columns(request: HttpRequest, workload: Workload) -> HttpResponse:
    """Second step: the command with what the person says of each column."""
    data, layout = table_bytes(request.POST["content"]), layout_of(request.POST)
    form = ColumnsForm(request.POST, names=catalog.cut_table(data, layout).names)

    def command() -> HttpResponse:
        run = results.import_baseline(
            actor=account(request),
            workload_id=workload.pk,
            platform_id=form.cleaned_data["platform"].pk,
            files=[form.file],
            table=form.reading,
        )
        messages.success(request, _("Die Vergleichsbasis ist angelegt."))
        return done(request, run, reverse("run", args=[run.pk]))

    def page() -> HttpResponse:
        return _page(request, workload, columns=form, data=data, layout=layout)

    return submit(request, form, command, page)


def _page(request: HttpRequest, workload: Workload, **found: Any) -> HttpResponse:
    form = found.get("columns") or found["form"]
    rows = (
        pages_import.preview(catalog.cut_table(found["data"], found["layout"])) if "data" in found else None
    )
    context = {
        "workload": workload,
        "crumbs": [*workload_crumbs(workload), {"label": _("Eigene Tabelle"), "url": ""}],
        "blocker": pages_start.blocker_of(workload, RunRole.BASELINE),
        "form": form,
        "columns": found.get("columns"),
        "preview": rows,
    }
    return render(request, "pilots/import_table.html", context)
