"""`serve`: web server, worker and loop under one supervisor; the same in `make run` and in a service unit."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.utils.translation import gettext as _

from qms.core import health
from qms.core.supervisor import Child, Supervisor

_BROKER_FOLDERS: Final = ("data_folder_in", "control_folder")


class Command(BaseCommand):
    """Checks what is mandatory, starts the children, prints one address, ends everything on SIGTERM or Ctrl-C."""

    help = "Startet Webserver, Arbeitsprozess und Weiterleitung und hält sie am Laufen."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Host and port; without them the port of the public address."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=_public_port())
        parser.add_argument("--workers", type=int, default=2, help="Prozesse des Webservers (je 4 Threads)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until told to stop."""
        host, port = options["host"], options["port"]
        _require_fit()
        _require_port(host, port)
        _make_broker_folders()
        connections.close_all()
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_caught: stop.set())
        announce = threading.Thread(target=self._announce, args=(host, port, stop), daemon=True)
        announce.start()
        Supervisor(children(host, port, options["workers"]), stop).run()

    def _announce(self, host: str, port: int, stop: threading.Event) -> None:
        while not stop.wait(0.1):
            if _answers(host, port):
                self.stdout.write(_("AI-QMS läuft: %(url)s (Ende mit Strg+C)") % {"url": settings.PUBLIC.url})
                return


def children(host: str, port: int, workers: int) -> list[Child]:
    """Return the processes of an installation, in the order in which they start."""
    python, manage = sys.executable, str(Path(settings.BASE_DIR) / "manage.py")
    web = [
        python,
        "-m",
        "gunicorn",
        "qms.config.wsgi:application",
        "--bind",
        f"{host}:{port}",
        "--worker-class",
        "gthread",
    ]
    web += ["--workers", str(workers), "--threads", "4", "--log-level", "warning", "--graceful-timeout", "15"]
    web += ["--timeout", "60", "--no-control-socket"]
    quiet = ["-W", "ignore:You're running the worker with superuser"]
    worker = [
        python,
        *quiet,
        "-m",
        "celery",
        "--quiet",
        "-A",
        "qms.config.celery",
        "worker",
        "--pool",
        "threads",
        "-c",
        "2",
    ]
    worker += ["--without-gossip", "--without-mingle", "--loglevel", "WARNING"]
    return [
        Child(_("Webserver"), web),
        Child(_("Arbeitsprozess"), worker),
        Child(_("Weiterleitung"), [python, manage, "dispatch"]),
    ]


def _public_port() -> int:
    parts = urlsplit(settings.PUBLIC.url)
    return parts.port or 8000


def _require_fit() -> None:
    failed = [result for result in health.run(mandatory_only=True) if not result.finding.ok]
    if failed:
        lines = [f"{item.name}: {item.finding.text_de} → {item.finding.remedy_de}" for item in failed]
        raise CommandError("\n".join([_("Start verweigert:"), *lines]))


def _require_port(host: str, port: int) -> None:
    try:
        with socket.create_server((host, port)):
            return
    except OSError as error:
        text = _("Port %(port)d ist nicht frei (%(error)s). Anderer Port: make run PORT=8001")
        raise CommandError(text % {"port": port, "error": error.strerror}) from error


def _make_broker_folders() -> None:
    options = getattr(settings, "CELERY_BROKER_TRANSPORT_OPTIONS", {})
    for name in _BROKER_FOLDERS:
        if name in options:
            Path(options[name]).mkdir(mode=0o700, parents=True, exist_ok=True)


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False
