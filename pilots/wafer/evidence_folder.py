"""Files by their SHA-256 from a folder of evidence, whatever they are called there: a bundle, a download, the store."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from pilots.graph.capture.limits import LIMITS

MAX_FILES: Final = 100_000
MAX_NAMED: Final = 5  # other captures that a refusal names
CAPTURE: Final = ".wgraph"


class NotInFolder(KeyError):
    """No file has the digest; `others` are the captures seen there instead, as pairs of name and SHA-256."""

    def __init__(self, sha256: str, others: tuple[tuple[str, str], ...]) -> None:
        super().__init__(sha256)
        self.others = others


def folder(path: Path) -> Callable[[str], bytes]:
    """Return a function from a SHA-256 to the bytes of the file that has it; it raises NotInFolder if none does.

    Files whose path holds the digest come first; those larger than a capture may be, and unreadable ones, are passed over.
    """
    files: list[Path] = []

    def fetch(sha256: str) -> bytes:
        if not files:
            files.extend(_files(path))
        others: list[tuple[str, str]] = []
        for file in sorted(files, key=lambda item: sha256 not in "".join(item.parts)):
            try:
                data = _bytes(file)
            except OSError:
                continue
            if data is None:
                continue
            digest = hashlib.sha256(data).hexdigest()
            if digest == sha256:
                return data
            if file.suffix == CAPTURE:
                others.append((file.name, digest))
        raise NotInFolder(sha256, tuple(others[:MAX_NAMED]))

    return fetch


def _files(path: Path) -> Iterator[Path]:
    count = 0
    for root, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            count += 1
            if count > MAX_FILES:
                return
            yield Path(root, name)


def _bytes(file: Path) -> bytes | None:
    """Return the content of a regular file of a size that a capture may have."""
    if not file.is_file() or file.stat().st_size > LIMITS["file_bytes"].most:
        return None
    return file.read_bytes()
