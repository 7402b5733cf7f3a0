"""Codes of what is recorded once at a platform or the organisation (EV-19, EV-20, EV-26, EV-27; spec 3.7.5, 3.17)."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from qms.core.coded import Coded


class PlatformLevel(Coded):
    """The three levels that are assessed separately (S052 to S054)."""

    HARDWARE = "HARDWARE", _("Hardware, Speicher und Kommunikation")
    SOFTWARE = "SOFTWARE", _("Systemsoftware und Modellunterstützung")
    DELIVERY = "LIEFERUNG", _("Liefer- oder Cloudmodell")


class LevelCriterion(Coded):
    """What a level is judged by; examples of spec 3.17, none of them must be used."""

    CAPACITY = "KAPAZITAET", _("Kapazität und residenter Anteil")
    OFF_WAFER_TRAFFIC = "VERKEHR_AUSSERHALB", _("Verkehr außerhalb des Wafers")
    COMMUNICATION = "KOMMUNIKATION", _("Anteil der Kommunikation")
    TELEMETRY = "TELEMETRIE", _("Telemetrie")
    COOLING_AND_POWER = "KUEHLUNG_STROM", _("Kühlung und Strom")
    OPERATION_COVERAGE = "OPERATIONEN", _("Abdeckung der Operationen")
    RELEASE_FIT = "FRAMEWORK", _("Passende Framework-Version")
    NUMERICAL_EQUIVALENCE = "AEQUIVALENZ", _("Numerische Äquivalenz")
    RESTART = "WIEDERANLAUF", _("Wiederanlauf")
    TOOLING = "WERKZEUGE", _("Werkzeuge und Fehlersuche")
    RELEASE_CADENCE = "VERSIONSFOLGE", _("Folge der Versionen")
    CONTRACT_FORM = "VERTRAGSFORM", _("Vertragsform")
    REGION = "REGION", _("Region und Datenschutz")
    AVAILABILITY = "VERFUEGBARKEIT", _("Wartezeit und Verfügbarkeit")
    SUPPORT = "SUPPORT", _("Support")
    EXIT = "AUSSTIEG", _("Ausstieg")
    PRICE_TRANSPARENCY = "PREISE", _("Transparenz der Preise")


_ALL: Final = tuple(LevelCriterion)
CRITERIA_OF: Final[dict[PlatformLevel, tuple[LevelCriterion, ...]]] = {
    PlatformLevel.HARDWARE: _ALL[:5],
    PlatformLevel.SOFTWARE: _ALL[5:11],
    PlatformLevel.DELIVERY: _ALL[11:],
}
SCORES: Final = {
    0: _("0 – nicht annehmbar"),
    1: _("1 – schwach"),
    2: _("2 – ausreichend"),
    3: _("3 – gut"),
    4: _("4 – sehr gut"),
}


class CommercialModel(Coded):
    """How compute time on the platform is bought (S101)."""

    INDIVIDUAL_OFFER = "INDIVIDUALANGEBOT", _("Individualangebot")
    SYSTEM_PURCHASE = "SYSTEMKAUF", _("Systemkauf")
    PROVIDER = "PROVIDER", _("Bezug über einen Anbieter")


class EnvironmentItem(Coded):
    """What can matter as much as compute (S085)."""

    PROCUREMENT = "BESCHAFFUNG", _("Beschaffung")
    NETWORK = "NETZWERK", _("Netzwerk")
    COOLING = "KUEHLUNG", _("Kühlung")
    DATA_CENTRE = "RZ_BETRIEB", _("Betrieb des Rechenzentrums")
    CONTRACT = "ANBIETERVERTRAG", _("Vertrag mit dem Anbieter")


class EnvironmentStatus(Coded):
    """Where an item of the environment checklist stands."""

    SETTLED = "GEKLAERT", _("geklärt")
    OPEN = "OFFEN", _("offen")
    NOT_NEEDED = "ENTFAELLT", _("entfällt")


class CapabilityArea(Coded):
    """What the team has to answer for (S048)."""

    DATA_PIPELINE = "DATENPIPELINE", _("Datenpipeline")
    MODEL_OPERATION = "MODELLBETRIEB", _("Modellbetrieb")
    MONITORING = "UEBERWACHUNG", _("Überwachung")
    UTILISATION = "AUSLASTUNG", _("Auslastung")
