"""The heartbeat of a running job: its own thread, so that the length of a step does not matter."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Self

from django.db import DatabaseError, connection

logger = logging.getLogger(__name__)


class Heartbeat:
    """Calls `beat` at a third of the lease; sets `lost` and stops as soon as `beat` returns False."""

    def __init__(self, *, lease: timedelta, beat: Callable[[], bool], lost: threading.Event) -> None:
        self._every_s = lease.total_seconds() / 3
        self._beat = beat
        self._lost = lost
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._every_s):
                try:
                    if not self._beat():
                        self._lost.set()
                        return
                except (
                    DatabaseError
                ) as error:  # the next beat tries again; the lease says how often that may go wrong
                    logger.warning("heartbeat failed: %s", error)
                    connection.close()
        finally:
            connection.close()
