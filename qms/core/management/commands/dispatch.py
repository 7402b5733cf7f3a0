"""`dispatch`: the loop that hands messages to the broker, sends lost jobs again and hands out scheduled tasks."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from qms.core.dispatch import Loop


class Command(BaseCommand):
    """Runs until SIGTERM. `serve` starts one; any number may run, the database decides who does what."""

    help = "Reicht Aufträge an den Arbeitsprozess weiter (Teil von serve)."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the loop."""
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_caught: stop.set())
        Loop(stop).run()
