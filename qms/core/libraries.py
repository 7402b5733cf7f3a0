"""System libraries behind WeasyPrint: `python -m qms.core.libraries` exits with 1 when one is missing. Django-free."""

from __future__ import annotations

import ctypes
import sys
from typing import Final

FILES: Final[dict[str, tuple[str, ...]]] = {
    "Pango": ("libpango-1.0.so.0", "libpango-1.0.0.dylib", "libpango-1.0-0.dll"),
    "PangoFT2": ("libpangoft2-1.0.so.0", "libpangoft2-1.0.0.dylib", "libpangoft2-1.0-0.dll"),
    "HarfBuzz-Subset": ("libharfbuzz-subset.so.0", "libharfbuzz-subset.0.dylib", "libharfbuzz-subset-0.dll"),
    "Fontconfig": ("libfontconfig.so.1", "libfontconfig.1.dylib", "libfontconfig-1.dll"),
}
INSTALL_LINE: Final = (
    "Debian/Ubuntu: apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 · "
    "Fedora: dnf install pango harfbuzz · macOS: brew install pango"
)


def missing() -> list[str]:
    """Return the names of the libraries that cannot be opened."""
    return [name for name, files in FILES.items() if not any(map(_can_open, files))]


def _can_open(file_name: str) -> bool:
    try:
        ctypes.CDLL(file_name)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(1 if missing() else 0)
