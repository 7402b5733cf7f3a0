"""System checks: settings this product refuses to run with, whatever the reason they were given for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

SQLITE = "django.db.backends.sqlite3"


@register
def check_database(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse settings under which an acknowledged event can be lost or two writers collide (stack.md 5)."""
    database = settings.DATABASES["default"]
    options = database.get("OPTIONS", {})
    found: list[CheckMessage] = []
    if settings.DATABASES["default"].get("ATOMIC_REQUESTS"):
        found.append(Error("ATOMIC_REQUESTS ist an.", hint="Ein Befehl ist die Transaktion.", id="qms.E001"))
    if database["ENGINE"] == SQLITE:
        found += _check_sqlite(options)
    elif "synchronous_commit=off" in str(options.get("options", "")).replace(" ", ""):
        found.append(Error("synchronous_commit ist aus.", hint="Auf on lassen.", id="qms.E004"))
    return found


@register
def check_origin_check(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse passkeys without origin check outside tests: the setting switches the check off altogether."""
    if settings.MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN and "pytest" not in sys.modules:
        text = "MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN ist an: Die Herkunft von Passkeys würde nicht geprüft."
        return [Error(text, hint="Ausschalten; localhost braucht es nicht.", id="qms.E005")]
    return []


def _check_sqlite(options: dict[str, Any]) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    pragmas = {part.strip().upper() for part in str(options.get("init_command", "")).split(";")}
    if "PRAGMA SYNCHRONOUS=FULL" not in pragmas and "PRAGMA SYNCHRONOUS=EXTRA" not in pragmas:
        hint = "PRAGMA synchronous=FULL in init_command setzen."
        found.append(
            Error("SQLite kann bestätigte Ereignisse bei Stromausfall verlieren.", hint=hint, id="qms.E002")
        )
    if options.get("transaction_mode") != "IMMEDIATE":
        hint = "transaction_mode auf IMMEDIATE setzen."
        found.append(
            Error("SQLite-Transaktionen können sich gegenseitig abbrechen.", hint=hint, id="qms.E003")
        )
    return found
