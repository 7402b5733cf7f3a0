"""allauth's pages where this product adds something: events in the same transaction, demo logins, the public URL."""

# mypy: allow-subclassing-any, no-warn-return-any
# allauth is not typed.
from __future__ import annotations

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.views import (
    LoginView,
    PasswordChangeView,
    PasswordResetDoneView,
    PasswordResetFromKeyView,
    PasswordResetView,
    PasswordSetView,
)
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.views import AddWebAuthnView, LoginWebAuthnView, RemoveWebAuthnView
from csp.decorators import csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from qms.core import installation
from qms.roles import accounts, links, selectors, services
from qms.roles.models import User
from qms.roles.services import SignInMethod


class Login(LoginView):
    """Sign-in page; names a wrong host instead of looping, and offers logins by role in a demo."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the public address if the request came another way, and the demo logins."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        context["public_url"] = "" if _came_by_public_url(self.request) else settings.PUBLIC.url
        context["demo_logins"] = selectors.demo_logins() if installation.is_demo() else []
        return context

    def get_form(self, form_class: Any = None) -> Any:
        """Ask by the words that the other pages use."""
        form = super().get_form(form_class)
        form.fields["login"].label = _("Benutzername oder E-Mail-Adresse")
        for name in ("login", "password"):
            form.fields[name].widget.attrs.pop("placeholder", None)
        if not _reset_offered():
            form.fields["password"].help_text = ""
        return form


class SecondFactor(AuthenticateView):
    """Second step of a sign-in by password."""

    def form_invalid(self, form: Any) -> HttpResponse:
        """Record the failed attempt and show the page again."""
        method = (
            SignInMethod.PASSWORD_AND_CODE if "code" in form.fields else SignInMethod.PASSWORD_AND_PASSKEY
        )
        accounts.note_failure(self.stage.login.user, method, get_adapter().get_client_ip(self.request))
        return super().form_invalid(form)


class PasskeyLogin(LoginWebAuthnView):
    """Sign-in by passkey without a name."""

    def form_invalid(self, form: Any) -> HttpResponse:
        """Record the failed attempt and go back to the sign-in page."""
        accounts.note_failure(None, SignInMethod.PASSKEY, get_adapter().get_client_ip(self.request))
        return super().form_invalid(form)


class RecordedChange:
    """Runs the change of allauth's page and its events in one transaction."""

    request: HttpRequest

    def form_valid(self, form: Any) -> HttpResponse:
        """Change and record; both or neither."""
        with services.changing_means(actor=self.person_account()):
            return super().form_valid(form)  # type: ignore[misc]

    def person_account(self) -> User:
        """Return the account whose means change."""
        assert isinstance(self.request.user, User)
        return self.request.user


class AddPasskey(RecordedChange, AddWebAuthnView):
    """Enrol a passkey."""


class RemovePasskey(RecordedChange, RemoveWebAuthnView):
    """Remove a passkey."""


# The QR code is an SVG in a data: address; only this page allows it.
@method_decorator(csp_update({"img-src": ["data:"]}), name="dispatch")
class ActivateTotp(RecordedChange, ActivateTOTPView):
    """Set up an authenticator app."""


class DeactivateTotp(RecordedChange, DeactivateTOTPView):
    """Remove the authenticator app."""


class GenerateCodes(RecordedChange, GenerateRecoveryCodesView):
    """Make new recovery codes."""


class ChangePassword(RecordedChange, PasswordChangeView):
    """Change the password."""


class SetPassword(RecordedChange, PasswordSetView):
    """Set a first password."""


class ByMail:
    """Pages of a new password by mail; there are none in a real installation without a mail server."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer 404 where no link can have reached anybody."""
        if not _reset_offered():
            raise Http404
        return super().dispatch(request, *args, **kwargs)  # type: ignore[misc]


class RequestReset(ByMail, PasswordResetView):
    """Ask for the link."""


class ResetRequested(ByMail, PasswordResetDoneView):
    """Say that the link is on its way."""


class ResetPassword(ByMail, RecordedChange, PasswordResetFromKeyView):
    """Set a new password with the link from the mail."""

    def person_account(self) -> User:
        """Return the account named by the link."""
        assert isinstance(self.reset_user, User)
        return self.reset_user


@require_POST
def demo_login(request: HttpRequest, account_id: int) -> HttpResponse:
    """Sign in as one of the demo's people without a password; there is no such page outside a demo."""
    offered = selectors.demo_logins() if installation.is_demo() else []
    if account_id not in {row.account_id for row in offered}:
        raise Http404
    get_adapter().login(request, User.objects.get(pk=account_id))
    return redirect(settings.LOGIN_REDIRECT_URL)


def no_page(request: HttpRequest) -> HttpResponse:
    """Answer 404: addresses are kept with the person, not changed by allauth's page."""
    raise Http404


def _reset_offered() -> bool:
    return links.mail_configured() or installation.is_demo()


def _came_by_public_url(request: HttpRequest) -> bool:
    return f"{request.scheme}://{request.get_host()}" == settings.PUBLIC.origin
