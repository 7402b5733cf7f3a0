"""Parts of pages that htmx asks for: an expired sign-in answers with a header, so no login page lands in a fragment."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url

View = Callable[..., HttpResponse]


def fragment(view: View) -> View:
    """Require a signed-in account; a fragment without one sends the whole page to the login."""
    guarded = login_required(view)

    @wraps(view)
    def run(request: HttpRequest, **places: Any) -> HttpResponse:
        if request.headers.get("HX-Request") and not request.user.is_authenticated:
            response = HttpResponse(status=401)
            response["HX-Redirect"] = resolve_url(settings.LOGIN_URL)
            return response
        return guarded(request, **places)

    return run
