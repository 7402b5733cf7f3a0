"""What the commands share: reading and writing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from pilots.cluster.errors import RequestError

MAX_FILE_BYTES: Final = 2**28


def read_text(name: str) -> str:
    """Return the text of a regular file; raises RequestError if it is none, too large or no UTF-8."""
    path = Path(name)
    unreadable = f"Die Datei {name} lässt sich nicht lesen."
    try:
        if not path.is_file():
            raise RequestError(f"{name} is no file", message_de=unreadable)
        if path.stat().st_size > MAX_FILE_BYTES:
            sentence = f"Die Datei {name} ist größer als {MAX_FILE_BYTES // 2**20}\u00a0MiB."
            raise RequestError(f"{name} is too large", message_de=sentence)
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"{name}: {error}", message_de=f"Die Datei {name} ist kein UTF-8-Text.") from error
    except (OSError, ValueError) as error:
        raise RequestError(f"{name}: {error}", message_de=unreadable) from error


def write(text: str) -> None:
    """Write a result to standard output."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def write_json(value: Any) -> None:
    """Write a result as JSON."""
    write(json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False))


def write_file(path: Path, text: str) -> None:
    """Write a file and its folder; raises RequestError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        sentence = f"Die Datei {path} lässt sich nicht schreiben."
        raise RequestError(sentence, message_de=sentence) from error
