"""The page after login: what waits for the person, what waits for others, and the newest workloads."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from qms.roles import guards, selectors
from qms.roles.permissions import Permission
from qms.web import waiting
from qms.web.answers import account
from qms.workloads.models import Workload

RECENT = 5


@login_required
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Show "Wartet auf mich", "Wartet auf andere" and the newest workloads."""
    actor = account(request)
    rights = guards.prefetch(actor)
    executes = rights.acting_role(Permission.ASSIGN_ROLES, letters=selectors.EXECUTES) is not None
    recent = Workload.objects.visible_to(actor).select_related("owner").order_by("-id")[:RECENT]
    context = {
        "waiting": waiting.of(request),
        "recent": list(recent),
        "may_create": rights.may(Permission.EDIT_WORKLOAD),
        "first_days": executes and selectors.is_bootstrap(),
    }
    return render(request, "start.html", context)
