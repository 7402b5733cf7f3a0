"""The prepared house of each module."""

from __future__ import annotations

from tests.walk import world

__all__ = ["world"]
