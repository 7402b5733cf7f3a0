"""Label and tone of every stored code that pages show as a badge (glossary). One severity scale:
ok, info, neutral, warn, bad.
"""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise

TONES: dict[str, tuple[str, str]] = {
    # tone: (icon, class)
    "ok": ("ok", "badge badge--ok"),
    "info": ("info", "badge badge--info"),
    "neutral": ("neutral", "badge"),
    "open": ("open", "badge"),
    "warn": ("warn", "badge badge--warn"),
    "bad": ("bad", "badge badge--bad"),
}

STATUS: dict[str, tuple[Text, str]] = {
    # Freigabe
    "ENTWURF": (_("Entwurf"), "neutral"),
    "EINGEREICHT": (_("Eingereicht"), "info"),
    "IN_PRUEFUNG": (_("In Prüfung"), "info"),
    "RUECKFRAGE": (_("Rückfrage"), "warn"),
    "ENTSCHEIDUNGSREIF": (_("Entscheidungsreif"), "info"),
    "FREIGEGEBEN": (_("Freigegeben"), "ok"),
    "BEDINGT_FREIGEGEBEN": (_("Bedingt freigegeben"), "warn"),
    "ABGELEHNT": (_("Abgelehnt"), "bad"),
    "ZURUECKGEZOGEN": (_("Zurückgezogen"), "neutral"),
    "AUSGESETZT": (_("Ausgesetzt"), "bad"),
    "ZURUECKGEFUEHRT": (_("Zurückgeführt"), "bad"),
    "WIDERRUFEN": (_("Widerrufen"), "bad"),
    "ABGELAUFEN": (_("Abgelaufen"), "warn"),
    "ERSETZT": (_("Ersetzt"), "neutral"),
    # computed states
    "WIRKSAM": (_("wirksam"), "ok"),
    "VERALTET": (_("veraltet"), "warn"),
    "SIEGEL_AUSSTEHEND": (_("Siegel ausstehend"), "warn"),
    "UEBERFAELLIG": (_("Auflage überfällig"), "bad"),
    # conditions
    "NACHGEWIESEN": (_("Nachweis eingereicht"), "info"),
    # types of Freigabe
    "PILOT": (_("Pilotfreigabe"), "neutral"),
    "VORFREIGABE": (_("Vorfreigabe"), "neutral"),
    "PRODUKTION": (_("Produktionsfreigabe"), "neutral"),
    "KAPAZITAET": (_("Kapazitätsfreigabe"), "neutral"),
    # votes
    "ZUSTIMMUNG": (_("Zustimmung"), "ok"),
    "ZUSTIMMUNG_MIT_AUFLAGE": (_("Zustimmung mit Auflage"), "warn"),
    "ABLEHNUNG": (_("Ablehnung"), "bad"),
    # criteria
    "ERFUELLT": (_("erfüllt"), "ok"),
    "NICHT_ERFUELLT": (_("nicht erfüllt"), "bad"),
    "OFFEN": (_("offen"), "open"),
    "NICHT_ANWENDBAR": (_("nicht anwendbar"), "neutral"),
    "AUSNAHME": (_("Ausnahme"), "warn"),
    # evidence
    "NEU": (_("neu"), "info"),
    "GEPRUEFT": (_("geprüft"), "ok"),
    "UNGUELTIG": (_("ungültig"), "bad"),
    "ERNEUT_ZU_BEWERTEN": (_("erneut zu bewerten"), "warn"),
    "MANIPULIERT": (_("manipuliert"), "bad"),
    # runs and jobs
    "WARTET": (_("wartet"), "open"),
    "LAEUFT": (_("läuft"), "info"),
    "BEENDET": (_("beendet"), "ok"),
    "GESTOPPT": (_("gestoppt"), "warn"),
    "FEHLGESCHLAGEN": (_("fehlgeschlagen"), "bad"),
    "ABGEBROCHEN": (_("abgebrochen"), "warn"),
    "GUELTIG": (_("gültig"), "ok"),
    "AUSSERHALB_KALIBRIERUNG": (_("außerhalb der Kalibrierung"), "warn"),
    # workload
    "ERFASST": (_("Erfasst"), "info"),
    "KLASSIFIZIERT": (_("Klassifiziert"), "info"),
    "GEEIGNET": (_("Geeignet"), "ok"),
    "NICHT_GEEIGNET": (_("Nicht geeignet"), "bad"),
    "IM_PILOT": (_("Im Pilot"), "info"),
    "PILOT_ABGESCHLOSSEN": (_("Pilot abgeschlossen"), "info"),
    "VORFREIGEGEBEN": (_("Vorfreigegeben"), "ok"),
    "STILLGELEGT": (_("Stillgelegt"), "neutral"),
    # classification
    "K0": (_("öffentlich"), "neutral"),
    "K1": (_("intern"), "info"),
    "K2": (_("vertraulich"), "warn"),
    "K3": (_("streng vertraulich"), "bad"),
}
