"""Answers that no view gives: a refusal raised by a command, and a request that is too large to be read."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve
from django.utils.translation import gettext as _

from qms.audit.services import record_refusal
from qms.core.errors import NotVisible, Refusal
from qms.web.answers import account, wants_json

GetResponse = Callable[[HttpRequest], HttpResponse]


class RequestSizeMiddleware:
    """Refuses a body above the limit before anything reads it: reading an upload would fill the disk first."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer 413 by what the client announces; without a length the server hands no body on."""
        announced = request.headers.get("Content-Length") or "0"
        most = settings.MAX_REQUEST_BYTES
        if announced.isdecimal() and int(announced) > most:
            most = _own_limit(request) or most
        if not announced.isdecimal() or int(announced) > most:
            text = _("Die Anfrage ist größer als %(size)d MiB.") % {"size": most // 2**20}
            return HttpResponse(text, status=413, content_type="text/plain; charset=utf-8")
        return self.get_response(request)


def _own_limit(request: HttpRequest) -> int:
    """Return the limit that a view sets for itself (`answers.takes_up_to`), 0 if none; only for the signed-in."""
    try:
        view = resolve(request.path_info).func
    except Resolver404:
        return 0
    return getattr(view, "max_request_bytes", 0) if request.user.is_authenticated else 0


class RefusalMiddleware:
    """Answers `Refusal` with its status, its sentence and its next step (spec 3.5.4)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer a refusal, with its event if no command has left one; every other exception goes its way."""
        if not isinstance(exception, Refusal):
            return None
        match = request.resolver_match
        if request.user.is_authenticated and match is not None:
            action = match.url_name or "page"
            record_refusal(exception, actor=account(request), action=action, arguments=match.kwargs)
        return refusal_response(request, exception)


def refusal_response(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """Return the answer to a refusal: the body of spec 3.5.4 as JSON, or a page."""
    if wants_json(request):
        return JsonResponse(refusal.body(), status=refusal.http_status)
    template = "404.html" if isinstance(refusal, NotVisible) else "refusal.html"
    return render(request, template, {"refusal": refusal}, status=refusal.http_status)
