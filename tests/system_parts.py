"""System parts a test may need. Without them it skips by name; with STRICT=1 the skip is a failure."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

_JAXB: Final = ("jaxb-api", "jaxb-runtime", "javax.activation", "istack-commons-runtime", "txw2")
JAVA_FOLDER: Final = Path("/usr/share/java")


def jaxb_jars() -> list[Path]:
    """Return the JAXB jars that are installed; veraPDF reads its profiles through them."""
    return [path for path in (JAVA_FOLDER / f"{name}.jar" for name in _JAXB) if path.exists()]


def _pango() -> bool:
    try:
        import weasyprint  # noqa: F401, PLC0415
    except (ImportError, OSError):
        return False
    return True


PARTS: Final[Mapping[str, tuple[Callable[[], bool], str]]] = {
    "pango": (_pango, "apt-get install libpango-1.0-0 libpangoft2-1.0-0"),
    "java": (lambda: shutil.which("java") is not None, "apt-get install openjdk-17-jre-headless"),
    "jaxb": (lambda: len(jaxb_jars()) == len(_JAXB), "apt-get install libjaxb-java"),
    "pdfsig": (lambda: shutil.which("pdfsig") is not None, "apt-get install poppler-utils"),
    "certutil": (lambda: shutil.which("certutil") is not None, "apt-get install libnss3-tools"),
    "chromium": (lambda: shutil.which("chromium") is not None, "apt-get install chromium"),
    "openssl": (lambda: shutil.which("openssl") is not None, "apt-get install openssl"),
}


def require_system(*names: str) -> None:
    """Skip the test when a part is missing, naming it and its remedy; fail instead when STRICT=1."""
    for name in names:
        found, remedy = PARTS[name]
        if found():
            continue
        message = f"system part {name} is missing: {remedy}"
        if os.environ.get("STRICT") == "1":  # noqa: TID251 - a switch of the test run, not of the product
            pytest.fail(message)
        pytest.skip(message)
