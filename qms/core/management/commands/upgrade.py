"""`upgrade`: preflight, backup, migrate, check; stops before the database is touched, or names the backup."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from qms.core import backup, health, installation, schema
from qms.core.backup_parts import BackupRefused


class Command(BaseCommand):
    """`manage.py upgrade [--backup-to TARGET]`, with the service stopped, after the program was exchanged."""

    help = "Bringt die Datenbank auf den Stand des Programms: prüfen, sichern, umstellen, prüfen."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where the backup goes."""
        parser.add_argument("--backup-to", type=Path, help="Datei oder Ordner; sonst backups/ im Datenordner")

    def handle(self, *args: Any, **options: Any) -> None:
        """Upgrade, saying each step."""
        newer = schema.unknown()
        if newer:
            text = _("Die Datenbank ist neuer als das Programm (%(name)s); es wurde nichts geändert.")
            raise CommandError(text % {"name": newer[0]})
        missing = schema.missing()
        if not missing:
            self.stdout.write(_("Die Datenbank ist schon auf dem Stand des Programms."))
            _require_fit(_("Es wurde nichts geändert."))
            return
        _require_ready()
        saved = self._back_up(options["backup_to"])
        way_back = _(
            "Zurück: mit dem alten Programm python manage.py restore %(path)s --into NEUER_ORDNER"
        ) % {"path": saved}
        try:
            call_command("migrate", verbosity=0, interactive=False)
            installation.store_mode()
            installation.take_steps()
        except Exception as error:  # outermost frame: whatever a migration raises
            text = _("Die Umstellung brach ab (%(error)s); so startet der Dienst nicht. %(way_back)s")
            raise CommandError(text % {"error": error, "way_back": way_back}) from error
        self.stdout.write(_("Umgestellt: %(names)s") % {"names": ", ".join(missing)})
        _require_fit(way_back)
        self.stdout.write(_("Alle Pflichtprüfungen sind gut; der Dienst kann starten."))

    def _back_up(self, named: Path | None) -> Path:
        folder = named or Path(settings.DATA_DIR) / "backups"
        if named is None:
            folder.mkdir(mode=0o700, exist_ok=True)
        try:
            saved = backup.make(backup.target_path(folder.absolute()))
        except (BackupRefused, OSError) as error:
            text = _("Ohne Sicherung keine Umstellung: %(error)s Es wurde nichts geändert.")
            raise CommandError(text % {"error": error}) from error
        self.stdout.write(_("Gesichert: %(path)s") % {"path": saved.path})
        for sentence in backup.tell(saved):
            self.stdout.write(sentence)
        return saved.path


def _require_ready() -> None:
    if installation.stored_mode() is None:
        raise CommandError(_("Die Datenbank ist noch nicht eingerichtet (Befehl: prepare)."))
    _require(health.run(mandatory_only=True, before_migration=True), _("Es wurde nichts geändert."))


def _require_fit(otherwise: str) -> None:
    _require(health.run(mandatory_only=True), otherwise)


def _require(results: list[health.Result], otherwise: str) -> None:
    failed = [item for item in results if not item.finding.ok]
    if failed:
        lines = [f"{item.name}: {item.finding.text_de} → {item.finding.remedy_de}" for item in failed]
        raise CommandError("\n".join([*lines, otherwise]))
