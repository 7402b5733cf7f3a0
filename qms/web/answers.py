"""How a view answers: people get a page or a redirect, machines that ask for JSON get JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast

from django import forms
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect

from qms.core.errors import CriterionNotMet
from qms.roles.models import User


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


def submit(
    request: HttpRequest,
    form: forms.BaseForm,
    command: Callable[[], HttpResponse],
    page: Callable[[], HttpResponse],
) -> HttpResponse:
    """Run `command` for a valid form; else, and when a criterion refuses, show `page` again with status 422.

    The values stay in the form. Machines get the field errors, or the body of the refusal.
    """
    if form.is_valid():
        try:
            return command()
        except CriterionNotMet as refusal:
            if wants_json(request):
                raise
            form.add_error(None, refusal.message)
    elif wants_json(request):
        return JsonResponse({"ok": False, "errors": form.errors.get_json_data()}, status=422)
    response = page()
    response.status_code = 422
    return response
