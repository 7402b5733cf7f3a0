"""The fail-closed guard: triggers refuse every write to a governed table without an announced event.

Governed are all tables of our own apps but those exempt by name. The log's own tables only grow. A remade table
loses its triggers silently (SQLite, AlterField), so they are installed again after every `migrate`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.apps import apps
from django.db import connections, models

from qms.audit import triggers
from qms.audit.merkle import EMPTY_ROOT
from qms.audit.models import AuditContext, LogHead
from qms.audit.triggers import Trigger

EXEMPT: Final = {
    "core.Job": "lease, heartbeat and progress; the rows one-to-one with it are governed",
    "core.OutboxEntry": "messages; their effect is governed",
    "core.Pulse": "signs of life of the running parts",
    "core.Installation": "made once by the set-up, before there is a log",
    "signing.ActChallenge": "open questions to a passkey; consumed in the transaction of the governed record",
    "audit.AuditContext": "the announcement itself",
}
EXEMPT_APPS: Final = frozenset(
    {"account", "admin", "auth", "contenttypes", "guardian", "mfa", "messages", "sessions", "migrations"}
)
"""Foreign apps whose tables carry sign-in, sessions and Django's own lists; none of ours."""

COLUMNS: Final = {"roles.User": ("person_id", "is_active", "is_staff", "is_superuser", "is_service")}
"""Tables whose UPDATE is guarded only when one of these columns really changes: sign-in may write the others."""

GROWING: Final = {
    "audit.AuditEvent": True,
    "audit.AuditLeaf": True,
    "audit.LogKey": True,
    "audit.Tile": False,
    "audit.Checkpoint": False,
    "audit.Anchor": False,
}
"""Insert-only tables; True where the INSERT needs an announcement (the others are written after the commit)."""

_extra: dict[tuple[str, str], Trigger] = {}


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with the guard. missing: "table: trigger"; leftover: rows of `audit_ctx` outside a unit."""

    missing: tuple[str, ...]
    leftover: int

    @property
    def ok(self) -> bool:
        """Whether the guard is complete."""
        return not self.missing and not self.leftover


def register_sql(vendor: str, name: str, table: str, sql: str) -> None:
    """Have a trigger of another package installed and checked with the guard.

    vendor: "sqlite" or "postgresql"; name: as in `sql`; sql: complete CREATE TRIGGER (PostgreSQL: with its
    function before it). Call it in `AppConfig.ready`.
    """
    _extra[vendor, name] = Trigger(name, table, sql)


def governed_models() -> list[type[models.Model]]:
    """Return the models whose tables are guarded, many-to-many tables included, in order of their tables."""
    ours = [model for model in apps.get_models(include_auto_created=True) if _is_ours(model)]
    special = EXEMPT.keys() | GROWING.keys() | {"audit.LogHead", "audit.Disclosure"}
    return sorted((m for m in ours if m._meta.label not in special), key=lambda model: model._meta.db_table)


def expected(vendor: str) -> list[Trigger]:
    """Return all triggers this installation needs on an engine."""
    maker = triggers.MAKERS[vendor]
    found: list[Trigger] = []
    for model in governed_models():
        columns = [name for name in COLUMNS.get(model._meta.label, ()) if name in _columns(model)]
        found += maker.governed(model._meta.db_table, columns)
    for label, announced in GROWING.items():
        model = apps.get_model(label)
        found += maker.growing(model._meta.db_table, str(model._meta.pk.column), announced=announced)
    found += maker.deletable("audit_disclosure")
    found += maker.head("audit_log_head")
    return found + [trigger for (engine, _name), trigger in _extra.items() if engine == vendor]


def install(*, using: str = "default") -> None:
    """Put every trigger in place anew and see that the log head exists."""
    connection = connections[using]
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        maker = triggers.MAKERS[connection.vendor]
        for statement in maker.FUNCTIONS:
            cursor.execute(statement)
        wanted = [trigger for trigger in expected(connection.vendor) if trigger.table in tables]
        for trigger in [*_obsolete(connection, wanted), *wanted]:
            cursor.execute(maker.drop(trigger))
        if "audit_log_head" in tables:
            LogHead.objects.using(using).get_or_create(
                pk=1, defaults={"size": 0, "frontier": b"", "root": EMPTY_ROOT}
            )
        for trigger in wanted:
            cursor.execute(trigger.sql)
            for statement in maker.after_create(trigger):
                cursor.execute(statement)


def uninstall(*, using: str = "default") -> None:
    """Take the guard away, to empty or remake tables as their owner; the next `migrate` installs it again."""
    connection = connections[using]
    maker = triggers.MAKERS[connection.vendor]
    with connection.cursor() as cursor:
        for trigger in [*_obsolete(connection, []), *_present_extra(connection)]:
            cursor.execute(maker.drop(trigger))


def check(*, using: str = "default") -> Finding:
    """Compare the triggers in the database with those needed; call it outside a unit."""
    connection = connections[using]
    with connection.cursor() as cursor:
        cursor.execute(triggers.MAKERS[connection.vendor].PRESENT)
        present = set(cursor.fetchall())
    wanted = expected(connection.vendor)
    missing = tuple(f"{item.table}: {item.name}" for item in wanted if (item.table, item.name) not in present)
    return Finding(missing, AuditContext.objects.using(using).count())


def after_migrate(*, using: str, **_kwargs: Any) -> None:
    """Install the guard after `migrate` and after a flush (post_migrate)."""
    install(using=using)


def _is_ours(model: type[models.Model]) -> bool:
    name = apps.get_app_config(model._meta.app_label).name
    return model._meta.managed and (name.startswith("qms.") or name.split(".")[0] == "pilots")


def _columns(model: type[models.Model]) -> set[str]:
    return {str(field.column) for field in model._meta.concrete_fields}


def _obsolete(connection: Any, wanted: list[Trigger]) -> Iterator[Trigger]:
    keep = {(item.table, item.name) for item in wanted}
    with connection.cursor() as cursor:
        cursor.execute(triggers.MAKERS[connection.vendor].PRESENT)
        rows = cursor.fetchall()
    for table, name in rows:
        if name.startswith(triggers.PREFIX) and (table, name) not in keep:
            yield Trigger(name, table, "")


def _present_extra(connection: Any) -> list[Trigger]:
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
    return [
        item for (vendor, _n), item in _extra.items() if vendor == connection.vendor and item.table in tables
    ]
