"""Codes of evidence (spec 3.7): stored value is the catalogue's, label is translated."""

from __future__ import annotations

from enum import StrEnum

from django.utils.translation import gettext_lazy as _


class EvidenceStatus(StrEnum):
    """Where a piece of evidence stands in its review."""

    NEW = "NEU"
    REVIEWED = "GEPRUEFT"
    REJECTED = "ABGELEHNT"
    INVALID = "UNGUELTIG"
    TO_REASSESS = "ERNEUT_ZU_BEWERTEN"
    TAMPERED = "MANIPULIERT"


class EvidenceType(StrEnum):
    """The evidence types this version produces or accepts (EV rows of spec 3.7.1)."""

    PROFILE = "EV-01"
    BASELINE_REPORT = "EV-02"
    TARGET_REPORT = "EV-04"
    PORTING = "EV-05"
    EQUIVALENCE = "EV-06"
    LINEAGE = "EV-16"
    COSTS = "EV-17"
    DEMAND = "EV-18"
    LEVELS = "EV-19"
    OFFER = "EV-20"
    ENVIRONMENT = "EV-26"
    CAPABILITY = "EV-27"
    SCALING = "EV-30"


TYPE_LABELS = {
    EvidenceType.PROFILE: _("Profiler-Spur"),
    EvidenceType.BASELINE_REPORT: _("Baseline-Messbericht"),
    EvidenceType.TARGET_REPORT: _("Ziellauf-Bericht"),
    EvidenceType.PORTING: _("Portierungsbericht"),
    EvidenceType.EQUIVALENCE: _("Numerischer Äquivalenznachweis"),
    EvidenceType.LINEAGE: _("Abstammungsmanifest"),
    EvidenceType.COSTS: _("TCO-Blatt"),
    EvidenceType.DEMAND: _("Nachfrage und Auslastung"),
    EvidenceType.LEVELS: _("Dreiebenenbewertung"),
    EvidenceType.OFFER: _("Angebot, Vertrag, Exit"),
    EvidenceType.ENVIRONMENT: _("Umfeld-Checkliste"),
    EvidenceType.CAPABILITY: _("Fähigkeitsmatrix"),
    EvidenceType.SCALING: _("Prognose gegen Wirklichkeit"),
}
STATUS_LABELS = {
    EvidenceStatus.NEW: _("neu"),
    EvidenceStatus.REVIEWED: _("geprüft"),
    EvidenceStatus.REJECTED: _("abgelehnt"),
    EvidenceStatus.INVALID: _("ungültig"),
    EvidenceStatus.TO_REASSESS: _("erneut zu bewerten"),
    EvidenceStatus.TAMPERED: _("manipuliert"),
}
CURRENT = (EvidenceStatus.NEW, EvidenceStatus.REVIEWED)
