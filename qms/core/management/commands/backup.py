"""`backup`: saves database and files while the service runs, and the keys into a file of their own."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from qms.core import backup
from qms.core.backup_parts import BackupRefused


class Command(BaseCommand):
    """`manage.py backup TARGET [--keys TARGET]`; a target is a new file, or a folder. Exit 1 if anything is missing."""

    help = "Sichert Datenbank und Dateien im laufenden Betrieb; Schlüssel nur in eine eigene Datei (--keys)."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to."""
        parser.add_argument("target", type=Path, help="neue Datei, oder Ordner")
        parser.add_argument("--keys", type=Path, help="neue Datei oder Ordner für die privaten Schlüssel")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the backup and say what is in it."""
        target = backup.target_path(options["target"].absolute())
        try:
            saved = backup.make(target)
            self.stdout.write(
                _("Gesichert: %(path)s (%(files)d Dateien, %(size)d MB, Verzeichnis %(sha256)s)")
                % {
                    "path": saved.path,
                    "files": saved.files,
                    "size": -(-saved.size_bytes // 2**20),
                    "sha256": saved.manifest_sha256,
                }
            )
            for sentence in backup.tell(saved):
                self.stdout.write(sentence)
            if options["keys"]:
                self._save_keys(options["keys"].absolute(), target)
        except BackupRefused as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            text = _("Die Sicherung ließ sich nicht schreiben (%(error)s); es liegt nichts Halbes da.")
            raise CommandError(text % {"error": error.strerror or error}) from error
        if saved.damaged:
            text = _("Nicht gesichert, weil sie fehlen oder beschädigt sind: %(names)s.")
            raise CommandError(text % {"names": ", ".join(saved.damaged)})

    def _save_keys(self, named: Path, beside: Path) -> None:
        saved = backup.make_keys(backup.target_path(named, "-schluessel"), beside)
        text = _(
            "Private Schlüssel gesichert: %(path)s. Bewahren Sie die Datei getrennt und unter Verschluss auf."
        )
        self.stdout.write(text % {"path": saved.path})
