"""The twelve categories of the full cost (spec 3.17, S102) and the words of a contract (S101)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Capacity(StrEnum):
    """How the platform is paid: hours reserved in advance, or only what was used."""

    RESERVED = "RESERVIERT"
    PAY_PER_USE = "NUTZUNGSABHAENGIG"


class CommercialModel(StrEnum):
    """The form of the contract; EXISTING is the platform already in use."""

    INDIVIDUAL_OFFER = "INDIVIDUALANGEBOT"
    PURCHASE = "SYSTEMKAUF"
    PROVIDER = "PROVIDER"
    EXISTING = "BESTAND"


@dataclass(frozen=True, slots=True)
class Category:
    """One category: code, names, what belongs in, and whether somebody else's price list moves it (PREIS step)."""

    code: str
    german: str
    english: str
    hint_de: str
    purchased: bool


COMPUTE: Final = "TCO-01"
PORTING: Final = "TCO-02"
IDLE: Final = "TCO-08"

CATEGORIES: Final[tuple[Category, ...]] = (
    Category(
        COMPUTE,
        "Rechenzeit",
        "Compute time",
        "Reserviert oder je Nutzung; bei Reservierung der volle Preis.",
        True,
    ),
    Category(PORTING, "Modellportierung", "Porting", "Einmaliger Aufwand, verteilt auf die Laufzeit.", False),
    Category(
        "TCO-03", "Datenbewegung", "Data movement", "Übertragung von Daten, Gewichten und Ergebnissen.", True
    ),
    Category("TCO-04", "Speicher", "Storage", "Daten, Checkpoints und Sicherungen.", True),
    Category("TCO-05", "Netzwerk", "Network", "Anschlüsse und Leitungen.", True),
    Category("TCO-06", "Monitoring", "Monitoring", "Überwachung, Protokolle und Alarme.", True),
    Category("TCO-07", "Support", "Support", "Unterstützung durch Anbieter oder Dritte.", True),
    Category(
        IDLE,
        "Leerstand (Auslastung)",
        "Idle capacity",
        "Ungenutzter Teil reservierter Kapazität; wird berechnet.",
        True,
    ),
    Category(
        "TCO-09",
        "Bindung/Exit",
        "Lock-in and exit",
        "Rückstellung für Kündigung, Wechsel und Rückführung.",
        True,
    ),
    Category(
        "TCO-10",
        "Personal/Plattformbetrieb",
        "Personnel and operation",
        "Eigene Arbeit im laufenden Betrieb.",
        False,
    ),
    Category(
        "TCO-11",
        "Energie/Kühlung/Stellfläche",
        "Energy, cooling, space",
        "Soweit nicht im Preis enthalten.",
        True,
    ),
    Category(
        "TCO-12",
        "Beschaffung/Recht/Datenschutz",
        "Procurement, legal, data protection",
        "Eigene Arbeit für Vertrag und Prüfung.",
        False,
    ),
)
BY_CODE: Final = {item.code: item for item in CATEGORIES}
