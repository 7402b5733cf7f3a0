"""`restore`: puts a backup into an empty folder, after everything in it was checked."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from qms.core.backup_parts import BackupRefused
from qms.core.restore import restore


class Command(BaseCommand):
    """`manage.py restore FILE --into FOLDER [--keys FILE] [--pin FILE]`."""

    help = "Spielt eine Sicherung in einen leeren Ordner zurück und prüft sie gegen den Anker des Audit-Protokolls."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What, and where to."""
        parser.add_argument("archive", type=Path, help="Datei der Sicherung")
        parser.add_argument("--into", type=Path, required=True, help="leerer oder neuer Datenordner")
        parser.add_argument("--keys", type=Path, help="Datei der Schlüsselsicherung")
        parser.add_argument(
            "--pin",
            type=Path,
            help="Anker außerhalb der Datenbank (pins/….pin); sonst der dieses Datenordners",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Restore and say what was found."""
        into = options["into"]
        try:
            found = restore(options["archive"], into, keys=options["keys"], anchor=options["pin"])
        except BackupRefused as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            text = _("Die Sicherung ließ sich nicht zurückspielen (%(error)s); der Ordner ist unverändert.")
            raise CommandError(text % {"error": error.strerror or error}) from error
        for sentence in found:
            self.stdout.write(sentence)
        self.stdout.write(
            _("Zurückgespielt nach %(path)s. Starten mit QMS_DATA=%(path)s.") % {"path": into.absolute()}
        )
