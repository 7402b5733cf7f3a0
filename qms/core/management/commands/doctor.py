"""`doctor`: what is wrong with this installation, one line each, remedy included."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from qms.core import health


class Command(BaseCommand):
    """Runs every registered health check; exit status 1 when a mandatory one fails."""

    help = "Prüft diese Installation und nennt zu jedem Mangel die Abhilfe."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Print one line per check."""
        results = health.run()
        for result in results:
            finding = result.finding
            mark = _("gut") if finding.ok else (_("FEHLER") if result.mandatory else _("Hinweis"))
            remedy = f" → {finding.remedy_de}" if finding.remedy_de else ""
            self.stdout.write(f"{mark:8}{result.name}: {finding.text_de}{remedy}")
        if not health.is_fit(results):
            raise CommandError(_("Diese Installation ist so nicht betriebsbereit."))
