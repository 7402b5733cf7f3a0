"""The page "Vergleich" of a workload: reads, decides nothing."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from pilots import pages_comparison
from qms.web.answers import account
from qms.web.workload_views import workload_crumbs
from qms.workloads import selectors as workloads


@login_required
@require_GET
def comparison(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Baseline and target side by side, with the verdict on top if there is one."""
    workload = workloads.get(workload_id, actor=account(request))
    crumbs = [*workload_crumbs(workload), {"label": _("Vergleich"), "url": ""}]
    context = {"workload": workload, "crumbs": crumbs, **pages_comparison.page(workload)}
    return render(request, "pilots/comparison.html", context)
