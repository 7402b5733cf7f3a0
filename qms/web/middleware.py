"""Turns a refusal raised by a command into its answer: JSON for machines, a page for people."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from qms.core.errors import NotVisible, Refusal


class RefusalMiddleware:
    """Answers `Refusal` with its status, its sentence and its next step (spec 3.5.4)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer a refusal; every other exception goes its way."""
        if not isinstance(exception, Refusal):
            return None
        return refusal_response(request, exception)


def refusal_response(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """Return the answer to a refusal: the body of spec 3.5.4 as JSON, or a page."""
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse(refusal.body(), status=refusal.http_status)
    template = "404.html" if isinstance(refusal, NotVisible) else "refusal.html"
    return render(request, template, {"refusal": refusal}, status=refusal.http_status)
