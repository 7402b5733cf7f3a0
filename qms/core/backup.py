"""Making a backup while the service runs: database, stored files, parts of the packages, manifest; keys apart."""

from __future__ import annotations

import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext as _

from qms.core import backup_database, backup_parts, clock, installation, schema, store
from qms.core.backup_archive import Writer, require_new
from qms.core.backup_manifest import Content, Manifest
from qms.core.backup_parts import BackupRefused, Part, Saved, Source
from qms.core.errors import QmsError

KEY_FOLDER: Final = "keys"
SECRET_KEY: Final = "secret_key"  # noqa: S105 - the name of a file
KEY_TOPS: Final = (KEY_FOLDER, SECRET_KEY)
_SPARE_BYTES: Final = 64 * 2**20


def target_path(named: Path, suffix: str = "") -> Path:
    """Return the file to write: `named` itself, or a file named after the time in the folder `named`."""
    if named.is_dir():
        return named / f"ai-qms-{clock.now():%Y%m%dT%H%M%SZ}{suffix}.zip"
    return named


def make(target: Path) -> Saved:
    """Write a backup without keys to `target`, which must not exist yet. Raises BackupRefused, OSError."""
    _require_place(target)
    if installation.stored_mode() is None:
        raise BackupRefused(_("Die Datenbank ist noch nicht eingerichtet; es gibt nichts zu sichern."))
    facts = {part.name: part.facts() for part in backup_parts.registered()}
    with (
        tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as folder,
        Writer(target) as archive,
    ):
        _require_space(target.parent, backup_database.size_bytes())
        copy = backup_database.copy_to(Path(folder))
        sources = [source for part in backup_parts.registered() for source in part.files()]
        with copy.open("rb") as stream:
            archive.add(copy.name, stream)
        copy.unlink()
        damaged = _add_all(archive, _add_all(archive, sources))
        missing = tuple(source.name for source in damaged)
        sha256 = archive.finish(_manifest(Content.DATA, archive, facts, missing))
    return Saved(target, sha256, len(archive.entries), target.stat().st_size, missing)


def tell(saved: Saved) -> list[str]:
    """Tell the parts that a backup is finished and return what they have to say, in German."""
    return [text for part in backup_parts.registered() if (text := part.saved(saved))]


def make_keys(target: Path, beside: Path) -> Saved:
    """Write the private keys to a file of their own, away from the backup `beside`. Raises BackupRefused, OSError."""
    _require_place(target)
    if target.parent.resolve() == beside.parent.resolve():
        raise BackupRefused(
            _("Schlüssel und Daten gehören nicht in denselben Ordner; nennen Sie mit --keys einen anderen.")
        )
    data = Path(settings.DATA_DIR)
    paths = [data / SECRET_KEY, *sorted((data / KEY_FOLDER).glob("*"))]
    with Writer(target) as archive:
        for path in filter(Path.is_file, paths):
            with path.open("rb") as stream:
                archive.add(str(path.relative_to(data)), stream)
        if not archive.entries:
            raise BackupRefused(_("Im Datenordner liegt kein Schlüssel, der sich sichern ließe."))
        sha256 = archive.finish(_manifest(Content.KEYS, archive, {}, ()))
    return Saved(target, sha256, len(archive.entries), target.stat().st_size)


def stored_files() -> Iterator[Source]:
    """List every file of the store."""
    for sha256 in store.all_digests():
        yield Source(f"files/{store.name_of(sha256)}", partial(store.open_stream, sha256))


def register_own_part() -> None:
    """Register the files of the store."""
    backup_parts.register(Part("store", folder="files", files=stored_files))


def _add_all(archive: Writer, sources: list[Source]) -> list[Source]:
    """Add files and return those that are missing or damaged: one just being written is whole at the second try."""
    failed = []
    for source in sources:
        try:
            stream = source.open()
        except (QmsError, OSError):
            failed.append(source)
            continue
        with stream:
            archive.add(source.name, stream)
    return failed


def _manifest(
    content: Content, archive: Writer, facts: dict[str, dict[str, object]], damaged: tuple[str, ...]
) -> Manifest:
    project = tomllib.loads((Path(settings.BASE_DIR) / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    return Manifest(
        content=content,
        made_at=clock.timestamp(clock.now()),
        product=project["version"],
        mode=str(installation.stored_mode()),
        database=connection.vendor,
        migrations=schema.applied(),
        parts=facts,
        entries=tuple(archive.entries),
        damaged=damaged,
    )


def _require_place(target: Path) -> None:
    if not target.parent.is_dir():
        raise BackupRefused(
            _("Den Ordner %(path)s gibt es nicht; legen Sie ihn an.") % {"path": target.parent}
        )
    require_new(target)


def _require_space(folder: Path, database_bytes: int) -> None:
    files = sum(source_bytes for source_bytes in map(store.size_bytes, store.all_digests()))
    needed, free = 3 * database_bytes + files + _SPARE_BYTES, shutil.disk_usage(folder).free
    if free < needed:
        text = _("In %(path)s sind %(free)d MB frei, die Sicherung braucht %(needed)d MB.")
        raise BackupRefused(text % {"path": folder, "free": free // 2**20, "needed": needed // 2**20})
