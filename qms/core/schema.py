"""Which migrations the database has, lacks, or has from a newer program."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader


def missing() -> list[str]:
    """Return the migrations of the program that the database lacks, as "app.name"."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _backwards in plan]


def unknown() -> list[str]:
    """Return the migrations of the database that the program does not know: the database is newer than it."""
    loader = MigrationLoader(connection)
    ours = {key for key in loader.applied_migrations if key[0] in loader.migrated_apps}
    return _texts(ours - loader.disk_migrations.keys())


def unknown_of(applied: dict[str, list[str]]) -> list[str]:
    """Return which migrations of a list from elsewhere the program does not know; needs no database."""
    named = {(app, name) for app, names in applied.items() for name in names}
    return _texts(named - MigrationLoader(None).disk_migrations.keys())


def applied() -> dict[str, list[str]]:
    """Return the names of the migrations the database has, by app; migrations that the program knows only."""
    loader = MigrationLoader(connection)
    found: dict[str, list[str]] = {}
    for app, name in sorted(loader.applied_migrations.keys() & loader.disk_migrations.keys()):
        found.setdefault(app, []).append(name)
    return found


def _texts(keys: Iterable[tuple[str, str]]) -> list[str]:
    return sorted(f"{app}.{name}" for app, name in keys)
