"""Prints the one-time link with which the first administrator is made."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from qms.audit.actors import SYSTEM
from qms.core.errors import WrongState
from qms.roles import links, services


class Command(BaseCommand):
    """Issue a new link and print its address; earlier links end."""

    help = "Prints a one-time link (24 hours) that makes the first administrator."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the link, or say why there is none."""
        try:
            token = services.issue_first_run_link(actor=SYSTEM)
        except WrongState as refusal:
            raise CommandError(str(refusal.message)) from refusal
        self.stdout.write(_("Erste Anmeldung (gilt 24 Stunden, einmal):"))
        self.stdout.write(links.public_url("people_first_run", token))
