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
from qms.web.answers import AROUND_A_FILE, account, wants_json

GetResponse = Callable[[HttpRequest], HttpResponse]


class TooLarge(Refusal):
    """The body of a request is above the limit and was not read."""

    http_status = 413


class RequestSizeMiddleware:
    """Refuses a body above the limit before anything reads it: reading an upload would fill the disk first."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer 413 by what the client announces; without a length the server hands no body on."""
        announced = request.headers.get("Content-Length") or "0"
        length = int(announced) if announced.isdecimal() else None
        if length is not None and length <= settings.MAX_REQUEST_BYTES:
            return self.get_response(request)
        own = _own_limit(request)
        if length is None or length > own:
            return _too_large(request, own)
        return self.get_response(request)


def _too_large(request: HttpRequest, own: int) -> HttpResponse:
    """Return the page with one sentence: the limit of the file where the page takes one, else that of any request."""
    text = (
        _("Die Datei ist größer als %(size)d\u00a0MiB. Bitte wählen Sie eine kleinere.")
        if own
        else _("Die Anfrage ist größer als %(size)d\u00a0MiB. Bitte senden Sie weniger auf einmal.")
    )
    size = (own - AROUND_A_FILE if own else settings.MAX_REQUEST_BYTES) // 2**20
    refusal = TooLarge(text % {"size": size})
    if wants_json(request):
        return JsonResponse(refusal.body(), status=413)
    return render(request, "refusal.html", {"refusal": refusal, "form_url": request.path}, status=413)


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
    place = request.resolver_match.kwargs if request.resolver_match else {}
    context = {"refusal": refusal, "workload_id": place.get("workload_id")}
    return render(request, template, context, status=refusal.http_status)
