"""Putting a backup into an empty folder: everything is checked beside it first, then put in place by one rename."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext as _

from qms.core import backup_database, backup_parts, canonical, formats, installation, schema
from qms.core.backup import KEY_TOPS, SECRET_KEY
from qms.core.backup_archive import flush_folder, opened
from qms.core.backup_manifest import Content, Manifest
from qms.core.backup_parts import BackupRefused

_SPARE_BYTES: Final = 64 * 2**20


def restore(archive: Path, into: Path, *, keys: Path | None = None, anchor: Path | None = None) -> list[str]:
    """Restore a backup into the empty folder `into` and return what was found, in German.

    keys: archive of the keys; anchor: file outside the database to compare with, else that of this process. With
    PostgreSQL the database of this process is filled, which must be empty. Raises BackupRefused, OSError; then
    folder and database are as before.
    """
    into = into.absolute()
    _require_empty(into)
    tops = {*backup_database.FILE_NAMES.values(), *(part.folder for part in backup_parts.registered())}
    with (
        opened(archive, Content.DATA, tops) as data,
        tempfile.TemporaryDirectory(dir=into.parent, prefix=f".{into.name}-") as beside,
    ):
        _require_fit(data.manifest, into.parent)
        house = Path(beside) / "daten"
        house.mkdir(mode=0o700)
        data.extract(house)
        if keys is not None:
            with opened(keys, Content.KEYS, KEY_TOPS) as found:
                found.extract(house)
        _lay_anchors(house, anchor)
        with _database(house, data.manifest):
            sentences = _checked(house, data.manifest)
            _put_in_place(house, into)
    return [*_remarks(data.manifest, with_keys=keys is not None), *sentences]


def _require_empty(into: Path) -> None:
    if not into.parent.is_dir():
        raise BackupRefused(_("Den Ordner %(path)s gibt es nicht; legen Sie ihn an.") % {"path": into.parent})
    if into.is_symlink() or (into.exists() and not into.is_dir()):
        raise BackupRefused(_("%(path)s ist kein Ordner.") % {"path": into})
    # The start of this command leaves a secret key in the data folder it is told.
    if into.is_dir() and {path.name for path in into.iterdir()} - {SECRET_KEY}:
        text = _(
            "%(path)s ist nicht leer; eine Sicherung kommt nur in einen leeren Ordner. Benennen Sie den alten um."
        )
        raise BackupRefused(text % {"path": into})


def _require_fit(manifest: Manifest, folder: Path) -> None:
    if manifest.database != connection.vendor:
        text = _("Die Sicherung stammt aus %(theirs)s, eingestellt ist %(ours)s; stellen Sie QMS_DB um.")
        raise BackupRefused(text % {"theirs": manifest.database, "ours": connection.vendor})
    if manifest.mode != installation.started_mode():
        text = _(
            "Die Sicherung stammt aus der Betriebsart %(theirs)s, gestartet ist %(ours)s; prüfen Sie DEMO."
        )
        raise BackupRefused(text % {"theirs": manifest.mode, "ours": installation.started_mode().value})
    newer = schema.unknown_of(manifest.migrations)
    if newer:
        text = _("Die Sicherung stammt von einem neueren Programm (%(name)s); spielen Sie sie dort zurück.")
        raise BackupRefused(text % {"name": newer[0]})
    needed = sum(entry.size_bytes for entry in manifest.entries) + _SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        text = _("In %(path)s sind %(free)d MB frei, die Sicherung braucht %(needed)d MB.")
        raise BackupRefused(text % {"path": folder, "free": free // 2**20, "needed": needed // 2**20})


def _lay_anchors(house: Path, named: Path | None) -> None:
    """Copy what the restored database is compared with into the new folder, where it stays."""
    for part in backup_parts.registered():
        own = part.anchor()
        if own is None:
            continue
        source = named or own
        if named is not None and not named.is_file():
            raise BackupRefused(_("%(path)s ist keine Datei; nennen Sie den Anker selbst.") % {"path": named})
        if source.is_file():
            target = house / own.relative_to(settings.DATA_DIR)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o600)


@contextmanager
def _database(house: Path, manifest: Manifest) -> Iterator[None]:
    dump = house / backup_database.FILE_NAMES[manifest.database]
    if not dump.is_file():
        raise BackupRefused(_("Die Sicherung enthält keine Datenbank."))
    with backup_database.loaded(dump) if manifest.database == "postgresql" else nullcontext():
        if manifest.database == "postgresql":
            dump.unlink()
        yield


def _checked(house: Path, manifest: Manifest) -> list[str]:
    """Check the restored data in a process that runs on them, as the next start will."""
    before = {path.name for path in house.iterdir()}
    order = canonical.dumps({"parts": manifest.parts, "made_at": manifest.made_at})
    command = ["env", f"QMS_DATA={house}", sys.executable, "-m", "qms.core.restored"]
    done = subprocess.run(command, cwd=settings.BASE_DIR, input=order, capture_output=True, check=False)
    answer = _answer(done)
    if answer["problem"]:
        raise BackupRefused(str(answer["problem"]))
    for path in house.iterdir():  # a start makes a secret key where there is none
        if path.name not in before:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return [str(sentence) for sentence in answer["sentences"]]


def _answer(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return dict(canonical.loads(lines[-1]))
    reason = (done.stderr.decode(errors="replace").strip().splitlines() or [str(done.returncode)])[-1]
    raise BackupRefused(
        _("Die zurückgespielten Daten ließen sich nicht prüfen: %(reason)s") % {"reason": reason}
    )


def _put_in_place(house: Path, into: Path) -> None:
    own_secret = into / SECRET_KEY
    if own_secret.exists():
        if (house / SECRET_KEY).exists():
            own_secret.unlink()
        else:
            own_secret.replace(house / SECRET_KEY)
    os.replace(house, into)  # noqa: PTH105 - an empty folder may stand there
    flush_folder(into.parent)


def _remarks(manifest: Manifest, *, with_keys: bool) -> list[str]:
    found = [
        _(
            "Sicherung vom %(time)s, Programm %(version)s, %(count)d Dateien: jede hat den verzeichneten Prüfwert."
        )
        % {
            "time": formats.moment(datetime.fromisoformat(manifest.made_at)),
            "version": manifest.product,
            "count": len(manifest.entries),
        }
    ]
    if manifest.damaged:
        text = _("Schon beim Sichern fehlten oder waren beschädigt: %(names)s.")
        found.append(text % {"names": ", ".join(manifest.damaged)})
    if not with_keys:
        found.append(
            _(
                "Schlüssel wurden nicht zurückgespielt: Legen Sie keys/ und secret_key aus Ihrer Schlüsselsicherung in"
                " den Ordner, bevor Sie den Dienst starten."
            )
        )
    return found
