"""ZIP files made of stored files: the same content gives the same bytes. Entries are sorted, undated, uncompressed."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Mapping
from typing import IO, BinaryIO, Final

from qms.core import store

UNDATED: Final = (1980, 1, 1, 0, 0, 0)  # the earliest date a ZIP can name
_UNIX: Final = 3  # else the bytes would depend on the machine
_CHUNK_BYTES: Final = 2**20


def write_zip(target: IO[bytes], *, stored: Mapping[str, str], texts: Mapping[str, str]) -> None:
    """Write stored files (name -> SHA-256) and texts (name -> content) as one ZIP into a seekable file.

    Nothing is held in memory but a chunk. Raises StoredFileError for the first stored file that is missing or changed.
    """
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted({*stored, *texts}):
            info = zipfile.ZipInfo(name, UNDATED)
            info.create_system, info.external_attr = _UNIX, 0o644 << 16
            with _open(name, stored, texts) as source, archive.open(info, "w") as entry:
                shutil.copyfileobj(source, entry, _CHUNK_BYTES)


def _open(name: str, stored: Mapping[str, str], texts: Mapping[str, str]) -> BinaryIO:
    return io.BytesIO(texts[name].encode()) if name in texts else store.open_stream(stored[name])
