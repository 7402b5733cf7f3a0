"""Checking a target run: compute it again here, or take along what an own computer needs. Views hold no rule."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from pilots import pages_proof, selectors
from pilots.services import replays
from qms.core.errors import NotVisible
from qms.web.answers import account, done
from qms.web.downloads import attachment


@login_required
@require_POST
def start(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Compute a target run again from its manifest."""
    replay = replays.start_replay(actor=account(request), run_id=run_id)
    messages.success(request, _("Die Nachrechnung ist gestartet."))
    return done(request, replay, f"{reverse('run', args=[run_id])}#nachrechnen")


@login_required
@require_GET
def progress(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The progress of the newest replay alone, asked for every two seconds; reloads the page once it has ended."""
    replay = selectors.get(run_id, actor=account(request)).replays.select_related("job").first()
    if replay is None:
        raise NotVisible(_("Dieser Lauf wurde noch nicht nachgerechnet."))
    response = render(request, "components/progress.html", pages_proof.progress_of(replay))
    if replay.ended_at is not None:
        response["HX-Refresh"] = "true"
    return response


@login_required
@require_GET
def model_file(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Download the capture a run was computed from; always as an attachment."""
    run, data = replays.retrieve_model_file(actor=account(request), run_id=run_id)
    # Under its digest the command finds it first among the files of a folder.
    return attachment(data, f"{run.parameters['model_file_sha256']}.wgraph", "application/octet-stream")
