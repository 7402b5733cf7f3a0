"""What holds for every test: system parts skip by name, nothing leaves the machine."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

from tests.emptying import emptied_as_owner
from tests.system_parts import require_system

# Two shared cores: no deadline per example. `make fuzz` looks longer and differently each time.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or fail under STRICT=1, tests whose system parts are missing."""
    for mark in item.iter_markers("needs"):
        require_system(*mark.args)


def _is_local(address: Any) -> bool:
    if not isinstance(address, tuple):  # a socket in the file system
        return True
    host = str(address[0])
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections to other machines."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if not _is_local(address):
            raise AssertionError(f"a test wanted to connect to {address!r}")
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture(scope="session", autouse=True)
def _guard_lets_flush_pass() -> Iterator[None]:
    """Tests that really commit are followed by a flush, which the guard would refuse."""
    with emptied_as_owner():
        yield
