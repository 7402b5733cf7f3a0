from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings) -> None:
    settings.DATA_DIR = tmp_path
    settings.LOG_KEY_FILE = tmp_path / "keys" / "log.key"
    settings.AUDIT_ORIGIN = "pruefstand.example/protokoll"
