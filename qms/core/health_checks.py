"""The health checks that need no package above `qms.core` (stack.md 3.3). One line each, with remedy."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from datetime import datetime, timedelta
from importlib import metadata
from ipaddress import ip_address
from typing import Any, Final, cast

from celery import current_app
from django.conf import settings
from django.db import connection
from django.db.models import Max, Min
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError
from packaging.requirements import Requirement

from qms.core import clock, installation, libraries
from qms.core import schema as schema_state
from qms.core.health import Finding, register_check
from qms.core.models import Job, JobState, OutboxEntry, Pulse
from qms.core.tasks import PULSE_RECONCILE, PULSE_WORKER

_FREE_BYTES: Final = 2**30
_PULSE_AGE: Final = timedelta(seconds=90)
_OPEN_MESSAGE_AGE: Final = timedelta(minutes=15)
_CLOCK_SKEW: Final = timedelta(seconds=5)


@register_check("Python und Pakete", mandatory=True, before_migration=True)
def python_and_lock() -> Finding:
    """Python is new enough and every installed package has the locked version."""
    wrong = [text for text in map(_lock_difference, _locked()) if text]
    if wrong:
        return Finding(
            False,
            _("anders als festgelegt: %(packages)s") % {"packages": ", ".join(wrong[:5])},
            _("make run stellt die festgelegten Pakete her"),
        )
    return Finding(True, f"Python {sys.version.split()[0]}")


@register_check("Datenbank", mandatory=True, before_migration=True)
def database() -> Finding:
    """The settings in force keep every acknowledged change through a power cut (stack.md 5)."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            return _postgresql(cursor)
        return _sqlite(cursor)


@register_check("Schema", mandatory=True)
def schema() -> Finding:
    """No migration is missing, and none is from a newer program."""
    newer = schema_state.unknown()
    if newer:
        return Finding(
            False,
            _("die Datenbank ist neuer als das Programm (%(name)s)") % {"name": newer[0]},
            _("das neuere Programm starten"),
        )
    missing = schema_state.missing()
    if missing:
        return Finding(
            False,
            _("%(count)d Schritte fehlen") % {"count": len(missing)},
            _("Dienst beenden, dann: python manage.py upgrade"),
        )
    return Finding(True, _("aktuell"))


@register_check("Betriebsart", mandatory=True, before_migration=True)
def mode() -> Finding:
    """Process and database agree whether this is a demo."""
    try:
        installation.check_mode()
    except installation.WrongMode as error:
        return Finding(False, str(error), _("Datenordner oder DEMO prüfen"))
    return Finding(True, str(installation.started_mode().label))


@register_check("Datenordner", mandatory=True, before_migration=True)
def data_folder() -> Finding:
    """The folder can be written."""
    where = {"path": settings.DATA_DIR, "uid": os.getuid()}
    try:
        with tempfile.TemporaryFile(dir=settings.DATA_DIR):
            return Finding(True, str(settings.DATA_DIR))
    except OSError:
        return Finding(
            False,
            _("%(path)s ist für Benutzer %(uid)d nicht beschreibbar") % where,
            _("chown -R %(uid)d %(path)s") % where,
        )


