"""Codes of gates and criteria (spec 3.6). Stored and exported is the catalogue value."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from qms.core.coded import Coded


class CriterionResult(Coded):
    """Result of one criterion; OFFEN means a fact is missing or may not be judged."""

    MET = "ERFUELLT", _("erfüllt")
    NOT_MET = "NICHT_ERFUELLT", _("nicht erfüllt")
    OPEN = "OFFEN", _("offen")
    NOT_APPLICABLE = "NICHT_ANWENDBAR", _("nicht anwendbar")
    WAIVED = "AUSNAHME", _("Ausnahme")

    @property
    def passes(self) -> bool:
        """Whether the criterion stands in nobody's way."""
        return self in {CriterionResult.MET, CriterionResult.NOT_APPLICABLE, CriterionResult.WAIVED}


class CriterionKind(Coded):
    """Whether a condition or waiver can replace the criterion."""

    NON_WAIVABLE = "NW", _("nicht ausnahmefähig")
    WAIVABLE = "W", _("ausnahmefähig")


class GateState(Coded):
    """State of one gate in a report; NICHT_GEPRUEFT: the rule set has no criterion of it (EM-13)."""

    MET = "ERFUELLT", _("erfüllt")
    NOT_MET = "NICHT_ERFUELLT", _("nicht erfüllt")
    OPEN = "OFFEN", _("offen")
    NOT_APPLICABLE = "NICHT_ANWENDBAR", _("nicht anwendbar")
    NOT_CHECKED = "NICHT_GEPRUEFT", _("nicht geprüft")


class Scope(Coded):
    """What a criterion needs to be judged at all; one without a scope is always judged (ADR 0154)."""

    COMPARISON = "VERGLEICH", _("Vergleich")


class ScopeGap(Coded):
    """Why nothing is compared; the criteria of that scope read "nicht geprüft"."""

    NO_BASELINE = "OHNE_VERGLEICHSBASIS", _("ohne Vergleichsbasis")
    DEVELOPMENT_MACHINE = "ENTWICKLUNGSRECHNER", _("Entwicklungsrechner")


class Due(Coded):
    """The step a criterion stands in the way of."""

    SUBMISSION = "ANTRAG", _("Antrag")
    DECISION = "ENTSCHEIDUNG", _("Entscheidung")
    SIGNATURE = "UNTERSCHRIFT", _("Unterschrift")
    AFTER_DECISION = "NACH_ENTSCHEIDUNG", _("nach der Entscheidung")


class ApprovalType(Coded):
    """The four approval types (spec 3.6); `qms.approvals.choices` offers them under the same name."""

    PILOT = "PILOT", _("Pilotfreigabe")
    PRELIMINARY = "VORFREIGABE", _("Vorfreigabe")
    PRODUCTION = "PRODUKTION", _("Produktionsfreigabe")
    CAPACITY = "KAPAZITAET", _("Kapazitätsfreigabe")


class VoteValue(Coded):
    """Value of a co-signature (spec 4.4)."""

    AGREE = "ZUSTIMMUNG", _("Zustimmung")
    AGREE_WITH_CONDITION = "ZUSTIMMUNG_MIT_AUFLAGE", _("Zustimmung mit Auflage")
    REFUSE = "ABLEHNUNG", _("Ablehnung")


class OpinionValue(Coded):
    """Value of the data protection officer's opinion; an opinion is no approval."""

    NO_OBJECTION = "KEINE_EINWAENDE", _("keine Einwände")
    OBJECTION = "EINWAENDE", _("Einwände")


class SignatureMethod(Coded):
    """How the signing person was confirmed (G7-10)."""

    PASSKEY = "PASSKEY", _("Passkey")
    PASSWORD_TOTP = "PASSWORT_TOTP", _("Passwort und Einmalcode")
