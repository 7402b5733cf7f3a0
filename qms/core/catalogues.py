"""Builds the binary message catalogues that Django reads: `python -m qms.core.catalogues`. Django-free, needs no gettext."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

LOCALE: Final = Path(__file__).resolve().parent.parent / "locale"


def build(folder: Path = LOCALE) -> list[Path]:
    """Write each `.mo` that is missing or older than its `.po`; returns what was written."""
    written = []
    for source in sorted(folder.glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
            continue
        with source.open("rb") as stream:
            catalogue = read_po(stream)
        part = target.with_suffix(".part")
        with part.open("wb") as stream:
            write_mo(stream, catalogue)
        part.replace(target)  # another process may be reading the old one
        written.append(target)
    return written


if __name__ == "__main__":
    build()
    sys.exit(0)
