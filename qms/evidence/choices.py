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

    BASELINE_REPORT = "EV-02"
    TARGET_REPORT = "EV-04"
    PORTING = "EV-05"
    EQUIVALENCE = "EV-06"
    LINEAGE = "EV-16"


TYPE_LABELS = {
    EvidenceType.BASELINE_REPORT: _("Baseline-Messbericht"),
    EvidenceType.TARGET_REPORT: _("Ziellauf-Bericht"),
    EvidenceType.PORTING: _("Portierungsbericht"),
    EvidenceType.EQUIVALENCE: _("Numerischer Äquivalenznachweis"),
    EvidenceType.LINEAGE: _("Abstammungsmanifest"),
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
