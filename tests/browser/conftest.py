"""A running product with its browser, for each test: requests really commit, so the house is emptied afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from qms.config import env
from qms.core import installation
from tests.browser.visitor import House, open_house
from tests.walk import steady_clock

os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # the browser runs its loop in the thread of the test


@pytest.fixture
def house(live_server: Any, settings: Any) -> Iterator[House]:
    """The product under its public address, prepared as the first start does, nobody in it yet."""
    settings.PUBLIC = env.PublicUrl(live_server.url)
    assert settings.PUBLIC.host == "localhost"  # passkeys work there, not under an address in numbers
    installation.store_mode()
    installation.take_steps()
    with steady_clock(), open_house(live_server.url) as opened:
        yield opened
