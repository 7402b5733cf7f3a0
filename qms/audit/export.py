"""The audit bundle: one BagIt 1.0 ZIP (RFC 8493) whose parts come from a registry of writers.

A writer gets the snapshot and yields (path below data/, chunks of bytes). Hashes and manifests are made here.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from qms.audit import checkpoints, keys
from qms.audit.errors import AuditError
from qms.audit.notes import unverified_head
from qms.core import clock

_PATH: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What an export shows: the first `size` events under the checkpoint `note`.

    with_disclosures: whether clear text of salted commitments is permitted; looked: called between files, may
    raise to end the export.
    """

    size: int
    note: str
    with_disclosures: bool
    at: datetime
    purpose: str = ""
    requested_by: str = ""
    looked: Callable[[], None] = field(default=lambda: None, repr=False)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A finished bundle file. sha256: of the ZIP; log_size: events in it."""

    path: Path
    sha256: str
    size_bytes: int
    log_size: int


Part = tuple[str, Iterable[bytes]]
Writer = Callable[[Snapshot], Iterator[Part]]
_writers: list[Writer] = []


def register_part(writer: Writer) -> Writer:
    """Register a writer of parts, in `AppConfig.ready`; the order of registration is the order in the ZIP."""
    if writer not in _writers:
        _writers.append(writer)
    return writer


def build_bundle(
    path: Path,
    *,
    with_disclosures: bool = False,
    purpose: str = "",
    requested_by: str = "",
    looked: Callable[[], None] = lambda: None,
) -> Bundle:
    """Write the bundle of the whole log to `path` and return what it is; must not be called inside a unit.

    The log is signed first, so the newest checkpoint covers every event in the bundle. Two writers of one path,
    or a path outside the bag, raise AuditError.
    """
    note = checkpoints.sign_now()
    size = unverified_head(note).size
    snapshot = Snapshot(size, note, with_disclosures, clock.now(), purpose, requested_by, looked)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    bag = re.sub(r"[^A-Za-z0-9.-]+", "_", keys.origin())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        _Bag(archive, f"nachweis-{bag}-{size}", snapshot).write()
    return Bundle(path, _sha256_of(path), path.stat().st_size, size)


class _Bag:
    """Writes the files one after the other and keeps their hashes."""

    def __init__(self, archive: zipfile.ZipFile, name: str, snapshot: Snapshot) -> None:
        self._archive, self._name, self._snapshot = archive, name, snapshot
        self._hashes: dict[str, str] = {}
        self._octets = 0

    def write(self) -> None:
        """Write all parts, then the tag files over them."""
        for writer in _writers:
            for path, chunks in writer(self._snapshot):
                self._snapshot.looked()
                if not _PATH.fullmatch(path) or len(path) > 200:
                    raise AuditError(
                        f"{path!r} is no path for a bundle: letters, digits, dot, dash, underscore"
                    )
                self._file(f"data/{path}", chunks)
        payload = dict(self._hashes)
        tags = {
            "bagit.txt": "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
            "bag-info.txt": self._info(len(payload)),
            "manifest-sha256.txt": _manifest(payload),
        }
        for name, text in tags.items():
            self._file(name, [text.encode()])
        tagged = {name: self._hashes[name] for name in tags}
        self._file("tagmanifest-sha256.txt", [_manifest(tagged).encode()])

    def _info(self, files: int) -> str:
        snapshot = self._snapshot
        rows = {
            "Bagging-Date": snapshot.at.date().isoformat(),
            "Payload-Oxum": f"{self._octets}.{files}",
            "External-Identifier": self._name,
            "QMS-Protokoll": keys.origin(),
            "QMS-Ereignisse": str(snapshot.size),
            "QMS-Umfang": "gesamtes Protokoll",
            "QMS-Offenlegungen": "enthalten" if snapshot.with_disclosures else "nicht enthalten",
            "QMS-Angefordert-von": snapshot.requested_by,
            "QMS-Zweck": " ".join(snapshot.purpose.split()),
        }
        return "".join(f"{key}: {value}\n" for key, value in rows.items() if value)

    def _file(self, name: str, chunks: Iterable[bytes]) -> None:
        if name in self._hashes:
            raise AuditError(f"two writers want to write {name}")
        digest = hashlib.sha256()
        moment = self._snapshot.at.timetuple()[:6]
        info = zipfile.ZipInfo(f"{self._name}/{name}", moment)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o644 << 16
        with self._archive.open(info, "w", force_zip64=True) as file:
            for chunk in chunks:
                digest.update(chunk)
                file.write(chunk)
                self._octets += len(chunk)
        self._hashes[name] = digest.hexdigest()


def _manifest(hashes: dict[str, str]) -> str:
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
