"""Screens 4 (Vergleichsbasis) and 5 (Emulation), and the page of a run. Views hold no rule."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from pilots import (
    catalog,
    pages,
    pages_forecast,
    pages_import,
    pages_measured,
    pages_proof,
    pages_start,
    selectors,
)
from pilots import pages_blocks as blocks
from pilots.catalog import wafer_map
from pilots.catalog.wafer_map import View
from pilots.choices import RunRole, RunSource
from pilots.forms import BaselineForm, TargetForm, own_machine
from pilots.forms_import import MAX_SENT_BYTES
from pilots.models import Run
from pilots.services import handed_in, results, runs
from qms.core.errors import NotVisible
from qms.roles.models import User
from qms.web.answers import account, done, submit, takes_up_to
from qms.web.workload_views import workload_crumbs
from qms.workloads import selectors as workloads
from qms.workloads.models import Workload


@takes_up_to(MAX_SENT_BYTES)
@login_required
@require_http_methods(["GET", "POST"])
def baseline(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Screen 4: measure on this machine, or hand in a benchmark file."""
    actor = account(request)
    workload = workloads.get(workload_id, actor=actor)
    form = BaselineForm(*(request.POST, request.FILES) if request.method == "POST" else ())

    def command() -> HttpResponse:
        if form.cleaned_data["look"]:
            return page(_look(form, workload, actor))
        if form.measures_here:
            run = runs.start_baseline(actor=actor, workload_id=workload_id, platform_id=own_machine().pk)
        else:
            run = results.import_baseline(
                actor=actor,
                workload_id=workload_id,
                platform_id=form.cleaned_data["platform"].pk,
                files=form.cleaned_data["file"],
                number=form.cleaned_data["number"],
            )
        messages.success(request, _("Die Vergleichsbasis ist angelegt."))
        return done(request, run, reverse("run", args=[run.pk]))

    def page(found: dict[str, Any] | None = None) -> HttpResponse:
        context = _context(workload, _("Vergleichsbasis"), RunRole.BASELINE) | {
            "form": form,
            "found": found,
            "not_here": pages_start.measures_here_refused(workload),
        }
        return render(request, "pilots/baseline.html", context)

    return submit(request, form, command, page) if request.method == "POST" else page()


@login_required
@require_http_methods(["GET", "POST"])
def target(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Screen 5: choose the machine and start; the start freezes targets and abort criteria."""
    actor = account(request)
    workload = workloads.get(workload_id, actor=actor)
    form = TargetForm(request.POST or None, workload=workload)

    def command() -> HttpResponse:
        platform = form.cleaned_data["platform"]
        run = runs.start_target(actor=actor, workload_id=workload_id, platform_id=platform.pk)
        messages.success(request, _("Die Emulation ist gestartet."))
        return done(request, run, reverse("run", args=[run.pk]))

    def page() -> HttpResponse:
        context = _context(workload, _("Emulation"), RunRole.TARGET) | {
            "form": form,
            "announced": selectors.announced(workload),
            "platform_notice": pages_start.platform_notice(workload),
        }
        return render(request, "pilots/target.html", context)

    return submit(request, form, command, page) if request.method == "POST" else page()


@login_required
@require_GET
def run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """One run: progress while it lasts, then values, curve, causes, map, ways, listing."""
    actor = account(request)
    found = selectors.get(run_id, actor=actor)
    view = blocks.view_of(request.GET.get("ansicht"))
    context = _run_context(found, view) | {"replay": pages_proof.replay_of(found, actor)}
    return render(request, "pilots/run.html", context)


@login_required
@require_GET
def run_progress(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The progress part alone, asked for every two seconds; reloads the page once the run has ended."""
    found = selectors.get(run_id, actor=account(request))
    response = render(request, "components/progress.html", pages.progress_of(found))
    if found.exit_state:
        response["HX-Refresh"] = "true"
    return response


@login_required
@require_POST
def cancel(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Ask for the end of a run."""
    found = runs.cancel_run(actor=account(request), run_id=run_id)
    messages.success(request, _("Der Abbruch ist angefordert."))
    return done(request, found, reverse("run", args=[found.pk]))


@login_required
@require_GET
def run_map(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The wafer map of a target run in the view asked for: SRAM use per field, as PNG."""
    found = selectors.get(run_id, actor=account(request))
    if found.source != RunSource.EMULATOR or not found.exit_state:
        raise NotVisible(_("Diese Karte gibt es nicht."))
    view = blocks.view_of(request.GET.get("ansicht"))
    png = wafer_map.tiles_png(catalog.run_tiles(found.platform.key, found.parameters, view), view)
    return HttpResponse(png, content_type="image/png")


def _look(form: BaselineForm, workload: Workload, actor: User) -> dict[str, Any]:
    """Return what was recognised in the files of a valid form; nothing is stored."""
    handed_in.check_may_hand_in(actor=actor, workload_id=workload.pk)
    given = form.cleaned_data
    read = handed_in.read(
        given["file"], workload=workload, platform=given["platform"], number=given["number"]
    )
    return pages_import.recognised(read)


def _context(workload: Workload, title: str, role: RunRole) -> dict[str, Any]:
    """Return what both screens show: why no run may start stands there before a button would refuse."""
    latest = selectors.latest(workload, role.value)
    return {
        "workload": workload,
        "crumbs": [*workload_crumbs(workload), {"label": title, "url": ""}],
        "latest": latest,
        "blocker": pages_start.blocker_of(workload, role),
        "running": pages_start.running(latest),
    }


def _run_context(found: Run, view: View) -> dict[str, Any]:
    return {
        "run": found,
        "workload": found.workload,
        "crumbs": [*workload_crumbs(found.workload), {"label": str(RunRole(found.role).label), "url": ""}],
        "metrics": pages.metrics_of(found),
        "progress": pages.progress_of(found),
        "chart": pages.latency_chart(found),
        "notices": pages.notices_of(found),
        "summary": found.summary,
        "cv": pages.spread_of(found),
        "cv_axes": pages.axes_of_spread(found),
        "equivalence": pages_proof.equivalence_of(found),
        "porting": pages_proof.porting_of(found),
        "lineage": pages_proof.lineage_of(found),
        "machine": pages.machine_of(found),
        "measured": pages_measured.measured_of(found),
        "causes": pages.causes_of(found),
        "limits": pages.limits_of(found),
        "files": pages_import.files_of(found),
        "forecast_url": pages_forecast.url_of(found) if found.announced_at else "",
        "ways": pages.ways_of(found),
        "map": pages.map_of(found, view),
    }
