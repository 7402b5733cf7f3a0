"""The frameworks, or a skip by name."""

from __future__ import annotations

from typing import Any

import pytest


def need(*names: str) -> list[Any]:
    """Return the modules; skips the whole test module, naming what is missing."""
    return [pytest.importorskip(name, reason=f"{name} is missing: make test-frontends") for name in names]
