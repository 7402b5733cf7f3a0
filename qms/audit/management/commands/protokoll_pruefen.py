"""Check the whole audit log from the console."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from qms.audit import services


class Command(BaseCommand):
    """`manage.py protokoll_pruefen`: exit 0 if nothing deviates, 1 otherwise."""

    help = "Prüft das Audit-Protokoll: jede Zeile, Reihenfolge, Kontrollpunkte und Anker."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the check and say what was found."""
        del args, options
        report = services.verify_log()
        if not report.ok:
            raise CommandError(report.problem)
        text = _("Audit-Protokoll geprüft: %(size)d Ereignisse, davon %(signed)d signiert. Keine Abweichung.")
        self.stdout.write(text % {"size": report.size, "signed": report.signed_size})
