"""What the log brings to a backup, and how a restored log is compared with the pin outside the database (audit.md 6)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from django.db import DatabaseError
from django.utils.translation import gettext as _

from qms.audit import checkpoints, keys, pins, tree, verify
from qms.audit.actors import SYSTEM
from qms.audit.door import unit
from qms.audit.errors import AuditError, KeyFileInvalid, LogFrozen
from qms.audit.events import AuditKind
from qms.audit.models import Export, LogHead
from qms.audit.services import export_path
from qms.audit.units import record
from qms.core import backup_parts, formats
from qms.core.backup_parts import BackupRefused, Part, Saved, Source

logger = logging.getLogger(__name__)

_FOLDER: Final = "exports"


def register_own_part() -> None:
    """Register the part of this package."""
    part = Part(
        "audit", _FOLDER, files=exports, facts=facts, saved=record_backup, anchor=pins.path, check=check
    )
    backup_parts.register(part)


def exports() -> Iterator[Source]:
    """List the bundles that are finished and not deleted."""
    for export in Export.objects.filter(deleted_at=None).exclude(sha256=""):
        path = export_path(export)
        yield Source(f"{_FOLDER}/{path.name}", partial(_opened, path))


def facts() -> dict[str, Any]:
    """Sign the log as it stands and return where it is: what is copied afterwards holds at least that much."""
    try:
        checkpoints.sign_now()
    except (AuditError, DatabaseError, OSError) as error:  # a backup is wanted most when something is wrong
        logger.warning("the log could not be signed before the backup: %s", error)
    head = LogHead.objects.get(pk=1)
    root = tree.root_at(head.size).hex()
    return {"origin": keys.origin(), "size": head.size, "root": root, "checkpoint": checkpoints.newest()}


def record_backup(saved: Saved) -> str:
    """Record SICHERUNG_ERSTELLT once the file is in place; a log that takes no events now does not undo it."""
    recorded = {"files": saved.files, "size_bytes": saved.size_bytes, "damaged": len(saved.damaged)}
    try:
        with unit(actor=SYSTEM, action="backup"):
            ref = ("Log", keys.origin())
            record(
                AuditKind.BACKUP_CREATED,
                actor=SYSTEM,
                subject_ref=ref,
                facts=recorded,
                refs=[saved.manifest_sha256],
            )
    except LogFrozen as error:
        return _("Die Sicherung steht nicht im Audit-Protokoll: %(reason)s") % {"reason": error}
    return ""


def check(stated: dict[str, Any], made_at: str) -> list[str]:
    """Verify the restored log, compare it with manifest and pin, and record the restore unless the pin says more.

    stated: what `facts` returned when the backup was made. Raises BackupRefused for a log that deviates.
    """
    _check_origin(stated)
    finding = pins.compare()
    report = verify.check_log()
    if report.problem and report.problem != finding.problem:
        raise BackupRefused(_("Es wurde nichts zurückgespielt. %(problem)s") % {"problem": report.problem})
    if finding.size < stated["size"] or tree.root_at(stated["size"]).hex() != stated["root"]:
        raise BackupRefused(
            _("Das Audit-Protokoll der Sicherung ist nicht das, welches ihr Verzeichnis nennt.")
        )
    _check_keys()
    if finding.size < finding.pinned:
        return _older(finding)
    if finding.problem:
        text = _(
            "Das Audit-Protokoll der Sicherung weicht vom Anker ab; es wurde nichts zurückgespielt. %(problem)s"
        )
        raise BackupRefused(text % {"problem": finding.problem})
    _record_restore(finding, made_at)
    if not finding.pinned:
        return [
            _(
                "Ob Ereignisse fehlen, ist nicht prüfbar: Es liegt kein Anker außerhalb der Datenbank vor (--pin)."
            )
        ]
    text = _(
        "Das Audit-Protokoll stimmt mit dem Anker überein: %(size)d Ereignisse, verankert bis %(pinned)d."
    )
    return [text % {"size": finding.size, "pinned": finding.pinned}]


def _opened(path: Path) -> BinaryIO:
    return path.open("rb")


def _check_origin(stated: dict[str, Any]) -> None:
    if stated.get("origin") != keys.origin():
        text = _(
            "Das Audit-Protokoll heißt in der Sicherung %(theirs)s und hier %(ours)s; setzen Sie QMS_AUDIT_ORIGIN."
        )
        raise BackupRefused(text % {"theirs": stated.get("origin"), "ours": keys.origin()})


def _check_keys() -> None:
    try:
        belongs = keys.file_belongs()
    except KeyFileInvalid as error:
        raise BackupRefused(_("Die Datei des Protokollschlüssels ist nicht lesbar.")) from error
    if not belongs:
        raise BackupRefused(_("Der Protokollschlüssel gehört nicht zu dieser Sicherung."))


def _older(finding: pins.PinFinding) -> list[str]:
    text = _(
        "Das Audit-Protokoll ist älter als der Anker: %(missing)d Ereignisse fehlen (%(size)d statt %(pinned)d)."
    )
    return [
        text % {"missing": finding.pinned - finding.size, "size": finding.size, "pinned": finding.pinned},
        _(
            "Änderungen bleiben gesperrt bis: python manage.py protokoll_bestaetigen --begruendung"
            ' "Sicherung nach Plattenausfall eingespielt"'
        ),
    ]


def _record_restore(finding: pins.PinFinding, made_at: str) -> None:
    recorded = {"size": finding.size, "pinned_size": finding.pinned, "pinned_root": pins.pinned_root()}
    reason = _("Sicherung vom %(time)s zurückgespielt") % {
        "time": formats.moment(datetime.fromisoformat(made_at))
    }
    with unit(actor=SYSTEM, action="restore"):
        ref = ("Log", keys.origin())
        record(
            AuditKind.LOG_RESTORED, actor=SYSTEM, subject_ref=ref, facts=recorded, private={"reason": reason}
        )
