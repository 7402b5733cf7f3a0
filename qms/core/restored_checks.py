"""What has to hold in restored data before they are put in place."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.utils.translation import gettext as _

from qms.core import backup_parts, installation, schema
from qms.core.backup_parts import BackupRefused


def run(parts: dict[str, dict[str, Any]], made_at: str) -> list[str]:
    """Check file, schema, mode and every part; returns German sentences, raises BackupRefused or WrongMode."""
    _check_file()
    sentences = []
    missing = schema.missing()
    if missing:
        call_command("migrate", verbosity=0, interactive=False)
        sentences.append(_("%(count)d Schritte des Schemas wurden nachgeholt.") % {"count": len(missing)})
    installation.check_mode()
    _end_sessions()
    for part in backup_parts.registered():
        sentences += part.check(parts.get(part.name, {}), made_at)
    return sentences


def _check_file() -> None:
    if connection.vendor != "sqlite":
        return
    try:
        with connection.cursor() as cursor:
            found = str(cursor.execute("PRAGMA integrity_check").fetchone()[0])
    except DatabaseError as error:
        found = str(error)
    if found != "ok":
        raise BackupRefused(_("Die Datenbank der Sicherung ist beschädigt (%(error)s).") % {"error": found})


def _end_sessions() -> None:
    """End all sessions: those that were signed out since the backup would live again."""
    if apps.is_installed("django.contrib.sessions"):
        apps.get_model("sessions", "Session").objects.all().delete()
