"""Files addressed by their SHA-256 behind Django's storage: written once, re-hashed whenever they are read."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from qms.core.errors import QmsError

logger = logging.getLogger(__name__)

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_CHUNK_BYTES: Final = 2**20


class StoredFileError(QmsError):
    """Base of the errors of this module; `sha256` names the file."""

    def __init__(self, sha256: str, text: str) -> None:
        super().__init__(text)
        self.sha256 = sha256


class StoredFileMissing(StoredFileError):
    """No file with this digest is in the store."""


class StoredFileChanged(StoredFileError):
    """The stored bytes no longer have the digest they are filed under."""


def put(data: bytes) -> str:
    """Store `data` and return its SHA-256; storing the same bytes again changes nothing.

    A file of that name with other bytes (a write cut short) is replaced: the bytes in hand have the right digest.
    """
    sha256 = hashlib.sha256(data).hexdigest()
    name = name_of(sha256)
    if default_storage.exists(name):
        if _digest(name) == sha256:
            return sha256
        logger.warning("stored file %s was damaged and is written again", sha256)
        default_storage.delete(name)
    saved = default_storage.save(name, ContentFile(data))
    if saved != name:  # another writer was faster with the same bytes
        default_storage.delete(saved)
    _flush(name)
    return sha256


def get(sha256: str) -> bytes:
    """Return the bytes; raises StoredFileMissing or StoredFileChanged."""
    with open_stream(sha256) as stream:
        return stream.read()


def open_stream(sha256: str) -> BinaryIO:
    """Return the file opened for reading, after its digest was checked; raises StoredFileMissing, StoredFileChanged."""
    verify(sha256)
    return cast("BinaryIO", default_storage.open(name_of(sha256), "rb"))


def verify(sha256: str) -> None:
    """Hash the stored file again; raises StoredFileMissing or StoredFileChanged."""
    name = name_of(sha256)
    if not default_storage.exists(name):
        raise StoredFileMissing(sha256, f"expected a stored file {sha256}, got none")
    found = _digest(name)
    if found != sha256:
        raise StoredFileChanged(sha256, f"expected the digest {sha256}, got {found}")


def exists(sha256: str) -> bool:
    """Return whether a file is filed under this digest; its bytes are not looked at."""
    return default_storage.exists(name_of(sha256))


def size_bytes(sha256: str) -> int:
    """Return the size of the stored file; raises StoredFileMissing."""
    if not exists(sha256):
        raise StoredFileMissing(sha256, f"expected a stored file {sha256}, got none")
    return default_storage.size(name_of(sha256))


def path(sha256: str) -> Path:
    """Return the path of the file; NotImplementedError where the storage is no file system."""
    return Path(default_storage.path(name_of(sha256)))


def all_digests() -> Iterator[str]:
    """Yield the digests under which files are stored, in rising order."""
    if not default_storage.exists("sha256"):
        return
    for first in sorted(default_storage.listdir("sha256")[0]):
        for second in sorted(default_storage.listdir(f"sha256/{first}")[0]):
            yield from sorted(
                filter(_SHA256.fullmatch, default_storage.listdir(f"sha256/{first}/{second}")[1])
            )


def name_of(sha256: str) -> str:
    """Return the name of a file in the storage; ValueError unless `sha256` is a digest."""
    if not _SHA256.fullmatch(sha256):
        raise ValueError(f"expected 64 lower-case hexadecimal digits, got {sha256!r}")
    return f"sha256/{sha256[:2]}/{sha256[2:4]}/{sha256}"


def _digest(name: str) -> str:
    state = hashlib.sha256()
    with default_storage.open(name, "rb") as stream:
        for chunk in iter(lambda: stream.read(_CHUNK_BYTES), b""):
            state.update(chunk)
    return state.hexdigest()


def _flush(name: str) -> None:
    """Bring file and folder entries to the disk: the log line that names the digest must not outlive the file."""
    try:
        file_path = Path(default_storage.path(name))
    except NotImplementedError:  # object storage acknowledges only what it keeps
        return
    for target in (file_path, *list(file_path.parents)[:4]):
        handle = os.open(target, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
