"""`manifest.json` of a backup: what is in it, made when and by what. Canonical JSON, with its digest beside it."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from django.utils.translation import gettext as _

from qms.core import canonical
from qms.core.backup_parts import BackupRefused

SCHEMA: Final = "ai-qms-backup/1"
MANIFEST: Final = "manifest.json"
MANIFEST_DIGEST: Final = "manifest.sha256"
_NAME: Final = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}/){0,8}[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class Content(StrEnum):
    """What an archive holds. The two never lie in one file: who has both can seal and sign the log."""

    DATA = "DATEN"
    KEYS = "SCHLUESSEL"


NOTES: Final = {
    Content.DATA: "Enthält keine privaten Schlüssel im Klartext, aber alle Daten. Nur für den Betrieb lesbar ablegen.",
    Content.KEYS: "Enthält PRIVATE SCHLÜSSEL im Klartext. Getrennt von der Datensicherung und unter Verschluss aufbewahren.",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of the archive; name: where it lies below the data folder."""

    name: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive says of itself.

    product: version; mode: demo or real; database: engine; migrations: by app; parts: facts by part, true of the time
    just before the copy; entries: every file; damaged: files that were missing or damaged and are not in it.
    """

    content: Content
    made_at: str
    product: str
    mode: str
    database: str
    migrations: dict[str, list[str]]
    parts: dict[str, dict[str, Any]]
    entries: tuple[Entry, ...]
    damaged: tuple[str, ...] = ()

    def dumps(self) -> bytes:
        """Return the canonical bytes."""
        value = asdict(self) | {
            "schema": SCHEMA,
            "private_keys": self.content is Content.KEYS,
            "note": NOTES[self.content],
        }
        return canonical.dumps(value)

    @classmethod
    def loads(cls, data: bytes) -> Manifest:
        """Read a manifest; raises BackupRefused unless it has exactly the form that `dumps` writes."""
        try:
            value = canonical.loads(data)
            if value.get("schema") != SCHEMA:
                raise BackupRefused(
                    _("Diese Sicherung hat ein Format, das dieses Programm nicht kennt (%(schema)s).")
                    % {"schema": value.get("schema")}
                )
            found = cls._from(value)
            same = found.dumps() == data
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BackupRefused(
                _("Das Verzeichnis der Sicherung (manifest.json) ist nicht lesbar.")
            ) from error
        if not same:
            raise BackupRefused(_("Das Verzeichnis der Sicherung (manifest.json) wurde verändert."))
        return found

    @classmethod
    def _from(cls, value: dict[str, Any]) -> Manifest:
        entries = tuple(Entry(item["name"], item["sha256"], item["size_bytes"]) for item in value["entries"])
        for entry in entries:
            _check_entry(entry)
        return cls(
            content=Content(value["content"]),
            made_at=value["made_at"],
            product=value["product"],
            mode=value["mode"],
            database=value["database"],
            migrations=value["migrations"],
            parts=value["parts"],
            entries=entries,
            damaged=tuple(value["damaged"]),
        )


def _check_entry(entry: Entry) -> None:
    if not _NAME.fullmatch(entry.name):
        raise BackupRefused(
            _("Die Sicherung enthält einen unzulässigen Dateinamen (%(name)s).")
            % {"name": ascii(entry.name)[:80]}
        )
    if not _SHA256.fullmatch(entry.sha256) or type(entry.size_bytes) is not int or entry.size_bytes < 0:
        raise ValueError(f"{entry.name}: digest or size is malformed")
