"""The page "Modell": hand in a capture as the model of a workload, and see what becomes of its operations."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from pilots import pages_capture
from pilots.forms_capture import CaptureForm
from qms.roles import guards
from qms.roles.permissions import Permission
from qms.web.answers import account, done, submit, takes_up_to
from qms.web.workload_views import workload_crumbs
from qms.workloads import selectors
from qms.workloads.services import model_file

FIELDS: Final = {"G0-5": "file", "P01": "file", "G1-2": "level"}  # where a refusal is said


@takes_up_to(model_file.MAX_BYTES)
@login_required
@require_http_methods(["GET", "POST"])
def model(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Show the captured model; who may change the workload hands one in or replaces it."""
    actor = account(request)
    workload = selectors.get(workload_id, actor=actor)
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    form = CaptureForm(*sent, workload=workload)

    def command() -> HttpResponse:
        data, name = form.upload()
        model_file.set_model_file(
            actor=actor, workload_id=workload_id, data=data, name=name, level=form.level_stated
        )
        messages.success(request, _("Die Aufzeichnung ist geprüft und gilt als Modell des Workloads."))
        return done(request, workload, reverse("pilot_model", args=[workload_id]))

    def page() -> HttpResponse:
        context = {
            "workload": workload,
            "crumbs": [*workload_crumbs(workload), {"label": _("Modell"), "url": ""}],
            "form": form,
            "shown": pages_capture.shown(workload),
            "may_edit": guards.prefetch(actor, [workload]).may(Permission.EDIT_WORKLOAD, workload),
        }
        return render(request, "pilots/model.html", context)

    return submit(request, form, command, page, FIELDS) if request.method == "POST" else page()
