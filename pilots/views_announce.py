"""Target runs on a real system: announce, hand in the files, take the announcement back."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from pilots import pages_forecast, pages_start, selectors
from pilots.choices import RunRole, RunValidity
from pilots.forms_announce import AnnounceForm, HandInForm, real_systems
from pilots.forms_import import MAX_SENT_BYTES
from pilots.services import announced
from qms.core.errors import NotVisible
from qms.web.answers import account, done, submit, takes_up_to
from qms.web.workload_views import workload_crumbs
from qms.workloads import selectors as workloads
from qms.workloads.models import Workload

FIELDS: Final = {"EV-02": "file", "EV-04": "file"}  # where a refusal is said


@login_required
@require_http_methods(["GET", "POST"])
def announce(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Announce a run before it starts; the first announcement freezes targets and abort criteria."""
    actor = account(request)
    workload = workloads.get(workload_id, actor=actor)
    form = AnnounceForm(request.POST or None)

    def command() -> HttpResponse:
        platform = form.cleaned_data["platform"]
        run = announced.announce_target(actor=actor, workload_id=workload_id, platform_id=platform.pk)
        messages.success(request, _("Der Lauf ist angekündigt. Die Messung darf jetzt beginnen."))
        return done(request, run, reverse("run", args=[run.pk]))

    def page() -> HttpResponse:
        context = _context(workload, _("Lauf ankündigen")) | {
            "form": form,
            "open_run": selectors.announced(workload),
            "systems": real_systems().exists(),
            "platform_notice": pages_start.platform_notice(workload),
            "blocker": pages_start.blocker_of(workload, RunRole.TARGET),
        }
        return render(request, "pilots/announce.html", context)

    return submit(request, form, command, page) if request.method == "POST" else page()


@takes_up_to(MAX_SENT_BYTES)
@login_required
@require_http_methods(["GET", "POST"])
def hand_in(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Hand in the files of an announced run."""
    actor = account(request)
    found = selectors.get(run_id, actor=actor)
    form = HandInForm(*(request.POST, request.FILES) if request.method == "POST" else ())

    def command() -> HttpResponse:
        run = announced.hand_in_target(actor=actor, run_id=run_id, handed=form.handed)
        if run.validity == RunValidity.INVALID:
            messages.warning(
                request, _("Der Lauf ist ungültig: Die Messung begann vor der Ankündigung (G4-5).")
            )
        else:
            messages.success(request, _("Die Messdateien sind übernommen."))
        return done(request, run, reverse("run", args=[run.pk]))

    def page() -> HttpResponse:
        context = _context(found.workload, _("Messdateien einreichen")) | {"form": form, "run": found}
        return render(request, "pilots/announced_hand_in.html", context)

    return submit(request, form, command, page, FIELDS) if request.method == "POST" else page()


@login_required
@require_POST
def withdraw(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Take an announcement back."""
    run = announced.withdraw_announcement(actor=account(request), run_id=run_id)
    messages.success(request, _("Die Ankündigung ist zurückgenommen."))
    return done(request, run, reverse("run", args=[run.pk]))


@login_required
@require_GET
def forecast(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Each figure of the measured target run beside its forecast; absent until both exist."""
    workload = workloads.get(workload_id, actor=account(request))
    found = pages_forecast.shown(workload)
    if found is None:
        raise NotVisible(
            _(
                "Diese Seite gibt es erst, wenn ein Ziellauf emuliert und auf einem echten System gemessen ist."
            )
        )
    context = _context(workload, _("Prognose gegen Wirklichkeit")) | {"found": found}
    return render(request, "pilots/forecast.html", context)


def _context(workload: Workload, title: str) -> dict[str, Any]:
    return {"workload": workload, "crumbs": [*workload_crumbs(workload), {"label": title, "url": ""}]}
