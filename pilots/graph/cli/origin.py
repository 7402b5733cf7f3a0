"""Where a capture comes from: commit of the source, hash of the data set, software. No names of people or machines."""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import platform
import subprocess
import unicodedata
from pathlib import Path
from typing import Final

from pilots.graph.capture import Captured
from pilots.graph.capture.errors import refuse
from pilots.graph.lineage import MAX_VALUE, Lineage

CHANGED: Final = "+geaendert"  # the tree was not as committed
PACKAGES: Final = {"pytorch": "torch", "jax": "jax", "onnx": "onnx"}
_GIT_SECONDS: Final = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments about the origin."""
    parser.add_argument(
        "--data", type=Path, metavar="DATEI", help="Datensatz; nur seine Prüfsumme kommt in die Datei"
    )
    parser.add_argument("--commit", metavar="TEXT", help="Stand des Quelltexts; sonst fragt der Befehl git")
    parser.add_argument("--seed", metavar="TEXT", help="Startwert des Zufalls im Training")
    parser.add_argument("--registry", metavar="TEXT", help="Eintrag im Modellverzeichnis")


def lineage_of(arguments: argparse.Namespace, captured: Captured, source: Path | None) -> Lineage:
    """Return the lineage: what the call states, else what the capture has, else what git says of `source`.

    Raises CaptureError for a text that is too long, OSError for a data set that cannot be read.
    """
    held = captured.lineage
    commit = _text("--commit", arguments.commit) or held.commit or commit_of(source)
    data = file_sha256(arguments.data) if arguments.data else held.data_sha256
    return Lineage(
        commit,
        data,
        _text("--seed", arguments.seed) or held.seed,
        _text("--registry", arguments.registry) or held.registry,
        held.environment or environment(captured),
    )


def environment(captured: Captured) -> tuple[tuple[str, str], ...]:
    """Return releases of the software and the kind of the processor, sorted by name."""
    found = {
        "numpy": importlib.metadata.version("numpy"),
        "platform": platform.machine(),
        "python": platform.python_version(),
        "system": platform.system(),
    }
    package = PACKAGES.get(captured.trail.framework)
    if package is not None:
        try:
            found[captured.trail.framework] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:  # a finished capture, recorded elsewhere
            found[captured.trail.framework] = captured.trail.version
    return tuple(sorted(found.items()))


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file of any size; raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def commit_of(source: Path | None) -> str:
    """Return the commit of the tree a file is in, marked if the tree or the file is not as committed; "" without git."""
    if source is None:
        return ""
    head = _git(source, "rev-parse", "HEAD")
    if not head:
        return ""
    changed = _git(source, "status", "--porcelain", "--untracked-files=no")
    tracked = _git(source, "ls-files", "--", source.name)
    return head + (CHANGED if changed or not tracked else "")


def _git(source: Path, *words: str) -> str:
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(source.parent), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _text(option: str, value: str | None) -> str:
    text = unicodedata.normalize("NFC", value or "")
    if len(text) > MAX_VALUE or not text.isprintable():
        sentence = (
            f"Die Angabe zu {option} ist unzulässig; erlaubt sind bis zu {MAX_VALUE} druckbare Zeichen."
        )
        raise refuse("OPTION", option, f"at most {MAX_VALUE} printable characters", len(text), sentence)
    return text
