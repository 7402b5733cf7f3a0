"""Permissions P01 to P42 (spec 3.3). Member grammar: VERB_NOUN; value: the id of the row."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from qms.core.coded import Coded


class Permission(Coded):
    """One row of the permission matrix; who may do it is data of the rule set (`roles.matrix`)."""

    EDIT_WORKLOAD = "P01", _("Workload anlegen/ändern")
    ACCEPT_OWNERSHIP = "P02", _("Owner-Rolle annehmen")
    ASSIGN_OWNER = "P03", _("Owner/Stellvertretung zuweisen")
    PROPOSE_CLASSIFICATION = "P04", _("Objektklassifizierung vorschlagen")
    CONFIRM_CLASSIFICATION = "P05", _("Klassifizierung bestätigen / herabstufen")
    EDIT_PROCESSING_LOCATION = "P06", _("Verarbeitungsort, Transfer, AVV erfassen")
    EDIT_ACCESS_AND_RETENTION = "P07", _("Zugriffs- und Aufbewahrungsplan")
    EDIT_CRITERIA = "P08", _("Qualitätsziele, Abbruchkriterien, Ausweichpfad")
    CONFIRM_FROZEN_CRITERIA = "P09", _("Eingefrorene Kriterien bestätigen")
    CHANGE_FROZEN_CRITERIA = "P10", _("Eingefrorene Kriterien ändern")
    ASSESS_SUITABILITY = "P11", _("Eignungsprüfung")
    START_BASELINE_RUN = "P12", _("Baseline-Lauf starten/erfassen")
    START_TARGET_RUN = "P13", _("Ziellauf starten oder ankündigen")
    UPLOAD_EVIDENCE = "P14", _("Nachweis hochladen")
    REVIEW_EVIDENCE = "P15", _("Nachweis prüfen")
    ASSESS_THREE_LEVELS = "P16", _("Dreiebenenbewertung")
    EDIT_TCO_SHEET = "P17", _("TCO-Blatt erfassen / bestätigen")
    RUN_FALLBACK_DRILL = "P18", _("Ausweichübung durchführen / abnehmen")
    REQUEST_APPROVAL = "P19", _("Freigabe beantragen")
    WITHDRAW_APPROVAL = "P20", _("Antrag zurückziehen")
    COMPLETE_REVIEW = "P21", _("Vollständigkeit prüfen, entscheidungsreif setzen")
    CAST_VOTE = "P22", _("Mitzeichnen / Stellungnahme")
    DECIDE_APPROVAL = "P23", _("Freigeben, bedingt freigeben, ablehnen")
    FULFIL_CONDITION = "P24", _("Auflage erfüllen / Erfüllung bestätigen")
    REQUEST_WAIVER = "P25", _("Ausnahme beantragen / genehmigen")
    SUSPEND_APPROVAL = "P26", _("Sofort aussetzen")
    RESUME_APPROVAL = "P27", _("Wiederaufnahme nach Aussetzung")
    REVOKE_APPROVAL = "P28", _("Widerrufen")
    ACTIVATE_FALLBACK = "P29", _("Ausweichpfad aktivieren")
    REPORT_INCIDENT = "P30", _("Vorfall melden")
    MANAGE_CAPA = "P31", _("CAPA führen / Wirksamkeit prüfen")
    SEAL_DOCUMENT = "P32", _("Freigabe-PDF erzeugen/siegeln")
    READ_AUDIT = "P33", _("Audit-Protokoll lesen")
    EXPORT_AUDIT = "P34", _("Audit-Export erzeugen")
    CHANGE_POLICY = "P35", _("Richtlinienparameter ändern")
    ASSIGN_ROLES = "P36", _("Benutzer, Rollen zuweisen")
    SET_UP_DELEGATION = "P37", _("Vertretung einrichten")
    CONFIRM_DELETION = "P38", _("Löschung bestätigen / Legal Hold")
    CONFIGURE_SYSTEM = "P39", _("Technische Konfiguration, Integrationen")
    MAINTAIN_CLAIMS = "P40", _("Behauptungsregister pflegen")
    RETURN_TO_FALLBACK = "P41", _("Dauerhaft auf den Ausweichpfad zurückführen")
    ASK_OR_ANSWER_QUERY = "P42", _("Rückfrage stellen / beantworten")
