"""Waiting for something that another process does: polling with a deadline, never a fixed pause."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_pause = threading.Event()


def wait_until(look: Callable[[], T], *, within_s: float = 60.0, every_s: float = 0.1, what: str = "") -> T:
    """Return the first true value of `look()`; AssertionError naming `what` when there is none in time."""
    end = time.monotonic() + within_s
    while True:
        value = look()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(
                f"waited {within_s} s in vain for {what or look.__name__}; last value {value!r}"
            )
        _pause.wait(every_s)
