"""Codes of runs (glossary): stored value is the catalogue's, label is translated."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from qms.core.coded import Coded


class RunRole(Coded):
    """What the run is for."""

    BASELINE = "BASELINE", _("Vergleichsbasis (Baseline)")
    TARGET = "ZIEL", _("Ziellauf")


class RunSource(Coded):
    """Who produced the values."""

    MEASURING_COMMAND = "MESSBEFEHL", _("Messbefehl")
    EMULATOR = "EMULATOR", _("Emulator")
    IMPORT = "IMPORT", _("Import")


class ExitState(Coded):
    """How the run ended; empty while its Job waits or runs."""

    COMPLETED = "BEENDET", _("beendet")
    STOPPED = "GESTOPPT", _("gestoppt")
    FAILED = "FEHLGESCHLAGEN", _("fehlgeschlagen")
    CANCELLED = "ABGEBROCHEN", _("abgebrochen")


class RunValidity(Coded):
    """Whether the values may be used."""

    VALID = "GUELTIG", _("gültig")
    INVALID = "UNGUELTIG", _("ungültig")
    OUTSIDE_CALIBRATION = "AUSSERHALB_KALIBRIERUNG", _("außerhalb der Kalibrierung")


EFFORT_LABELS = {
    "MODELLCODE": _("Modellcode"),
    "DATENPIPELINE": _("Datenpipeline"),
    "PLATTFORMBETRIEB": _("Plattformbetrieb"),
    "SICHERHEIT_DATENSCHUTZ": _("Sicherheit und Datenschutz"),
    "TESTS": _("Tests"),
}
"""The categories of the effort of porting (spec S086), by the code of the evidence file."""
