"""The page "Kosten und Auslastung": what a person enters, and what follows from it. Views hold no rule."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from pilots import pages_costs
from pilots.forms_costs import CostsForm
from pilots.services import costs
from pilots.services.costs import Ground
from qms.core import clock, store
from qms.core.errors import CriterionNotMet
from qms.roles import guards
from qms.roles.permissions import Permission
from qms.web import evidence_costs
from qms.web.answers import account, done, submit
from qms.web.evidence_page import axes_of
from qms.web.workload_views import workload_crumbs
from qms.workloads import selectors as workloads
from qms.workloads.models import Workload


@login_required
@require_http_methods(["GET", "POST"])
def sheet(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Show the cost sheet with its result, and take a new one."""
    actor = account(request)
    workload = workloads.get(workload_id, actor=actor)
    item = costs.costs_evidence(workload)
    facts = pages_costs.facts_of(item)
    ground, blocked = _ground(workload)
    form = _form(request, workload, facts, ground)

    def command() -> HttpResponse:
        made = costs.enter_costs(actor=actor, workload_id=workload_id, entry=form.to_entry())
        messages.success(request, _("Kostenblatt und Nachfrage sind eingetragen."))
        return done(request, made, reverse("pilot_costs", args=[workload_id]))

    def page() -> HttpResponse:
        rights = guards.prefetch(actor, [workload])
        may = rights.acting_role(Permission.EDIT_TCO_SHEET, workload, costs.ENTERS) is not None
        context: dict[str, Any] = {
            "workload": workload,
            "crumbs": [*workload_crumbs(workload), {"label": _("Kosten und Auslastung"), "url": ""}],
            "item": item,
            "shown": evidence_costs.shown(facts, axes_of(item)) if item and facts else None,
            "shares": pages_costs.computed_shares(ground) if ground else [],
            "stale": pages_costs.stale(facts, ground) if ground else [],
            "blocked": blocked,
            "ground": ground,
            "no_factor": evidence_costs.no_factor(),
            "form": form,
            "prices": pages_costs.prices(),
            "may_enter": may and ground is not None,
        }
        return render(request, "pilots/costs.html", context)

    return submit(request, form, command, page) if request.method == "POST" else page()


def _ground(workload: Workload) -> tuple[Ground | None, str]:
    """Return what a sheet stands on, else why there can be none yet."""
    try:
        return costs.ground_of(workload), ""
    except CriterionNotMet as refusal:
        return None, refusal.message
    except store.StoredFileError:
        return None, _("Die Datei einer Messung fehlt, oder ihre Prüfsumme stimmt nicht mehr.")


def _form(
    request: HttpRequest, workload: Workload, facts: dict[str, Any], ground: Ground | None
) -> CostsForm:
    entry = pages_costs.entry_of(facts)
    initial = pages_costs.initial_of(entry) if entry else pages_costs.proposal(workload)
    return CostsForm(
        request.POST if request.method == "POST" else None,
        months=pages_costs.months_before(timezone.localdate(clock.now())),
        initial=initial,
        proposed=() if entry or request.method == "POST" else initial.keys(),
        measured=ground.measured(entry.volume_per_unit) if ground and entry else {},
    )
