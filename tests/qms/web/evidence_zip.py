"""The evidence ZIP of an approval as a stranger uses it: downloaded, unpacked, its own commands typed in."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from tests.architecture.sources import ROOT
from tests.walk import World, address


def url(world: World) -> str:
    return address("approval_evidence_zip", world.approval_id)


def download(world: World, name: str) -> bytes:
    answer = world.browser(name).get(url(world))
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)


def unpack(data: bytes, folder: Path) -> dict[str, bytes]:
    """Unpack into the folder and return name -> content."""
    with zipfile.ZipFile(io.BytesIO(data)) as found:
        assert found.testzip() is None
        found.extractall(folder)
        return {name: found.read(name) for name in found.namelist()}


def commands(files: dict[str, bytes]) -> list[str]:
    """Return the commands the LIESMICH names, in order."""
    lines = files["LIESMICH.txt"].decode().splitlines()
    return [line.strip() for line in lines if line.startswith("  python -m ")]


def type_in(command: str, folder: Path) -> Any:
    """Carry out a command in the folder, in a fresh process that finds the source and knows no settings."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DJANGO", "QMS"))}
    return subprocess.run(
        [sys.executable, *command.split()[1:]],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
