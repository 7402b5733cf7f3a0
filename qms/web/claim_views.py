"""The claims register: what vendor texts state, and what is known about it (P40)."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from qms.core.errors import NotVisible
from qms.evidence import claims
from qms.evidence.claim_choices import ClaimKind
from qms.evidence.claim_services import update_claim
from qms.roles import guards, matrix
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.web import claim_page
from qms.web.answers import account, done, submit
from qms.web.claim_forms import ClaimForm


@login_required
@require_GET
def register(request: HttpRequest) -> HttpResponse:
    """List every claim with its status and what it rests on."""
    actor = account(request)
    _require_reader(actor)
    entries = claims.register()
    context = {"crumbs": [], "rows": claim_page.rows(entries, actor), "summary": claim_page.summary(entries)}
    return render(request, "claims/list.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def claim(request: HttpRequest, key: str) -> HttpResponse:
    """Show one claim; change its status with a reason."""
    actor = account(request)
    posted = request.method == "POST"
    if posted:
        guards.require(actor=actor, permission=Permission.MAINTAIN_CLAIMS)
    else:
        _require_reader(actor)
    entry = claims.entry(key)
    if entry is None:
        raise NotVisible(_("Diese Aussage steht nicht im Behauptungsregister."))
    form = ClaimForm(request.POST if posted else None, entry=entry, choices=claim_page.choosable(actor))

    def command() -> HttpResponse:
        made = update_claim(
            actor=actor, key=key, change=form.to_change(), longest_months=claim_page.longest_months()
        )
        messages.success(request, _("Der Status der Aussage ist gespeichert."))
        return done(request, made, reverse("claim", args=[key]))

    def page() -> HttpResponse:
        opinion = entry.statement.kind is ClaimKind.OPINION
        may_edit = guards.may(actor=actor, permission=Permission.MAINTAIN_CLAIMS) and not opinion
        context = {"row": claim_page.rows([entry], actor)[0], "form": form, "may_edit": may_edit}
        context["history"] = claim_page.history(entry)
        crumbs = [{"label": _("Behauptungsregister"), "url": reverse("claims")}, {"label": key}]
        return render(request, "claims/claim.html", context | {"opinion": opinion, "crumbs": crumbs})

    return (
        submit(request, form, command, page, {key: "reason", "POL-55": "next_review"}) if posted else page()
    )


def _require_reader(actor: User) -> None:
    """Refuse whoever has no letter in the row of P40, not even one for reading."""
    guards.require(actor=actor, permission=Permission.MAINTAIN_CLAIMS, letters=matrix.ALL_LETTERS)
