"""Pages of people and roles (P36), of the own profile, and of the one-time links.

Who has no letter of P36 gets 404 on the pages; a command that is refused answers with its own status and event.
"""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from qms.audit.actors import SYSTEM
from qms.core import clock
from qms.core.errors import NotVisible
from qms.roles import credentials, guards, links, matrix, selectors, services
from qms.roles.models import Invitation, Person, User
from qms.roles.permissions import Permission
from qms.web.answers import account, done, submit
from qms.web.people_forms import (
    AccountForm,
    FirstRunForm,
    InvitationForm,
    ReasonForm,
    RoleRequestForm,
    ServiceAccountForm,
)

_form_methods = require_http_methods(["GET", "POST"])


@never_cache
@_form_methods
def first_run(request: HttpRequest, token: str) -> HttpResponse:
    """Make the first administrator with the one-time link."""
    link = selectors.first_run_link_by_token(token)
    form = FirstRunForm(request.POST or None)

    def command() -> HttpResponse:
        values = {key: form.cleaned_data[key] for key in ("display_name", "email", "username", "password")}
        made = services.create_first_administrator(actor=SYSTEM, token=token, **values)
        messages.success(request, _("Ihr Konto ist angelegt. Melden Sie sich an."))
        return done(request, made, reverse("account_login"))

    def page() -> HttpResponse:
        is_open = link.used_at is None and link.expires_at > clock.now() and not selectors.has_administrator()
        return render(request, "roles/first_run.html", {"form": form, "is_open": is_open})

    return submit(request, form, command, page) if request.method == "POST" else page()


@never_cache
@_form_methods
def accept(request: HttpRequest, token: str) -> HttpResponse:
    """Make the account of an invited person."""
    invitation = selectors.invitation_by_token(token)
    form = AccountForm(request.POST or None)
    actor = account(request) if request.user.is_authenticated else SYSTEM

    def command() -> HttpResponse:
        values = {key: form.cleaned_data[key] for key in ("username", "password")}
        made = services.accept_invitation(actor=actor, token=token, **values)
        messages.success(request, _("Ihr Konto ist angelegt. Melden Sie sich an."))
        return done(request, made, reverse("account_login"))

    def page() -> HttpResponse:
        unused = invitation.accepted_at is None and invitation.expires_at > clock.now()
        is_open = unused and invitation.person.is_active
        if is_open:
            selectors.require_invited(actor, invitation)
        context = {"form": form, "person": invitation.person, "is_open": is_open}
        return render(request, "roles/accept.html", context)

    return submit(request, form, command, page) if request.method == "POST" else page()


@require_GET
@login_required
def people_list(request: HttpRequest) -> HttpResponse:
    """Show all people and the open role requests; during the first days everybody sees the requests."""
    actor = account(request)
    bootstrap = selectors.is_bootstrap()
    reads = _reads(actor)
    if not reads and not bootstrap:
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie haben keinen Zugang."))
    context = {
        "people": selectors.people() if reads else [],
        "reads": reads,
        "requests": selectors.open_requests(),
        "bootstrap": bootstrap,
        "executes": _executes(actor),
        "own_person": actor.person,
        "may_confirm": bootstrap or _confirms(actor),
    }
    return render(request, "roles/people.html", context)


@_form_methods
@login_required
def invite(request: HttpRequest) -> HttpResponse:
    """Invite a new person."""
    actor = account(request)
    form = InvitationForm(request.POST or None)

    def command() -> HttpResponse:
        values = {key: form.cleaned_data[key] for key in ("display_name", "email")}
        invitation = services.invite_person(actor=actor, **values)
        _tell_link(request, invitation)
        return done(request, invitation, reverse("people_detail", args=[invitation.person_id]))

    def page() -> HttpResponse:
        if not _executes(actor):
            raise NotVisible(_("Diese Seite gibt es nicht, oder Sie haben keinen Zugang."))
        return render(request, "roles/invite.html", {"form": form})

    return submit(request, form, command, page) if request.method == "POST" else page()


