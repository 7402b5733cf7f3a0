"""The page "Abweichungen": in what baseline and target run are not one workload (G4-1). Views hold no rule."""

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

from pilots import selectors
from pilots.forms_deviations import DeviationsForm
from pilots.services import deviations
from qms.core import store
from qms.evidence.models import EvidenceItem
from qms.roles import guards
from qms.roles.permissions import Permission
from qms.web.answers import account, done, submit
from qms.web.workload_views import workload_crumbs
from qms.workloads import selectors as workloads


@login_required
@require_http_methods(["GET", "POST"])
def listing(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Show what is listed and take the list."""
    actor = account(request)
    workload = workloads.get(workload_id, actor=actor)
    item = selectors.lineage_evidence(workload)
    form = DeviationsForm(request.POST or None, listed=_listed(item))

    def command() -> HttpResponse:
        made = deviations.list_deviations(actor=actor, workload_id=workload_id, deviations=form.deviations)
        messages.success(request, _("Die Abweichungen sind aufgelistet; die Prüfung genehmigt sie."))
        return done(request, made, reverse("evidence", args=[made.pk]))

    def page() -> HttpResponse:
        context = {
            "workload": workload,
            "crumbs": [*workload_crumbs(workload), {"label": _("Abweichungen"), "url": ""}],
            "item": item,
            "ready": item is not None and selectors.baseline_evidence(workload) is not None,
            "form": form,
            "may_enter": guards.prefetch(actor, [workload]).may(Permission.START_TARGET_RUN, workload),
        }
        return render(request, "pilots/deviations.html", context)

    return submit(request, form, command, page) if request.method == "POST" else page()


def _listed(item: EvidenceItem | None) -> list[Any]:
    """Return what the manifest lists, [] where there is none or its file is damaged."""
    try:
        return list(item.facts().get("deviations") or ()) if item else []
    except store.StoredFileError:
        return []
