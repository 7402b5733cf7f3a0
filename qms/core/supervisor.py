"""Keeps a few processes running: starts them, restarts them with growing pauses, ends them in order."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings

from qms.core.tether import tethered

logger = logging.getLogger(__name__)

_TICK_S: Final = 0.2
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 30.0
_SETTLED_S: Final = 60.0
ESCALATION: Final = ((signal.SIGTERM, 20.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))  # stack.md 4.3


@dataclass(slots=True)
class Child:
    """A process to keep running. name: for messages; command: absolute program first."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    due_s: float = 0.0
    pause_s: float = field(default=_FIRST_PAUSE_S)

    def start(self) -> None:
        """Start the process in a group of its own, tied to this one: it gets SIGTERM when this one dies."""
        self.process = subprocess.Popen(
            tethered(self.command, signal.SIGTERM),
            cwd=settings.BASE_DIR,
            process_group=0,
            stdin=subprocess.DEVNULL,
        )
        self.started_s = time.monotonic()

    def look_after(self) -> None:
        """Start the process when it is due; when it has ended, say so and fix when it is due again."""
        if self.process is None:
            if time.monotonic() >= self.due_s:
                self.start()
            return
        code = self.process.poll()
        if code is None:
            return
        if time.monotonic() - self.started_s > _SETTLED_S:
            self.pause_s = _FIRST_PAUSE_S
        logger.warning("%s ended (%d), starts again in %.1f s", self.name, code, self.pause_s)
        self.process, self.due_s = None, time.monotonic() + self.pause_s
        self.pause_s = min(self.pause_s * 2, _LONGEST_PAUSE_S)

    @property
    def is_running(self) -> bool:
        """Whether the process runs now."""
        return self.process is not None and self.process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal: SIGKILL to the whole group, everything else to the process, which ends its own children."""
        if self.process is None or not self.is_running:
            return
        try:
            if number is signal.SIGKILL:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)
        except ProcessLookupError:
            return


class Supervisor:
    """Runs children until `stop` is set; to be used in the main thread, the tie to a child is that of its thread."""

    def __init__(self, children: list[Child], stop: threading.Event) -> None:
        self.children = children
        self._stop = stop

    def run(self) -> None:
        """Keep the children running until the event is set, then end them."""
        try:
            while not self._stop.is_set():
                for child in self.children:
                    child.look_after()
                self._stop.wait(_TICK_S)
        finally:
            self.end()

    def end(self) -> None:
        """Ask the children to end, then insist: SIGTERM, SIGQUIT, SIGKILL."""
        for number, patience_s in ESCALATION:
            for child in self.children:
                child.send(number)
            limit_s = time.monotonic() + patience_s
            while any(child.is_running for child in self.children) and time.monotonic() < limit_s:
                self._pause()
            if not any(child.is_running for child in self.children):
                return

    @staticmethod
    def _pause() -> None:
        threading.Event().wait(_TICK_S)
