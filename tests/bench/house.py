"""The house that is measured: one case in each state, and browsers that are signed in."""

from __future__ import annotations

from tests.access.world import World
from tests.access.world import build as build_world


def build() -> World:
    """Return the house of the access tests in a database of its own; its documents are not sealed yet."""
    return build_world()
