"""The file of a backup: a ZIP without compression, so that nothing in it can be larger than the file itself.

Written under a temporary name, flushed, renamed; read entry by entry against the manifest. A chunk in memory.
"""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final, Self

from django.utils.translation import gettext as _

from qms.core import canonical
from qms.core.archive import UNDATED
from qms.core.backup_manifest import MANIFEST, MANIFEST_DIGEST, Content, Entry, Manifest
from qms.core.backup_parts import BackupRefused

_CHUNK_BYTES: Final = 2**20
_MANIFEST_BYTES: Final = 64 * 2**20  # about 400 000 files
_OVERHEAD_BYTES: Final = 4096
_UNIX: Final = 3
_ENCRYPTED: Final = 0x1
# What zipfile raises for a file that is no ZIP or a broken one.
_BROKEN: Final = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)


class Writer:
    """Writes one archive; `finish` puts it in place, anything else leaves nothing behind."""

    def __init__(self, target: Path) -> None:
        self._target = target
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".teil")  # mode 0600
        self._temporary = Path(name)
        self._file = os.fdopen(descriptor, "w+b")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED)
        self.entries: list[Entry] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_caught: object) -> None:
        with suppress(OSError, ValueError):  # a full disk: what is not finished goes anyway
            self._zip.close()
        with suppress(OSError):
            self._file.close()
        self._temporary.unlink(missing_ok=True)

    def add(self, name: str, source: IO[bytes]) -> None:
        """Copy an open file into the archive."""
        state, size_bytes = hashlib.sha256(), 0
        with self._zip.open(_info(name), "w", force_zip64=True) as entry:
            for chunk in iter(lambda: source.read(_CHUNK_BYTES), b""):
                state.update(chunk)
                size_bytes += len(chunk)
                entry.write(chunk)
        self.entries.append(Entry(name, state.hexdigest(), size_bytes))

    def finish(self, manifest: Manifest) -> str:
        """Write the manifest, flush, rename; returns the digest of the manifest. Raises BackupRefused."""
        data = manifest.dumps()
        sha256 = canonical.sha256_hex(data)
        self._zip.writestr(_info(MANIFEST), data)
        self._zip.writestr(_info(MANIFEST_DIGEST), f"{sha256}\n")
        self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        require_new(self._target)
        self._temporary.replace(self._target)
        flush_folder(self._target.parent)
        return sha256


class Reader:
    """An archive whose frame and manifest have been checked; `extract` checks each file."""

    def __init__(self, archive: zipfile.ZipFile, manifest: Manifest) -> None:
        self.manifest = manifest
        self._zip = archive

    def extract(self, folder: Path) -> None:
        """Write every file below `folder`, flushed, mode 0600; raises BackupRefused for the first that deviates."""
        for entry in self.manifest.entries:
            path = folder / entry.name
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with self._zip.open(entry.name) as source, _created(path) as target:
                    found = _copy(source, target)
            except _BROKEN as error:
                raise BackupRefused(_changed(entry.name)) from error
            if found != (entry.sha256, entry.size_bytes):
                raise BackupRefused(_changed(entry.name))


@contextmanager
def opened(path: Path, content: Content, tops: Collection[str]) -> Iterator[Reader]:
    """Open an archive and check frame and manifest.

    tops: the first parts of names that may occur. Raises BackupRefused.
    """
    try:
        archive = zipfile.ZipFile(path)
    except _BROKEN as error:
        text = _(
            "%(name)s ist keine vollständige Sicherung: abgeschnitten, beschädigt oder eine andere Datei."
        )
        raise BackupRefused(text % {"name": path.name}) from error
    except OSError as error:
        text = _("%(name)s lässt sich nicht lesen (%(error)s).")
        raise BackupRefused(text % {"name": path.name, "error": error.strerror}) from error
    with archive:
        _check_frame(archive, path.stat().st_size)
        manifest = _manifest(archive)
        _check_content(manifest, content, tops)
        listed = {entry.name: entry.size_bytes for entry in manifest.entries}
        present = {info.filename: info.file_size for info in archive.infolist()}
        present.pop(MANIFEST)
        present.pop(MANIFEST_DIGEST)
        if listed != present or len(listed) != len(manifest.entries):
            raise BackupRefused(_("Inhalt und Verzeichnis der Sicherung stimmen nicht überein."))
        yield Reader(archive, manifest)


