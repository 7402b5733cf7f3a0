"""A job in a child process: it may use a core for minutes, crash, or be killed, and the worker lives on."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Final
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from qms.core.tether import tethered

_LOOK_EVERY_S: Final = 0.5
_GRACE_S: Final = 5.0


class ChildCrashed(Exception):
    """The child process ended without ending its job; the text says how, for people."""


def run_in_child(job_id: UUID, attempt: int, check: Callable[[], None]) -> None:
    """Run the claimed job in a child process and wait for it.

    `check` is called twice a second; what it raises ends the child (SIGTERM, then SIGKILL) and passes on.
    Raises ChildCrashed when the child ends with an error or a signal.
    """
    command = [sys.executable, "-m", "qms.core.jobs_child", str(job_id), str(attempt)]
    process = subprocess.Popen(tethered(command, signal.SIGKILL), cwd=settings.BASE_DIR)
    try:
        code = _wait(process, check)
    finally:
        _end(process)
    if code < 0:
        raise ChildCrashed(_("Der Rechenprozess endete durch Signal %(signal)d.") % {"signal": -code})
    if code:
        raise ChildCrashed(_("Der Rechenprozess endete mit Fehler %(code)d.") % {"code": code})


def _wait(process: subprocess.Popen[bytes], check: Callable[[], None]) -> int:
    while True:
        try:
            return process.wait(timeout=_LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            check()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
