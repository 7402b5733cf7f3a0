"""How allauth signs people in here: no self-registration, every sign-in recorded, addresses from the public URL."""

# mypy: allow-subclassing-any, no-warn-return-any
# allauth is not typed.
from __future__ import annotations

import base64
import hashlib
from typing import Any, ClassVar, Final
from urllib.parse import urljoin, urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.authentication import get_authentication_records
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from qms.audit.actors import SYSTEM
from qms.roles import services
from qms.roles.models import User
from qms.roles.services import SignInMethod

PRODUCT: Final = "AI-QMS"
FAILURE_WINDOW_S: Final = 900
_SENT_DIRECTLY: Final = frozenset({"account/email/password_reset_key"})


class AccountAdapter(DefaultAccountAdapter):
    """Sign-in by password; accounts are made by invitation only."""

    error_messages: ClassVar[dict[str, str | Promise]] = {
        **DefaultAccountAdapter.error_messages,
        "account_inactive": gettext_lazy("Dieses Konto ist deaktiviert."),
        "email_password_mismatch": gettext_lazy("E-Mail-Adresse oder Passwort stimmen nicht."),
        "enter_current_password": gettext_lazy("Geben Sie Ihr jetziges Passwort ein."),
        "incorrect_code": gettext_lazy("Der Code stimmt nicht."),
        "incorrect_password": gettext_lazy("Das Passwort stimmt nicht."),
        "invalid_login": gettext_lazy("Die Anmeldung ist ungültig."),
        "invalid_password_reset": gettext_lazy("Der Link zum Zurücksetzen ist ungültig."),
        "rate_limited": gettext_lazy("Zu viele Anfragen. Versuchen Sie es in einigen Minuten erneut."),
        "too_many_login_attempts": gettext_lazy(
            "Zu viele Fehlversuche. Versuchen Sie es in einigen Minuten erneut."
        ),
        "username_password_mismatch": gettext_lazy("Benutzername oder Passwort stimmen nicht."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False: accounts are made by invitation."""
        return False

    def pre_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse | None:
        """Refuse service accounts (SoD-16) and inactive people; else as allauth does."""
        if user.is_service or not user.person.is_active:
            return self.respond_user_inactive(request, user)
        return super().pre_login(request, user, **kwargs)

    def login(self, request: HttpRequest, user: User) -> None:
        """Record the sign-in, then begin the session."""
        services.record_sign_in(actor=user, method=sign_in_method(request, user))
        super().login(request, user)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Let allauth count attempts; record it once per window when it blocks further ones."""
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            account = account_named(credentials)
            if count_attempt("blocked", account) == 1:
                services.record_blocked_sign_in(
                    actor=SYSTEM,
                    account=account,
                    method=SignInMethod.PASSWORD,
                    count=attempts("failed", account),
                    ip=self.get_client_ip(request),
                )
            raise

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Record a wrong password; what was typed as a name is not kept, it may be a password."""
        note_failure(account_named(credentials), SignInMethod.PASSWORD, self.get_client_ip(request))

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Return the reset link under the public URL, whatever host the request named."""
        return urljoin(settings.PUBLIC.url, urlsplit(super().get_reset_password_from_key_url(key)).path)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send the reset link; unknown addresses get nothing, other changes are told by `services.changing_means`."""
        if template_prefix in _SENT_DIRECTLY:
            super().send_mail(template_prefix, email, context)

    def format_email_subject(self, subject: str) -> str:
        """Return the subject as it is, without a site name in front."""
        return subject


class MfaAdapter(DefaultMFAAdapter):
    """Passkeys, TOTP and recovery codes; the relying party comes from the public URL, not from the Host header."""

    error_messages: ClassVar[dict[str, str | Promise]] = {
        **DefaultMFAAdapter.error_messages,
        "cannot_delete_authenticator": gettext_lazy("Diese Bestätigung können Sie nicht entfernen."),
        "cannot_generate_recovery_codes": gettext_lazy(
            "Wiederherstellungscodes gibt es erst mit einem Passkey oder einer Authenticator-App."
        ),
        "incorrect_code": gettext_lazy("Der Code oder Passkey stimmt nicht."),
        "unverified_email": gettext_lazy("Ihre E-Mail-Adresse ist noch nicht bestätigt."),
    }

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """Return id and name of the relying party (WebAuthn)."""
        return {"id": settings.PUBLIC.host, "name": PRODUCT}

    def get_totp_issuer(self) -> str:
        """Return the name that an authenticator app shows."""
        return PRODUCT

    def get_totp_label(self, user: User) -> str:
        """Return the account name that an authenticator app shows."""
        return user.username

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:  # noqa: A002 - allauth's name
        """Return a name for a new passkey."""
        number = Authenticator.objects.filter(user_id=user.pk, type=type).count() + 1
        return _("Passkey %(number)d") % {"number": number}

    def encrypt(self, text: str) -> str:
        """Return a TOTP or recovery secret as it is stored: encrypted under a key of the secret file."""
        return _fernet().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return the secret behind its stored form."""
        return _fernet().decrypt(encrypted_text.encode()).decode()


def sign_in_method(request: HttpRequest, user: User) -> SignInMethod:
    """Return how the account has proved itself in this session so far."""
    seen = {(row.get("method"), row.get("type")) for row in get_authentication_records(request, user)}
    if ("password", None) not in seen:
        return SignInMethod.PASSKEY if ("mfa", "webauthn") in seen else SignInMethod.DEMO
    if ("mfa", "webauthn") in seen:
        return SignInMethod.PASSWORD_AND_PASSKEY
    return SignInMethod.PASSWORD_AND_CODE if any(row[0] == "mfa" for row in seen) else SignInMethod.PASSWORD


def account_named(credentials: dict[str, Any]) -> User | None:
    """Return the account that a sign-in names, or None."""
    if username := credentials.get("username"):
        return User.objects.filter(username__iexact=username).first()
    if email := credentials.get("email"):
        return User.objects.filter(email__iexact=email).order_by("pk").first()
    return None


def note_failure(account: User | None, method: SignInMethod, ip: str) -> None:
    """Record a failed attempt: the first in a window and then each tenth, hundredth ... with the count."""
    count = count_attempt("failed", account)
    if str(count).rstrip("0") == "1":
        services.record_failed_sign_in(actor=SYSTEM, account=account, method=method, count=count, ip=ip)


def count_attempt(kind: str, account: User | None) -> int:
    """Count one more attempt in the current window and return how many there are."""
    key = _counter(kind, account)
    cache.add(key, 0, FAILURE_WINDOW_S)
    try:
        return int(cache.incr(key))
    except ValueError:  # the window ended between the two calls
        cache.set(key, 1, FAILURE_WINDOW_S)
        return 1


def attempts(kind: str, account: User | None) -> int:
    """Return the number of attempts in the current window."""
    return int(cache.get(_counter(kind, account), 0))


def _counter(kind: str, account: User | None) -> str:
    return f"roles.sign_in.{kind}.{account.pk if account else 'unknown'}"


def _fernet() -> Fernet:
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"qms.roles.accounts mfa secrets")
    return Fernet(base64.urlsafe_b64encode(key.derive(hashlib.sha256(settings.SECRET_KEY.encode()).digest())))
