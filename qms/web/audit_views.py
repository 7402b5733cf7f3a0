"""The audit log and its exports. Who reads everything and who only own cases is a row of the matrix (P33)."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from qms.audit import selectors, services
from qms.audit.models import Export
from qms.core import formats
from qms.core.errors import NotVisible
from qms.core.models import JobState
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.web import audit_page
from qms.web.answers import account, done, submit
from qms.web.approval_forms import ExportForm
from qms.web.downloads import attachment_file
from qms.web.fragments import fragment

PAGE_SIZE: Final = 50
EXPORTS: Final = 25


@login_required
@require_GET
def log(request: HttpRequest) -> HttpResponse:
    """Show the events the person may read, newest first, keyset paged; `objekt` narrows to one object."""
    actor = account(request)
    guards.require(actor=actor, permission=Permission.READ_AUDIT)
    scope = audit_page.scope_of(actor)
    chosen = audit_page.chosen_object(request.GET.get("objekt", "").replace("\0", ""), scope)
    before = _number(request.GET.get("vor", ""))
    entries = audit_page.entries(scope, chosen, before=before, limit=PAGE_SIZE + 1)
    shown = entries[:PAGE_SIZE]
    context: dict[str, Any] = {
        "crumbs": [],
        "rows": audit_page.rows(shown),
        "scope": scope,
        "chosen": chosen,
        "status": selectors.log_status() if scope.everything else None,
        "before": before,
        "next_before": shown[-1].seq if len(entries) > PAGE_SIZE else None,
        "may_export": guards.may(actor=actor, permission=Permission.EXPORT_AUDIT),
    }
    return render(request, "audit/log.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def export(request: HttpRequest) -> HttpResponse:
    """Ask for an export of the whole log, and see those there are."""
    actor = account(request)
    form = ExportForm(request.POST or None)

    def command() -> HttpResponse:
        made = services.request_export(
            actor=actor,
            purpose=form.cleaned_data["purpose"],
            with_disclosures=form.cleaned_data["with_disclosures"],
        )
        messages.success(request, _("Der Export wird erstellt."))
        return done(request, made, reverse("audit_export"))

    def page() -> HttpResponse:
        _require(actor)
        found = Export.objects.select_related("job")[:EXPORTS]
        names = audit_page.names([row.requested_by for row in found])
        context = {
            "form": form,
            "exports": [_row(row) | {"who": names.get(row.requested_by, _("System"))} for row in found],
            "crumbs": [{"label": _("Protokoll"), "url": reverse("audit_log")}, {"label": _("Export")}],
        }
        return render(request, "audit/export.html", context)

    return submit(request, form, command, page) if request.method == "POST" else page()


@fragment
@require_GET
def export_progress(request: HttpRequest, export_id: UUID) -> HttpResponse:
    """The progress of one export, asked for every two seconds; reloads the page once it has ended."""
    _require(account(request))
    found = Export.objects.select_related("job").filter(pk=export_id).first()
    if found is None:
        raise NotVisible(_("Diesen Export gibt es nicht."))
    row = _row(found)
    response = render(request, "components/progress.html", row["progress"])
    if row["ended"]:
        response["HX-Refresh"] = "true"
    return response


@login_required
@require_GET
def export_file(request: HttpRequest, export_id: UUID) -> HttpResponseBase:
    """Hand out the file of an export; recorded, and from then on a pin outside the system."""
    path = services.hand_out_export(actor=account(request), export_id=export_id)
    return attachment_file(path.open("rb"), f"audit-export-{export_id}.zip", "application/zip")


def _require(actor: User) -> None:
    guards.require(actor=actor, permission=Permission.EXPORT_AUDIT)


def _row(export: Export) -> dict[str, Any]:
    job = export.job
    ready = bool(export.sha256) and export.deleted_at is None
    failed = export.failed_at is not None
    permille = job.progress_permille
    waiting = job.state == JobState.QUEUED
    return {
        "export": export,
        "ready": ready,
        "failed": failed,
        "ended": bool(export.sha256) or failed,
        "size": formats.byte_size(export.size_bytes) if export.size_bytes else "",
        "progress": {
            "id": f"export-{export.pk}",
            "label": _("Wartet auf den Start") if waiting else _("Paket wird gebaut"),
            "permille": permille,
            "percent": formats.percent(permille / 1000, 0),
            "text": job.progress_text or _("Der Auftrag ist angenommen."),
            "done": bool(export.sha256) or failed,
            "url": reverse("audit_export_progress", args=[export.pk]),
        },
    }


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 19 else None
