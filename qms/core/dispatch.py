"""The loop behind `dispatch`: small steps, each with its own rhythm, none able to stop the others."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db import OperationalError, close_old_connections, connection
from django.db.models.functions import Now
from kombu.exceptions import OperationalError as BrokerError

from qms.core import jobs, tasks
from qms.core.models import Pulse

logger = logging.getLogger(__name__)

_TICK_S: Final = 0.25
_PULSE_S: Final = 15.0
_WORST_PAUSE_S: Final = 60.0


@dataclass(slots=True)
class _Step:
    """A step of the loop: what it does, how often, when it is due again (monotonic seconds), failures in a row."""

    name: str
    call: Callable[[], object]
    every_s: float
    due_s: float = 0.0
    failures: int = 0


class Loop:
    """Relay, reconcile, schedule and the question whether a worker answers."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._steps = [
            _Step("relay", tasks.relay, _TICK_S),
            _Step("schedule", tasks.hand_out_due, 1.0),
            _Step("reconcile", jobs.reconcile, min(settings.JOB_LEASE_SECONDS / 3, 5.0)),
            _Step("pulse", _pulse, _PULSE_S),
        ]

    def run(self) -> None:
        """Run the steps until the event is set."""
        while not self._stop.is_set():
            for step in self._steps:
                if time.monotonic() >= step.due_s:
                    _take(step)
            self._stop.wait(_TICK_S)


def _take(step: _Step) -> None:
    """Outermost frame of a step: an error is logged and the step waits longer each time."""
    try:
        step.call()
    except (OperationalError, BrokerError) as error:  # database or broker away; what was due comes again
        logger.warning("step %s: %s", step.name, error)
        step.failures += 1
    except Exception:  # outermost frame of the step
        logger.exception("step %s", step.name)
        step.failures += 1
    else:
        step.failures = 0
    if step.failures:
        connection.close()
    close_old_connections()
    pause = min(step.every_s * 2 ** min(step.failures, 8), max(step.every_s, _WORST_PAUSE_S))
    step.due_s = time.monotonic() + pause


def _pulse() -> None:
    """Show that this loop lives and ask for a sign of life, but not again and again while nobody answers."""
    tasks.beat(tasks.PULSE_RECONCILE)
    answered = Pulse.objects.filter(
        pk=tasks.PULSE_WORKER, at__gte=Now() - timedelta(seconds=4 * _PULSE_S)
    ).exists()
    asked = Pulse.objects.filter(pk="asked", at__gte=Now() - timedelta(minutes=5)).exists()
    if answered or not asked:
        tasks.beat("asked")
        tasks.pulse.apply_async()
