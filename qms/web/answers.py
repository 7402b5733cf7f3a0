"""How a view answers: people get a page or a redirect, machines that ask for JSON get JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast

from django import forms
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect

from qms.core.errors import CriterionNotMet
from qms.roles.models import User

View = Callable[..., HttpResponse]
AROUND_A_FILE: Final = 2**20
"""What a form may send around its file, in bytes."""


class HasPk(Protocol):
    """An object that can be named in an answer."""

    pk: Any


def account(request: HttpRequest) -> User:
    """Return the account of a view that requires login."""
    return cast("User", request.user)


def wants_json(request: HttpRequest) -> bool:
    """Return whether the caller asks for JSON instead of a page."""
    return "application/json" in request.headers.get("Accept", "")


def done(request: HttpRequest, subject: HasPk, url: str) -> HttpResponse:
    """Answer a successful command: redirect to `url`, or its JSON form."""
    if wants_json(request):
        return JsonResponse({"ok": True, "id": str(subject.pk), "url": url})
    return redirect(url)


def takes_up_to(max_bytes: int) -> Callable[[View], View]:
    """Let a view take larger requests than `MAX_REQUEST_BYTES`: a file of `max_bytes` and what is around it."""

    def mark(view: View) -> View:
        view.max_request_bytes = max_bytes + AROUND_A_FILE  # type: ignore[attr-defined]  # read by RequestSizeMiddleware
        return view

    return mark


def submit(
    request: HttpRequest,
    form: forms.BaseForm,
    command: Callable[[], HttpResponse],
    page: Callable[[], HttpResponse],
    fields: Mapping[str, str] = {},
) -> HttpResponse:
    """Run `command` for a valid form; else, and when a criterion refuses, show `page` again with status 422.

    fields: criterion -> field at which its refusal is said. The values stay in the form. Machines get the field
    errors, or the body of the refusal.
    """
    if form.is_valid():
        try:
            return command()
        except CriterionNotMet as refusal:
            if wants_json(request):
                raise
            form.add_error(fields.get(refusal.id), refusal.message)
    elif wants_json(request):
        return JsonResponse({"ok": False, "errors": form.errors.get_json_data()}, status=422)
    response = page()
    response.status_code = 422
    return response
