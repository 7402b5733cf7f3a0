"""What `doctor`, the health page and the start of the server ask about the log."""

from __future__ import annotations

import sqlite3

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from qms.audit import guard, pins
from qms.audit.models import Checkpoint, LogHead
from qms.core.health import Finding, register_check

_RIGHT_SETTINGS = {"synchronous_commit": {"on", "remote_apply", "remote_write", "local"}, "fsync": {"on"}}


@register_check(str(gettext_lazy("Schutz der Tabellen")), mandatory=True)
def check_guard() -> Finding:
    """Every governed table has its triggers, and no announcement is left over."""
    found = guard.check()
    if found.ok:
        count = len(guard.governed_models())
        return Finding(ok=True, text_de=_("%(count)d Tabellen verlangen einen Eintrag") % {"count": count})
    text = _("%(missing)d Auslöser fehlen, %(leftover)d Ankündigungen sind übrig")
    return Finding(
        ok=False,
        text_de=text % {"missing": len(found.missing), "leftover": found.leftover},
        remedy_de=_("python manage.py migrate ausführen"),
    )


@register_check(str(gettext_lazy("Audit-Protokoll und Anker")), mandatory=True, before_migration=True)
def check_pin() -> Finding:
    """The log is not shorter than its pin and has the same root there."""
    found = pins.compare()
    if found.problem:
        remedy = _("Wiederherstellung mit python manage.py protokoll_bestaetigen bestätigen")
        return Finding(ok=False, text_de=found.problem, remedy_de=remedy)
    text = _("%(size)d Ereignisse, verankert bis %(pinned)d")
    return Finding(ok=True, text_de=text % {"size": found.size, "pinned": found.pinned})


@register_check(str(gettext_lazy("Dauerhaftes Schreiben")), mandatory=True, before_migration=True)
def check_durability() -> Finding:
    """A commit that was answered survives a power cut (audit.md, D4)."""
    problem = _sqlite_problem() if connection.vendor == "sqlite" else _postgresql_problem()
    if problem:
        remedy = _("Einstellungen der Datenbank auf dauerhaftes Schreiben zurückstellen")
        return Finding(ok=False, text_de=problem, remedy_de=remedy)
    version = sqlite3.sqlite_version if connection.vendor == "sqlite" else ""
    return Finding(
        ok=True, text_de=_("Datenbank %(name)s") % {"name": f"{connection.vendor} {version}".strip()}
    )


@register_check(str(gettext_lazy("Kontrollpunkt")))
def check_signed() -> Finding:
    """The newest checkpoint covers the log, up to what has come since the last timer."""
    size = LogHead.objects.values_list("size", flat=True).first() or 0
    signed = Checkpoint.objects.order_by("-size").values_list("size", flat=True).first() or 0
    if size and not signed:
        return Finding(
            ok=False,
            text_de=_("%(count)d Ereignisse sind noch nicht signiert") % {"count": size},
            remedy_de=_("Datei des Protokollschlüssels und den Arbeitsprozess prüfen"),
        )
    return Finding(
        ok=True, text_de=_("signiert bis %(signed)d von %(size)d") % {"signed": signed, "size": size}
    )


def _sqlite_problem() -> str:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous")
        synchronous = cursor.fetchone()[0]
        cursor.execute("PRAGMA journal_mode")
        mode = cursor.fetchone()[0]
        cursor.execute("PRAGMA recursive_triggers")
        recursive = cursor.fetchone()[0]
    right = synchronous >= 2 and mode in {"wal", "memory"} and recursive == 1
    text = _("SQLite: journal_mode=%(mode)s, synchronous=%(synchronous)s, recursive_triggers=%(recursive)s")
    return "" if right else text % {"mode": mode, "synchronous": synchronous, "recursive": recursive}


def _postgresql_problem() -> str:
    with connection.cursor() as cursor:
        for name, allowed in _RIGHT_SETTINGS.items():
            cursor.execute("SELECT current_setting(%s)", [name])
            value = cursor.fetchone()[0]
            if value not in allowed:
                return _("PostgreSQL: %(name)s=%(value)s") % {"name": name, "value": value}
    return ""
