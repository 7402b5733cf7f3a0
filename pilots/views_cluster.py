"""The page "GPU-Cluster": ask what GPUs would do and see the answer. Nothing is stored, nothing becomes evidence."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from pilots import pages_cluster
from pilots.catalog import cluster as questions
from pilots.forms_cluster import ClusterForm
from pilots.views_emulator import EXAMPLE
from qms.web.answers import submit, wants_json


@login_required
@require_http_methods(["GET", "POST"])
def cluster(request: HttpRequest) -> HttpResponse:
    """Ask for a model, connected GPUs and a load; the answer stands on the same page."""
    initial = {"config": EXAMPLE} if "beispiel" in request.GET else {}
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    form = ClusterForm(*sent, initial=initial)

    def command() -> HttpResponse:
        assert form.found is not None
        if wants_json(request):
            return JsonResponse(pages_cluster.as_json(form.found))
        return _page(request, form, pages_cluster.answer(form.found))

    def page() -> HttpResponse:
        return _page(request, form, None)

    return submit(request, form, command, page) if request.method == "POST" else page()


def _page(request: HttpRequest, form: ClusterForm, answer: dict[str, Any] | None) -> HttpResponse:
    shown = answer["topology"] if answer else pages_cluster.topology(questions.TOPOLOGIES[questions.FIRST], 0)
    return render(request, "pilots/cluster.html", {"form": form, "answer": answer, "topology": shown})