@register_check("Freier Platz")
def free_space() -> Finding:
    """At least a gigabyte is free."""
    free = shutil.disk_usage(settings.DATA_DIR).free
    text = _("%(size)d MB frei") % {"size": free // 2**20}
    return Finding(free >= _FREE_BYTES, text, "" if free >= _FREE_BYTES else _("mindestens 1 GB frei machen"))


@register_check("Uhr")
def clocks() -> Finding:
    """The clock of this machine and that of the database agree."""
    skew = abs(_now() - clock.now())
    if skew > _CLOCK_SKEW:
        text = _("Datenbank und Rechner gehen %(seconds)d Sekunden auseinander") % {
            "seconds": skew.total_seconds()
        }
        return Finding(False, text, _("Zeitabgleich (NTP) auf beiden einrichten"))
    return Finding(True, _("Datenbank und Rechner stimmen überein"))


@register_check("Vermittler")
def broker() -> Finding:
    """The message broker answers."""
    try:
        with current_app.connection_for_write() as link:
            link.ensure_connection(max_retries=1, timeout=3)
    except (OSError, OperationalError) as error:
        return Finding(
            False,
            _("%(name)s antwortet nicht (%(error)s)")
            % {"name": settings.CELERY_BROKER_URL.partition(":")[0], "error": type(error).__name__},
            _("Vermittler starten oder QMS_BROKER_HOST prüfen"),
        )
    return Finding(True, str(settings.CELERY_BROKER_URL).partition(":")[0])


@register_check("Arbeitsprozess")
def worker() -> Finding:
    """A worker answered lately, or is busy with a job whose heart beats."""
    pulse = Pulse.objects.filter(pk=PULSE_WORKER).aggregate(at=Max("at"))["at"]
    running = Job.objects.filter(state=JobState.RUNNING).aggregate(at=Max("heartbeat_at"))["at"]
    return _age(max((at for at in (pulse, running) if at), default=None))


@register_check("Wiederaufnahme")
def reconciliation() -> Finding:
    """The loop that sends lost jobs again ran lately."""
    return _age(Pulse.objects.filter(pk=PULSE_RECONCILE).aggregate(at=Max("at"))["at"])


@register_check("Nachrichten")
def messages() -> Finding:
    """No message has waited too long for its effect."""
    waiting = OutboxEntry.objects.filter(done_at__isnull=True, tries__gt=0)
    oldest = waiting.aggregate(at=Min("created_at"))["at"]
    if oldest and _now() - oldest > _OPEN_MESSAGE_AGE:
        error = waiting.exclude(error="").values_list("error", flat=True).first() or _("kein Fehler vermerkt")
        return Finding(
            False,
            _("%(count)d warten, die älteste seit %(minutes)d Minuten (%(error)s)")
            % {"count": waiting.count(), "minutes": (_now() - oldest).total_seconds() // 60, "error": error},
            _("Arbeitsprozess und Protokoll des Dienstes prüfen"),
        )
    return Finding(True, _("keine überfällig"))


@register_check("PDF-Bibliotheken")
def pdf_libraries() -> Finding:
    """The system libraries that WeasyPrint opens are there."""
    missing = libraries.missing()
    if missing:
        text = _("%(names)s fehlt, PDF nicht möglich") % {"names": ", ".join(missing)}
        return Finding(False, text, libraries.INSTALL_LINE)
    return Finding(True, ", ".join(libraries.FILES))


@register_check("Öffentliche Adresse")
def public_url() -> Finding:
    """Passkeys need a host name, and TLS unless the host is this machine (WebAuthn, section 5.1.3)."""
    public = settings.PUBLIC
    try:
        ip_address(public.host)
    except ValueError:
        if public.is_https or public.host == "localhost":
            return Finding(True, public.url)
        return Finding(
            False,
            _("%(url)s ist ohne TLS: Passkeys sind im Browser gesperrt") % {"url": public.url},
            _("QMS_PUBLIC_URL mit https:// setzen"),
        )
    return Finding(
        False,
        _("%(url)s ist eine IP-Adresse: Passkeys brauchen einen Namen") % {"url": public.url},
        _("QMS_PUBLIC_URL mit Rechnernamen setzen"),
    )


def _locked() -> list[Requirement]:
    lines = (settings.BASE_DIR / "requirements.lock").read_text().splitlines()
    return [Requirement(line.rstrip(" \\")) for line in lines if line[:1].isalnum()]


def _lock_difference(pin: Requirement) -> str:
    if pin.marker is not None and not pin.marker.evaluate():
        return ""
    try:
        found = metadata.version(pin.name)
    except metadata.PackageNotFoundError:
        return _("%(name)s fehlt") % {"name": pin.name}
    return "" if pin.specifier.contains(found, prereleases=True) else f"{pin.name} {found}"


def _sqlite(cursor: Any) -> Finding:
    names = ("journal_mode", "synchronous", "recursive_triggers")
    values = {name: str(cursor.execute(f"PRAGMA {name}").fetchone()[0]) for name in names}
    expected = {"journal_mode": {"wal", "memory"}, "synchronous": {"2", "3"}, "recursive_triggers": {"1"}}
    version = cursor.execute("SELECT sqlite_version()").fetchone()[0]
    text = f"SQLite {version}, " + ", ".join(f"{name}={value}" for name, value in values.items())
    wrong = [name for name in names if values[name] not in expected[name]]
    return Finding(
        not wrong,
        text,
        _("PRAGMA in DATABASES/OPTIONS prüfen: %(names)s") % {"names": ", ".join(wrong)} if wrong else "",
    )


def _postgresql(cursor: Any) -> Finding:
    cursor.execute("SELECT current_setting('server_version'), current_setting('synchronous_commit')")
    version, commit = cursor.fetchone()
    text = f"PostgreSQL {version}, synchronous_commit={commit}"
    fit = commit not in {"off", "local"}
    return Finding(fit, text, "" if fit else _("synchronous_commit=on setzen"))


def _now() -> datetime:
    """Return the time on the database's clock; the pulses were written with it."""
    if connection.vendor != "postgresql":
        return clock.now()  # SQLite has no clock of its own
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        return cast("datetime", cursor.fetchone()[0])


def _age(at: datetime | None) -> Finding:
    remedy = _("python manage.py serve starten")
    if at is None:
        return Finding(False, _("hat sich noch nie gemeldet"), remedy)
    age = _now() - at
    text = _("meldete sich vor %(seconds)d Sekunden") % {"seconds": max(0, age.total_seconds())}
    return Finding(age <= _PULSE_AGE, text, "" if age <= _PULSE_AGE else remedy)
