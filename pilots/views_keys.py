"""The page "Messschlüssel": which keys sign measurements, registering one, revoking one. Views hold no rule."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from pilots import selectors
from pilots.forms_keys import MeasuringKeyForm
from pilots.services import measuring_keys
from qms.roles import guards
from qms.roles.permissions import Permission
from qms.web.answers import account, done, submit


@login_required
@require_http_methods(["GET", "POST"])
def keys(request: HttpRequest) -> HttpResponse:
    """List the keys a person may see, and take the registration line of another."""
    actor = account(request)
    form = MeasuringKeyForm(request.POST or None)

    def command() -> HttpResponse:
        values = form.cleaned_data
        key = measuring_keys.register_key(actor=actor, card=values["card"], label=values["label"])
        messages.success(request, _("Der Schlüssel ist registriert."))
        return done(request, key, reverse("measuring_keys"))

    def page() -> HttpResponse:
        context = {
            "crumbs": [{"label": _("Messschlüssel"), "url": ""}],
            "form": form,
            "keys": selectors.measuring_keys(actor),
            "own_person": actor.person,
            "may_register": guards.may(actor=actor, permission=Permission.START_BASELINE_RUN),
        }
        return render(request, "pilots/keys.html", context)

    return submit(request, form, command, page, {"P12": "card"}) if request.method == "POST" else page()


@login_required
@require_POST
def revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """End a key."""
    key = measuring_keys.revoke_key(actor=account(request), key_id=key_id)
    messages.success(request, _("Der Schlüssel ist widerrufen."))
    return done(request, key, reverse("measuring_keys"))
