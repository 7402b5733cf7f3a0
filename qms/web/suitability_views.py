"""The page "Eignung und Bedarf" (P11)."""

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

from qms.roles import guards
from qms.roles.permissions import Permission
from qms.web import suitability_page
from qms.web.answers import account, done, submit
from qms.web.suitability_forms import SuitabilityForm
from qms.web.workload_views import workload_crumbs
from qms.workloads import selectors
from qms.workloads.services.suitability import save_suitability

# Criterion that refuses -> field at which the page says so; None where the sentence names several fields.
_FIELDS: Final = {"G2-1": "business_reason", "G6-8": "primary_metric"}


@login_required
@require_http_methods(["GET", "POST"])
def suitability(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Ask what holds the workload up and how much it runs; show what the evidence says and what follows."""
    actor = account(request)
    workload = selectors.get(workload_id, actor=actor)
    may_edit = guards.may(actor=actor, permission=Permission.ASSESS_SUITABILITY, workload=workload)
    posted = request.method == "POST"
    # A person without the right gets the refusal of the command, not a form that silently keeps its values.
    form = SuitabilityForm(request.POST if posted else None, workload=workload, editable=may_edit or posted)

    def command() -> HttpResponse:
        save_suitability(
            actor=actor,
            workload_id=workload_id,
            data=form.to_data(),
            expected_sha256=form.expected_sha256,
        )
        messages.success(request, _("Eignung und Bedarf sind gespeichert."))
        return done(request, workload, reverse("workload_suitability", args=[workload_id]))

    def page() -> HttpResponse:
        context = suitability_page.context(workload) | {
            "form": form,
            "workload": workload,
            "may_edit": may_edit,
        }
        context["crumbs"] = [*workload_crumbs(workload), {"label": _("Eignung und Bedarf")}]
        return render(request, "workloads/suitability.html", context)

    return submit(request, form, command, page, _FIELDS) if posted else page()
