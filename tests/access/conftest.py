"""One house for each file of access tests; every test undoes what it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

from tests.access.world import World, build, undone


@pytest.fixture(scope="module")
def house(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    with django_db_blocker.unblock(), undone():
        cache.clear()
        yield build()


@pytest.fixture
def world(house: World, db: None) -> Iterator[World]:
    cache.clear()
    yield house
    cache.clear()
