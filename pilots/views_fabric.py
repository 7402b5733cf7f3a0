"""The page "Takt für Takt": watch wavelets move in a small fabric. Nothing is stored, nothing becomes evidence."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from pilots import pages_fabric
from pilots.forms_fabric import FabricForm


@login_required
@require_GET
def fabric(request: HttpRequest) -> HttpResponse:
    """Run a kernel on a few elements and show one of its cycles; a question that makes no sense gets status 422."""
    form = FabricForm(request.GET)
    context = {"form": form, "shows": pages_fabric.shows(request.GET.get("ablauf", ""))}
    if form.is_valid() and form.seen is not None:
        context |= pages_fabric.page(form.seen, form.query(), request.GET.get("takt"))
    status = 422 if form.errors else 200
    return render(request, "pilots/fabric.html", context, status=status)
