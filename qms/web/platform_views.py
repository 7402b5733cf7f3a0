"""Platforms and the organisation: what is recorded there once, and the forms to record it (spec 3.7.5)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from qms.core.errors import NotVisible
from qms.evidence import holders, selectors
from qms.evidence.choices import EvidenceType
from qms.gates import services as gates
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.web import platform_page
from qms.web.answers import account, done, submit, takes_up_to
from qms.web.platform_page import KINDS, Kind
from qms.workloads.models import Organisation, PlatformProfile

Holder = PlatformProfile | Organisation


@login_required
@require_GET
def platforms(request: HttpRequest) -> HttpResponse:
    """List all platforms: kind, in use or emulated, what is recorded and until when."""
    selectors.check_sees_holders(account(request))
    may = guards.may(actor=account(request), permission=Permission.CONFIGURE_SYSTEM)
    context = {"crumbs": [], "table": platform_page.platform_rows(), "may_add": may}
    return render(request, "platforms/list.html", context)


@login_required
@require_GET
def platform(request: HttpRequest, platform_id: UUID) -> HttpResponse:
    """Show one platform: its tuple, its parameters, what is recorded."""
    actor = account(request)
    found = _platform(platform_id, actor)
    context = {
        "platform": found,
        "facts": platform_page.platform_facts(found),
        "parameters": platform_page.parameters(found),
        "sections": platform_page.sections(found, actor),
        "may_edit": platform_page.may_edit(found, actor),
        "crumbs": _crumbs(found),
    }
    return render(request, "platforms/platform.html", context)


@login_required
@require_GET
def organisation(request: HttpRequest) -> HttpResponse:
    """Show what is recorded at the organisation."""
    actor = account(request)
    found = _organisation(actor)
    context = {
        "organisation": found,
        "sections": platform_page.sections(found, actor),
        "crumbs": _crumbs(found),
    }
    return render(request, "platforms/organisation.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def levels(request: HttpRequest, platform_id: UUID) -> HttpResponse:
    """Assess the three levels of a platform (EV-19, P16)."""
    return _record(request, EvidenceType.LEVELS, platform_id)


@takes_up_to(holders.MAX_FILE_BYTES)
@login_required
@require_http_methods(["GET", "POST"])
def offer(request: HttpRequest, platform_id: UUID) -> HttpResponse:
    """Record offer, contract and way out (EV-20, P17)."""
    return _record(request, EvidenceType.OFFER, platform_id)


@login_required
@require_http_methods(["GET", "POST"])
def environment(request: HttpRequest, platform_id: UUID) -> HttpResponse:
    """Fill the environment checklist (EV-26, P14)."""
    return _record(request, EvidenceType.ENVIRONMENT, platform_id)


@login_required
@require_http_methods(["GET", "POST"])
def capability(request: HttpRequest) -> HttpResponse:
    """Fill the capability matrix of the organisation (EV-27, P14)."""
    return _record(request, EvidenceType.CAPABILITY)


def _record(request: HttpRequest, code: EvidenceType, platform_id: UUID | None = None) -> HttpResponse:
    actor, kind = account(request), KINDS[code]
    holders.check_may_record(actor=actor, kind=code)
    holder = _platform(platform_id, actor) if platform_id else _organisation(actor)
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    facts = platform_page.last_facts(holder, code)
    form = kind.form(*sent, facts=facts, latest=platform_page.latest_day())
    back = _address(holder)

    def command() -> HttpResponse:
        made = holders.record_at_holder(
            actor=actor,
            holder_id=holder.pk,
            recording=form.recording(),
            longest=gates.policy().span("POL-60", "max"),
        )
        messages.success(request, _("Gespeichert. Es gilt, sobald eine andere Person es geprüft hat."))
        return done(request, made, back)

    def page() -> HttpResponse:
        return render(request, "platforms/record.html", _form_context(kind, holder, form, back))

    return submit(request, form, command, page) if request.method == "POST" else page()


def _form_context(kind: Kind, holder: Holder, form: Any, back: str) -> dict[str, Any]:
    crumbs = [*_crumbs(holder)[:-1], {"label": str(holder), "url": back}, {"label": kind.title}]
    return {"kind": kind, "holder": holder, "form": form, "back": back, "crumbs": crumbs}


def _address(holder: Holder) -> str:
    """Return the page of a platform or of the organisation."""
    if isinstance(holder, PlatformProfile):
        return reverse("platform", args=[holder.pk])
    return reverse("organisation")


def _crumbs(holder: Holder) -> list[dict[str, str]]:
    return [{"label": _("Plattformen"), "url": reverse("platforms")}, {"label": str(holder)}]


def _platform(platform_id: UUID, actor: User) -> PlatformProfile:
    return selectors.holder(PlatformProfile, platform_id, actor=actor)


def _organisation(actor: User) -> Organisation:
    selectors.check_sees_holders(actor)
    found = Organisation.objects.first()
    if found is None:
        raise NotVisible(_("Die Organisation ist noch nicht eingerichtet."))
    return found
