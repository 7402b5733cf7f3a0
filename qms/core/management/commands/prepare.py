"""`prepare`: makes or updates the database, before the first start and after each update."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _

from qms.core import backup_database, clock, installation


class Command(BaseCommand):
    """Backs up an existing SQLite file when migrations are due, migrates, stores the mode, takes first steps. May be repeated."""

    help = "Richtet die Datenbank ein oder bringt sie auf den Stand des Programms."

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare the database of this process."""
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if plan and executor.loader.applied_migrations and connection.vendor == "sqlite":
            self.stdout.write(_("Sicherung vor der Umstellung: %(path)s") % {"path": _back_up()})
        if plan:
            call_command("migrate", verbosity=0, interactive=False)
        try:
            mode = installation.store_mode()
        except installation.WrongMode as error:
            raise CommandError(str(error)) from error
        installation.take_steps()
        self.stdout.write(
            _("Datenbank bereit (%(mode)s): %(place)s")
            % {"mode": mode.label, "place": settings.DATABASES["default"]["NAME"]}
        )


def _back_up() -> Path:
    """Copy the SQLite database into the data folder and return the path of the copy."""
    folder = Path(settings.DATA_DIR) / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"vor-umstellung-{clock.now():%Y%m%dT%H%M%SZ}.sqlite3"
    backup_database.copy_sqlite(path)
    path.chmod(0o600)
    return path