@require_GET
@login_required
def detail(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Show one person: roles with what stands against each, accounts, forms to change them."""
    return _detail_page(request, person_id, RoleRequestForm())


@require_POST
@login_required
def request_role(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Ask for a role to be granted to or revoked from the person."""
    form = RoleRequestForm(request.POST)

    def command() -> HttpResponse:
        made = services.request_role(
            actor=account(request),
            person_id=person_id,
            role=form.chosen_role,
            action=form.chosen_action,
            reason=form.cleaned_data["reason"],
        )
        messages.success(request, _("Beantragt. Eine zweite Person muss die Änderung bestätigen."))
        return done(request, made, reverse("people_detail", args=[person_id]))

    return submit(request, form, command, lambda: _detail_page(request, person_id, form))


@require_POST
@login_required
def confirm(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """Confirm a role request as the second person."""
    made = services.confirm_role(actor=account(request), request_id=request_id)
    messages.success(request, _("Bestätigt. Die Änderung gilt ab sofort."))
    return done(request, made, _next_to_confirm(request))


@require_POST
@login_required
def reject(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """Reject a role request or take back the own one."""
    reason = request.POST.get("reason", "")[:1000]
    made = services.reject_role(actor=account(request), request_id=request_id, reason=reason)
    messages.success(request, _("Der Antrag ist abgelehnt. Die Rollen bleiben, wie sie sind."))
    return done(request, made, _next_to_confirm(request))


@require_POST
@login_required
def invite_account(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Send a recorded person a link for its first or a further account."""
    invitation = services.invite_account(actor=account(request), person_id=person_id)
    _tell_link(request, invitation)
    return done(request, invitation, reverse("people_detail", args=[person_id]))


@require_POST
@login_required
def service_account(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """Register a service account that counts as this person."""
    form = ServiceAccountForm(request.POST)

    def command() -> HttpResponse:
        made = services.register_service_account(
            actor=account(request), username=form.cleaned_data["username"], person_id=person_id
        )
        return done(request, made, reverse("people_detail", args=[person_id]))

    return submit(
        request, form, command, lambda: _detail_page(request, person_id, RoleRequestForm(), service_form=form)
    )


@require_POST
@login_required
def switch_account(request: HttpRequest, account_id: int, *, active: bool) -> HttpResponse:
    """Deactivate or reactivate an account."""
    command = services.reactivate_account if active else services.deactivate_account
    form = ReasonForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    changed = command(actor=account(request), account_id=account_id, reason=reason)
    return done(request, changed, reverse("people_detail", args=[changed.person_id]))


@require_GET
@login_required
def profile(request: HttpRequest) -> HttpResponse:
    """Show the own person, roles and means to sign in, and the choice of language."""
    actor = account(request)
    context = {
        "person": actor.person,
        "roles": guards.roles_of(actor),
        "passkeys": credentials.passkeys_of(actor),
        "accounts": actor.person.accounts.filter(is_active=True),
    }
    return render(request, "roles/profile.html", context)


def _detail_page(
    request: HttpRequest,
    person_id: UUID,
    form: RoleRequestForm,
    service_form: ServiceAccountForm | None = None,
) -> HttpResponse:
    actor = account(request)
    person = selectors.people().filter(pk=person_id).first() if _reads(actor) else None
    if person is None:
        raise NotVisible(_("Diese Person gibt es nicht."))
    context = {
        "person": person,
        "roles": _role_rows(person),
        "form": form,
        "service_form": service_form or ServiceAccountForm(),
        "executes": _executes(actor),
        "is_self": person.pk == actor.person_id,
        "requests": [row for row in selectors.open_requests() if row.subject_id == person.pk],
    }
    return render(request, "roles/person.html", context)


def _role_rows(person: Person) -> list[dict[str, object]]:
    held = selectors.roles_of(person)
    rows: list[dict[str, object]] = []
    for role in selectors.available_roles():
        conflict = None if role in held else selectors.conflict_of(person, role)
        rows.append({"role": role, "held": role in held, "conflict": conflict})
    return rows


def _reads(actor: User) -> bool:
    return _has_letter(actor, matrix.ALL_LETTERS)


def _next_to_confirm(request: HttpRequest) -> str:
    """The list of people; the start page for somebody who sees it no longer, as the first days end with this."""
    seen = selectors.is_bootstrap() or _reads(account(request))
    return reverse("people_list" if seen else "start")


def _executes(actor: User) -> bool:
    return _has_letter(actor, selectors.EXECUTES)


def _confirms(actor: User) -> bool:
    return _has_letter(actor, selectors.CONFIRMS)


def _has_letter(actor: User, letters: matrix.Letters) -> bool:
    return guards.prefetch(actor).acting_role(Permission.ASSIGN_ROLES, letters=letters) is not None


def _tell_link(request: HttpRequest, invitation: Invitation) -> None:
    """Say that the mail is on its way; without a mail server show the link, which has to be handed over then."""
    if links.mail_configured():
        messages.success(request, _("Die Einladung ist unterwegs. Der Link gilt 7 Tage und einmal."))
        return
    url = links.public_url("people_accept", links.invitation_token(invitation.pk))
    text = _("Es ist kein Mailserver eingerichtet. Geben Sie diesen Link persönlich weiter: %(url)s")
    messages.success(request, _("Die Einladung ist angelegt. Der Link gilt 7 Tage und einmal."))
    messages.warning(request, text % {"url": url})
