"""Roles of both rule sets (spec 3.2 and 3.19). The stored value is the catalogue code."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from qms.core.coded import Coded


class Role(Coded):
    """A role a person can hold; which of them exist is said by the rule set."""

    WORKLOAD_OWNER = "WO", _("Workload-Owner")
    PILOT_LEAD = "PL", _("Pilotleitung")
    DATA_PROTECTION = "DS", _("Datenschutz")
    SECURITY = "IS", _("Informationssicherheit")
    OPERATIONS = "BT", _("Plattformbetrieb")
    CONTROLLING = "FC", _("Controlling")
    QUALITY = "QM", _("Qualitätsmanagement")
    REVIEWER = "PR", _("Prüfer(in)")
    APPROVER = "FG", _("Freigeber(in)")
    AUDITOR = "AU", _("Auditor(in)")
    ADMINISTRATOR = "AD", _("Administrator(in)")


# AU and AD are kept apart from every other role (SoD-07, SoD-08); all others do domain work.
DOMAIN_ROLES: Final[frozenset[Role]] = frozenset(Role) - {Role.AUDITOR, Role.ADMINISTRATOR}
