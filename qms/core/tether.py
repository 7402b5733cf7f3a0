"""Ties a process to its parent: `python -m qms.core.tether PARENT SIGNAL COMMAND...`. Django-free.

The child asks the kernel for a signal at the death of its parent and then becomes the command, so nothing runs
between fork and exec in a process with threads. Linux only (prctl(2), PR_SET_PDEATHSIG); elsewhere it just starts.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final, NoReturn

PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h


def tethered(command: list[str], death_signal: signal.Signals) -> list[str]:
    """Return `command` wrapped so that it receives `death_signal` when the calling process (thread) ends."""
    if not sys.platform.startswith("linux"):
        return command
    return [sys.executable, "-m", "qms.core.tether", str(os.getpid()), str(int(death_signal)), *command]


def main(arguments: list[str]) -> NoReturn:
    """Set the signal, make sure that the parent still lives, become the command."""
    parent, death_signal, *command = arguments
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(death_signal))
    if os.getppid() != int(parent):  # it died before the kernel knew
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - becoming the command is the purpose


if __name__ == "__main__":
    main(sys.argv[1:])
