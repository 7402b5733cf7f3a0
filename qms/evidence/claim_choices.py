"""Codes of the claims register (spec 0.4) and the form in which the emulator answers. No models."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from qms.core.coded import Coded


class ClaimStatus(Coded):
    """What is known about a claim of a vendor."""

    OPEN = "OFFEN", _("offen")
    REPRODUCED = "IM_EMULATOR_NACHGESTELLT", _("im Emulator nachgestellt")
    CONFIRMED = "GEMESSEN_BESTAETIGT", _("gemessen, bestätigt")
    PARTLY = "TEILWEISE", _("teilweise")
    REFUTED = "WIDERLEGT", _("widerlegt")
    NOT_APPLICABLE = "NICHT_ANWENDBAR", _("nicht anwendbar")
    OPINION = "MEINUNG", _("Meinung")


class ClaimKind(Coded):
    """What sort of statement a claim is."""

    MEASURABLE = "MESSBAR", _("messbar")
    COMPARISON = "VERGLEICH", _("Vergleich")
    OPINION = "MEINUNG", _("Meinung")


@dataclass(frozen=True, slots=True)
class EmulatorAnswer:
    """What the emulator says about a claim: status, one German sentence, and the machine it looked at."""

    status: ClaimStatus
    sentence_de: str
    machine: str
