"""What packages bring to a backup: files beside the database, facts for the manifest, the check after a restore.

`qms.core` knows no package above it; each registers its part in `AppConfig.ready`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from qms.core.errors import QmsError


class BackupRefused(QmsError):
    """A backup cannot be made or restored; the text is one German sentence, and nothing was put in place."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to save. name: below the data folder; open: raises OSError or QmsError if it is missing or damaged."""

    name: str
    open: Callable[[], BinaryIO]


@dataclass(frozen=True, slots=True)
class Saved:
    """A finished backup. manifest_sha256: names it; files: their number; damaged: names of files left out."""

    path: Path
    manifest_sha256: str
    files: int
    size_bytes: int
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """What one package does.

    folder: top of its files below the data folder; files: listed after the database was copied; facts: for the
    manifest, taken before that copy; saved: told afterwards, returns a German sentence or ""; anchor: a file outside
    the database that a restored one is compared with; check: run in the restored installation with the facts and the
    time of the backup, returns German sentences, raises BackupRefused.
    """

    name: str
    folder: str = ""
    files: Callable[[], Iterable[Source]] = tuple
    facts: Callable[[], dict[str, Any]] = dict
    saved: Callable[[Saved], str] = lambda _saved: ""
    anchor: Callable[[], Path | None] = lambda: None
    check: Callable[[dict[str, Any], str], list[str]] = lambda _facts, _made_at: []


_parts: dict[str, Part] = {}


def register(part: Part) -> None:
    """Register a part; the order of registration is the order of work."""
    _parts[part.name] = part


def registered() -> list[Part]:
    """Return the parts in their order."""
    return list(_parts.values())
