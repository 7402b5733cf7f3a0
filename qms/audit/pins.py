"""The pin: a copy of the newest checkpoint in a file outside the database.

A database restored from an older backup, or rewritten, contradicts it; then writes are refused until an
operator has recorded what happened (audit.md, section 6, start-up).
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext as _

from qms.audit import keys, tree
from qms.audit.errors import LogFrozen, NoteInvalid
from qms.audit.models import LogHead
from qms.audit.notes import Head, unverified_head

_verified: set[str] = set()


@dataclass(frozen=True, slots=True)
class PinFinding:
    """How log and pin compare. pinned: size in the pin, 0 without one; size: of the log; problem: German, or ""."""

    pinned: int
    size: int
    problem: str = ""


def path() -> Path:
    """Return the file of the pin of this log."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "_", keys.origin())
    return Path(settings.DATA_DIR) / "pins" / f"{name}.pin"


def write(note: str) -> None:
    """Keep `note` as the pin unless the pin already covers more; the file is replaced as a whole."""
    target = path()
    new = unverified_head(note)
    old = _stored()
    if old is not None and old.size >= new.size:
        return
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        file.write(note)
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(target)


def compare() -> PinFinding:
    """Compare the log with the pin: it must not be shorter, and its root at the pinned size must be the same."""
    size = LogHead.objects.values_list("size", flat=True).first() or 0
    try:
        pin = _stored()
    except NoteInvalid:
        return PinFinding(
            0, size, _("Die Datei des Kontrollpunkts außerhalb der Datenbank ist nicht lesbar.")
        )
    if pin is None:
        return PinFinding(0, size)
    if size < pin.size:
        text = _(
            "Das Audit-Protokoll ist kürzer als ein bereits ausgegebener Nachweis (%(size)d statt %(pinned)d"
            " Ereignisse). Vermutlich wurde eine Sicherung eingespielt."
        )
        return PinFinding(pin.size, size, text % {"size": size, "pinned": pin.size})
    if _fingerprint(pin) not in _verified:
        if tree.root_at(pin.size) != pin.root:
            text = _("Abweichung bis Ereignis %(pinned)d: Inhalt oder Reihenfolge. Freigaben sind gesperrt.")
            return PinFinding(pin.size, size, text % {"pinned": pin.size})
        _verified.add(_fingerprint(pin))
    return PinFinding(pin.size, size)


def pinned_root() -> str | None:
    """Return the root in the pin, in hexadecimal, None without a pin; raises NoteInvalid."""
    pin = _stored()
    return pin.root.hex() if pin else None


def require_intact() -> None:
    """Raise LogFrozen if the log contradicts its pin. Inside an open transaction (tests) nothing is compared."""
    if connection.in_atomic_block:
        return
    finding = compare()
    if finding.problem:
        raise LogFrozen(finding.problem)


def set_aside() -> Head | None:
    """Rename the pin so that it counts no more but is kept, and return what it said."""
    target = path()
    if not target.exists():
        return None
    try:
        pin = _stored()
    except NoteInvalid:
        pin = None
    number = 1
    while (kept := target.with_suffix(f".pin.{number}")).exists():
        number += 1
    target.replace(kept)
    return pin


def _stored() -> Head | None:
    try:
        return unverified_head(path().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise NoteInvalid("the pin is not UTF-8") from error


def _fingerprint(pin: Head) -> str:
    # The database belongs to it: one process of the tests sees several.
    return f"{connection.settings_dict['NAME']} {pin.size} {pin.root.hex()}"
