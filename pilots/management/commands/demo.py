"""`demo --out DIR`: the headless main job on a house of its own; `demo --seed`: sample data for `make run`."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from pilots import demo, demo_cases, demo_output
from qms.approvals.models import Approval
from qms.core import jobs
from qms.core.errors import Refusal
from qms.core.models import Job, JobState
from qms.roles import selectors as people

PATIENCE_S = 300.0
LOOK_EVERY_S = 0.5
SETTLED = (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


class Command(BaseCommand):
    """Walks the same commands as people do, with software authenticators that say so."""

    help = "Vorführung: --out DIR schreibt Freigabe, Audit-Export und Prüfmittel; --seed legt Musterdaten an."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the three modes."""
        mode = parser.add_mutually_exclusive_group(required=True)
        mode.add_argument(
            "--out", type=Path, help="Ordner für das Ergebnis; die Daten liegen in einem eigenen Ordner"
        )
        mode.add_argument(
            "--seed", action="store_true", help="Musterdaten in die Datenbank dieser Vorführung legen"
        )
        mode.add_argument(
            "--freigabe", action="store_true", help="die Musterfreigabe anlegen, während der Dienst läuft"
        )
        mode.add_argument("--walk", type=Path, help="wie --out, in der Datenbank dieses Prozesses")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the chosen mode; a failed check ends with status 1."""
        if options["out"]:
            _in_own_house(options["out"].resolve())
        elif options["seed"]:
            self._seed()
        elif options["freigabe"]:
            self._approve()
        else:
            self._walk(options["walk"])

    def _walk(self, folder: Path) -> None:
        logging.disable(logging.WARNING)
        call_command("migrate", verbosity=0)
        house = demo.make_house()
        try:
            approval = demo.walk(house, carry_out=jobs.run_pending)
        except demo.DemoStopped as stopped:
            raise CommandError(str(stopped)) from stopped
        checks = demo_output.write(folder, approval)
        for check in checks:
            self.stdout.write(f"{'gültig' if check.ok else 'FEHLER'}  {check.name}")
            if not check.ok:
                self.stderr.write(check.output)
        for name in demo_output.FILES:
            self.stdout.write(str(folder / name))
        if not all(check.ok for check in checks):
            raise CommandError("Mindestens eine Prüfung ist fehlgeschlagen.")

    def _seed(self) -> None:
        if not settings.DEMO:
            raise CommandError("Musterdaten gibt es nur in der Vorführung (make run).")
        if people.has_administrator():
            return
        demo.make_house()
        demo.mark_seeded()
        self.stdout.write("Musterdaten angelegt; die erste Freigabe entsteht im Hintergrund.")

    def _approve(self) -> None:
        """Walk beside the running service: its worker carries out the jobs, this process waits for them.

        What stops the walk is said in one sentence: the demo stays usable, and the next `make run` goes on.
        """
        if not settings.DEMO:
            return
        logging.disable(logging.WARNING)
        server, house = os.getppid(), demo.Demo()
        try:
            if not Approval.objects.filter(workload__title=demo.TITLE).exists():
                demo.walk(house, carry_out=lambda: _wait(server))
            demo_cases.walk_cases(house, carry_out=lambda: _wait(server))
        except (demo.DemoStopped, Refusal) as stopped:
            self.stderr.write(
                f"Die Musterfreigabe ist nicht entstanden: {stopped} Alles andere können Sie ausprobieren."
            )


def _wait(server: int) -> None:
    """Wait until every job has ended; ends this process with the service, and gives up after five minutes."""
    deadline = time.monotonic() + PATIENCE_S
    while Job.objects.exclude(state__in=SETTLED).exists():
        if os.getppid() != server:  # the shell of `make run` became the service
            sys.exit()
        if time.monotonic() > deadline:
            raise demo.DemoStopped(f"Die Aufträge sind nach {PATIENCE_S / 60:.0f} Minuten nicht fertig.")
        time.sleep(LOOK_EVERY_S)


def _in_own_house(folder: Path) -> None:
    """Run the walk in a process of its own, so that no existing database is touched."""
    with TemporaryDirectory(prefix="qms-demo-") as data:
        variables = [
            f"QMS_DATA={data}",
            "QMS_DEMO=1",
            "QMS_DB=sqlite",
            "QMS_EMAIL_BACKEND=django.core.mail.backends.dummy.EmailBackend",
        ]
        command = ["env", *variables, sys.executable, "manage.py", "demo", "--walk", str(folder)]
        done = subprocess.run(command, check=False, cwd=settings.BASE_DIR)
    if done.returncode:
        raise CommandError(
            "Die Vorführung ist nicht bis zur geprüften Freigabe gekommen.", returncode=done.returncode
        )
