"""The page "Portierung": what porting the model takes, and the person days a person states. Views hold no rule."""

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

from pilots import pages_porting, selectors
from pilots.forms_porting import EffortForm
from pilots.services import porting
from qms.core import store
from qms.evidence.models import EvidenceItem
from qms.roles import guards
from qms.roles.permissions import Permission
from qms.web.answers import account, done, submit
from qms.web.workload_views import workload_crumbs
from qms.workloads import selectors as workloads


@login_required
@require_http_methods(["GET", "POST"])
def effort(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Show the porting report of the last target run and take the person days."""
    actor = account(request)
    workload = workloads.get(workload_id, actor=actor)
    item = selectors.porting_evidence(workload)
    facts = _facts(item)
    form = EffortForm(request.POST or None, entered=pages_porting.entered(facts))

    def command() -> HttpResponse:
        made = porting.enter_effort(actor=actor, workload_id=workload_id, efforts=form.efforts)
        messages.success(request, _("Der Portierungsaufwand ist eingetragen."))
        return done(request, made, reverse("pilot_porting", args=[workload_id]))

    def page() -> HttpResponse:
        context = {
            "workload": workload,
            "crumbs": [*workload_crumbs(workload), {"label": _("Portierung"), "url": ""}],
            "item": item,
            "shown": pages_porting.shown(facts) if facts else None,
            "form": form,
            "may_enter": guards.prefetch(actor, [workload]).may(Permission.START_TARGET_RUN, workload),
        }
        return render(request, "pilots/porting.html", context)

    return submit(request, form, command, page) if request.method == "POST" else page()


def _facts(item: EvidenceItem | None) -> dict[str, Any]:
    """Return the report, {} where there is none or its file is damaged; then the page of the evidence says so."""
    try:
        return item.facts() if item else {}
    except store.StoredFileError:
        return {}
