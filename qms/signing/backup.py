"""What the signing keys ask of a restored backup: keys that were put back open the envelopes in the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from qms.core import backup_parts
from qms.core.backup_parts import BackupRefused, Part
from qms.signing import authority
from qms.signing.errors import SigningError
from qms.signing.models import SigningKey


def register_own_part() -> None:
    """Register the part of this package."""
    backup_parts.register(Part("signing", check=check))


def check(_stated: dict[str, Any], _made_at: str) -> list[str]:
    """Open the keys of the authority where the key file was restored; raises BackupRefused if it is another one."""
    if Path(settings.KEK_FILE).exists() and SigningKey.objects.exists():
        try:
            authority.load()
        except SigningError as error:
            raise BackupRefused(_("Die Schlüsseldatei keys/kek gehört nicht zu dieser Sicherung.")) from error
    return []
