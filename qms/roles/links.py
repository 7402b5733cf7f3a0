"""One-time links: tokens are never stored, only their digest; addresses come from the one public URL."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import Final
from urllib.parse import urljoin
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from django.utils.crypto import salted_hmac

_NO_SERVER: Final = ("console.EmailBackend", "dummy.EmailBackend")
INVITATION_LIFETIME: Final = timedelta(days=7)
FIRST_RUN_LIFETIME: Final = timedelta(hours=24)


def mail_configured() -> bool:
    """Return whether links leave by a mail server; without one somebody has to hand them over."""
    return not settings.EMAIL_BACKEND.endswith(_NO_SERVER)


def random_token() -> str:
    """Return a new token of 256 random bits."""
    return secrets.token_urlsafe(32)


def invitation_token(invitation_id: UUID) -> str:
    """Return the token of an invitation, derived from the secret key, so that the mail job needs no stored token."""
    return salted_hmac("qms.roles.invitation", invitation_id.hex, algorithm="sha256").hexdigest()


def token_sha256(token: str) -> str:
    """Return the stored form of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def public_url(url_name: str, *args: str) -> str:
    """Return the absolute address of a page under the public URL."""
    return urljoin(settings.PUBLIC.url, reverse(url_name, args=args))
