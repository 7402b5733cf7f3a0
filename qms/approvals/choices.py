"""Codes of approvals (glossary, spec 3.5.3, 4.4, 5.2). Types and votes are those the gates judge."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from qms.core.coded import Coded
from qms.gates.choices import ApprovalType, OpinionValue, SignatureMethod, VoteValue

__all__ = [
    "ApprovalStatus",
    "ApprovalType",
    "ConditionStatus",
    "Decision",
    "Meaning",
    "OpinionValue",
    "Severity",
    "SignatureMethod",
    "VoteValue",
]


class ApprovalStatus(Coded):
    """Stored state of a request or approval (spec 3.5.3); *wirksam* and *veraltet* are computed."""

    DRAFT = "ENTWURF", _("Entwurf")
    SUBMITTED = "EINGEREICHT", _("Eingereicht")
    IN_REVIEW = "IN_PRUEFUNG", _("In Prüfung")
    QUERY = "RUECKFRAGE", _("Rückfrage")
    READY_FOR_DECISION = "ENTSCHEIDUNGSREIF", _("Entscheidungsreif")
    APPROVED = "FREIGEGEBEN", _("Freigegeben")
    CONDITIONALLY_APPROVED = "BEDINGT_FREIGEGEBEN", _("Bedingt freigegeben")
    REJECTED = "ABGELEHNT", _("Abgelehnt")
    WITHDRAWN = "ZURUECKGEZOGEN", _("Zurückgezogen")
    SUSPENDED = "AUSGESETZT", _("Ausgesetzt")
    RETURNED = "ZURUECKGEFUEHRT", _("Zurückgeführt")
    REVOKED = "WIDERRUFEN", _("Widerrufen")
    EXPIRED = "ABGELAUFEN", _("Abgelaufen")
    SUPERSEDED = "ERSETZT", _("Ersetzt")


class Decision(Coded):
    """What an approver decides; the value is the state it leads to."""

    APPROVE = "FREIGEGEBEN", _("freigeben")
    APPROVE_WITH_CONDITIONS = "BEDINGT_FREIGEGEBEN", _("bedingt freigeben")
    REJECT = "ABGELEHNT", _("ablehnen")


class Severity(Coded):
    """How a missed condition counts (spec 3.8): NORMAL after a period of grace, the others at once."""

    NORMAL = "NORMAL", _("normal")
    HIGH = "HOCH", _("hoch")
    IMMEDIATE = "SOFORT", _("sofort")


class ConditionStatus(Coded):
    """Stored state of a condition; *überfällig* is computed."""

    OPEN = "OFFEN", _("offen")
    PROVEN = "NACHGEWIESEN", _("Nachweis eingereicht")
    MET = "ERFUELLT", _("erfüllt")


class Meaning(Coded):
    """Meaning of a signature, chosen by the signing person and printed in the document (spec 5.2)."""

    AUTHORED = "VERFASST", _("verfasst")
    REVIEWED = "GEPRUEFT", _("geprüft")
    OPINION_GIVEN = "STELLUNGNAHME_ABGEGEBEN", _("Stellungnahme abgegeben")
    APPROVED = "FREIGEGEBEN", _("freigegeben")
    CONDITIONALLY_APPROVED = "BEDINGT_FREIGEGEBEN", _("bedingt freigegeben")
    REJECTED = "ABGELEHNT", _("abgelehnt")
    REVOKED = "WIDERRUFEN", _("widerrufen")
    WITHDRAWN = "ZURUECKGEZOGEN", _("zurückgezogen")
