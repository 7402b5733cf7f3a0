"""Let writes go on after a backup has been restored."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from qms.audit import services
from qms.audit.actors import SYSTEM
from qms.core.errors import WrongState


class Command(BaseCommand):
    """`manage.py protokoll_bestaetigen --begruendung TEXT`: records PROTOKOLL_WIEDERHERGESTELLT."""

    help = "Bestätigt ein wiederhergestelltes Audit-Protokoll, das seinem Anker widerspricht."

    def add_arguments(self, parser: CommandParser) -> None:
        """Ask for the reason."""
        parser.add_argument("--begruendung", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        """Record the restore and set the old pin aside."""
        del args
        try:
            services.confirm_restore(actor=SYSTEM, reason=options["begruendung"])
        except WrongState as refusal:
            raise CommandError(refusal.message) from refusal
        self.stdout.write(_("Bestätigt. Der alte Anker bleibt neben dem neuen liegen."))