def require_new(path: Path) -> None:
    """Raise BackupRefused if something of that name is there."""
    if path.exists() or path.is_symlink():
        raise BackupRefused(
            _(
                "%(name)s gibt es schon; Sicherungen werden nicht überschrieben. Nennen Sie einen anderen Namen."
            )
            % {"name": path.name}
        )


def flush_folder(folder: Path) -> None:
    """Bring the entries of a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_frame(archive: zipfile.ZipFile, file_bytes: int) -> None:
    infos = archive.infolist()
    names = {info.filename for info in infos}
    if len(names) != len(infos) or not {MANIFEST, MANIFEST_DIGEST} <= names:
        raise BackupRefused(
            _("Die Datei ist keine Sicherung von AI-QMS: Das Verzeichnis fehlt oder ist doppelt.")
        )
    plain = all(
        info.compress_type == zipfile.ZIP_STORED
        and info.compress_size == info.file_size
        and not info.flag_bits & _ENCRYPTED
        and 0 <= info.header_offset <= file_bytes - info.file_size
        for info in infos
    )
    if not plain or sum(info.file_size for info in infos) > file_bytes:
        raise BackupRefused(_("Die Sicherung enthält gepackte Daten; Sicherungen von AI-QMS sind ungepackt."))


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    if archive.getinfo(MANIFEST).file_size > _MANIFEST_BYTES:
        raise BackupRefused(_("Das Verzeichnis der Sicherung (manifest.json) ist zu groß."))
    if archive.getinfo(MANIFEST_DIGEST).file_size > _OVERHEAD_BYTES:
        raise BackupRefused(_("Das Verzeichnis der Sicherung (manifest.json) wurde verändert."))
    try:
        data, digest = archive.read(MANIFEST), archive.read(MANIFEST_DIGEST)
    except _BROKEN as error:
        raise BackupRefused(_("Das Verzeichnis der Sicherung (manifest.json) wurde verändert.")) from error
    if digest != f"{canonical.sha256_hex(data)}\n".encode():
        raise BackupRefused(_("Das Verzeichnis der Sicherung (manifest.json) wurde verändert."))
    return Manifest.loads(data)


def _check_content(manifest: Manifest, content: Content, tops: Collection[str]) -> None:
    if manifest.content is not content:
        text = {
            Content.DATA: _("Die Datei enthält Schlüssel, keine Daten; geben Sie sie mit --keys an."),
            Content.KEYS: _("Die mit --keys genannte Datei enthält Daten, keine Schlüssel."),
        }
        raise BackupRefused(text[content])
    for entry in manifest.entries:
        if entry.name.partition("/")[0] not in tops:
            raise BackupRefused(
                _("Die Sicherung enthält eine Datei, die nicht hineingehört (%(name)s).")
                % {"name": entry.name}
            )


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, UNDATED)
    info.create_system, info.external_attr = _UNIX, 0o600 << 16
    return info


@contextmanager
def _created(path: Path) -> Iterator[IO[bytes]]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _copy(source: IO[bytes], target: IO[bytes]) -> tuple[str, int]:
    state, size_bytes = hashlib.sha256(), 0
    for chunk in iter(lambda: source.read(_CHUNK_BYTES), b""):
        state.update(chunk)
        size_bytes += len(chunk)
        target.write(chunk)
    return state.hexdigest(), size_bytes


def _changed(name: str) -> str:
    return _("Die Datei %(name)s in der Sicherung wurde verändert; es wurde nichts zurückgespielt.") % {
        "name": name
    }
