"""Kinds of events: the catalogue of spec 3.15 and what this product needs beyond it (ADR 0140).

Member English, value = the code that stands in the line and in every export; the codes never change. A value
that is not listed here is an error.
"""

from __future__ import annotations

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from qms.core.coded import Coded


class AuditKind(Coded):
    """What happened; the value is the stored and exported code, the label its sentence for pages."""

    # Workload
    WORKLOAD_CREATED = "WORKLOAD_ANGELEGT", _("Workload angelegt.")
    WORKLOAD_CHANGED = "WORKLOAD_GEAENDERT", _("Inhalt des Workloads geändert, neue Version.")
    WORKLOAD_STATUS_CHANGED = "WORKLOAD_STATUS_GEAENDERT", _("Status des Workloads geändert.")
    WORKLOAD_DECOMMISSIONED = "WORKLOAD_STILLGELEGT", _("Workload stillgelegt.")
    OWNER_PROPOSED = "OWNER_VORGESCHLAGEN", _("Verantwortliche Person für den Workload vorgeschlagen.")
    OWNER_ACCEPTED = "OWNER_ANGENOMMEN", _("Verantwortung für den Workload angenommen.")
    OWNER_DECLINED = "OWNER_ABGELEHNT", _("Verantwortung für den Workload abgelehnt.")
    GATE_MET = "GATE_ERFUELLT", _("Gate oder Kriterium erfüllt.")
    GATE_NOT_MET = "GATE_NICHT_ERFUELLT", _("Kriterium nicht erfüllt.")
    CLASSIFICATION_PROPOSED = "KLASSIFIZIERUNG_VORGESCHLAGEN", _("Datenklassifizierung vorgeschlagen.")
    CLASSIFICATION_CONFIRMED = "KLASSIFIZIERUNG_BESTAETIGT", _("Datenklassifizierung bestätigt.")
    CLASSIFICATION_DOWNGRADED = "KLASSIFIZIERUNG_HERABGESTUFT", _("Datenklassifizierung herabgestuft.")
    TRANSFER_INADMISSIBLE = "TRANSFER_UNZULAESSIG", _("Ort oder Übermittlung verletzt Klasse oder Regeln.")
    SUITABILITY_ASSESSED = "EIGNUNG_BEWERTET", _("Eignung bewertet.")
    CRITERIA_FROZEN = "KRITERIEN_EINGEFROREN", _("Kriterien eingefroren.")
    CRITERIA_CHANGED = "KRITERIEN_GEAENDERT", _("Eingefrorene Kriterien geändert, neue Version.")

    # Pilots and runs
    PILOT_CREATED = "PILOT_ANGELEGT", _("Pilot angelegt.")
    PILOT_CHANGED = "PILOT_GEAENDERT", _("Pilot geändert.")
    PILOT_STATUS_CHANGED = "PILOT_STATUS_GEAENDERT", _("Status des Pilots geändert.")
    ARTEFACT_STORED = "ARTEFAKT_HINTERLEGT", _("Modell, Datensatz oder anderes Artefakt hinterlegt.")
    ARTEFACT_RETRIEVED = "ARTEFAKT_ABGERUFEN", _("Modell, Datensatz oder anderes Artefakt heruntergeladen.")
    RUN_ANNOUNCED = "LAUF_ANGEKUENDIGT", _("Lauf auf einer echten Plattform angekündigt.")
    RUN_STARTED = "LAUF_GESTARTET", _("Lauf gestartet.")
    RUN_FINISHED = "LAUF_BEENDET", _("Lauf beendet.")
    RUN_REFUSED = "LAUF_VERWEIGERT", _("Start des Laufs verweigert.")
    RUN_STOPPED = "LAUF_GESTOPPT", _("Lauf gestoppt.")
    RUN_FAILED = "LAUF_FEHLGESCHLAGEN", _("Lauf fehlgeschlagen.")
    RUN_CANCELLED = "LAUF_ABGEBROCHEN", _("Lauf abgebrochen.")
    RUN_INVALIDATED = "LAUF_UNGUELTIG", _("Lauf für ungültig erklärt.")
    REPLAY_STARTED = "NACHRECHNUNG_GESTARTET", _("Nachrechnung eines Laufs gestartet.")
    REPLAY_FINISHED = "NACHRECHNUNG_BEENDET", _("Nachrechnung eines Laufs beendet.")
    REPLAY_FAILED = "NACHRECHNUNG_FEHLGESCHLAGEN", _("Nachrechnung eines Laufs fehlgeschlagen.")

    # Evidence
    EVIDENCE_SUBMITTED = "NACHWEIS_EINGEREICHT", _("Nachweis eingereicht.")
    EVIDENCE_REFUSED = "NACHWEIS_VERWEIGERT", _("Datei als Nachweis nicht angenommen.")
    EVIDENCE_REVIEWED = "NACHWEIS_GEPRUEFT", _("Nachweis geprüft und angenommen.")
    EVIDENCE_REJECTED = "NACHWEIS_ABGELEHNT", _("Nachweis abgelehnt.")
    EVIDENCE_INVALIDATED = "NACHWEIS_UNGUELTIG", _("Nachweis für ungültig erklärt.")
    EVIDENCE_RETRIEVED = "NACHWEIS_ABGERUFEN", _("Nachweis heruntergeladen.")
    ASSURANCE_CHANGED = "ABSICHERUNG_GEAENDERT", _("Absicherung eines Nachweises geändert.")
    EVIDENCE_TO_REASSESS = "NACHWEIS_NEU_ZU_BEWERTEN", _("Nachweis ist erneut zu bewerten.")
    EVIDENCE_TAMPERED = (
        "NACHWEIS_MANIPULIERT",
        _("Datei des Nachweises passt nicht zur gespeicherten Prüfsumme."),
    )
    FALLBACK_DRILL_ACCEPTED = "AUSWEICHUEBUNG_ABGENOMMEN", _("Ausweichübung abgenommen.")
    FALLBACK_DRILL_RECORDED = "AUSWEICHUEBUNG_ERFASST", _("Ausweichübung erfasst.")
    TCO_RECORDED = "TCO_ERFASST", _("Kostenblatt erfasst.")
    TCO_CONFIRMED = "TCO_BESTAETIGT", _("Kostenblatt bestätigt.")
    CLAIM_CHANGED = "BEHAUPTUNG_GEAENDERT", _("Status einer Behauptung geändert.")

    # Requests, votes, decisions
    REQUEST_CREATED = "ANTRAG_ANGELEGT", _("Freigabeantrag angelegt.")
    REQUEST_CHANGED = "ANTRAG_GEAENDERT", _("Freigabeantrag geändert.")
    REQUEST_SUBMITTED = "ANTRAG_EINGEREICHT", _("Freigabeantrag eingereicht.")
    SUBMISSION_REFUSED = "EINREICHUNG_VERWEIGERT", _("Einreichung verweigert.")
    REQUEST_RETURNED = "ANTRAG_ZURUECKGEGEBEN", _("Freigabeantrag zurückgegeben.")
    REQUEST_ACCEPTED = "ANTRAG_ANGENOMMEN", _("Freigabeantrag zur Prüfung angenommen.")
    QUERY_RAISED = "RUECKFRAGE_GESTELLT", _("Rückfrage gestellt.")
    QUERY_ANSWERED = "RUECKFRAGE_BEANTWORTET", _("Rückfrage beantwortet.")
    QUERY_LAPSED = "RUECKFRAGE_VERFALLEN", _("Rückfrage ohne Antwort verfallen.")
    REQUEST_WITHDRAWN = "ANTRAG_ZURUECKGEZOGEN", _("Freigabeantrag zurückgezogen.")
    VOTE_CAST = "MITZEICHNUNG_ABGEGEBEN", _("Mitzeichnung abgegeben.")
    VOTE_RESET = (
        "MITZEICHNUNG_ZURUECKGESETZT",
        _("Mitzeichnung zurückgesetzt, ihre Grundlage hat sich geändert."),
    )
    OPINION_GIVEN = "STELLUNGNAHME_ABGEGEBEN", _("Stellungnahme des Datenschutzes abgegeben.")
    READY_FOR_DECISION = "FREIGABE_ENTSCHEIDUNGSREIF", _("Freigabe als entscheidungsreif bestätigt.")
    DECISION_FROZEN = "ENTSCHEIDUNG_EINGEFROREN", _("Wortlaut der Entscheidung festgelegt.")
    ACT_RECORDED = "BESTAETIGUNG_ABGEGEBEN", _("Freigabebestätigung einer entscheidenden Person abgegeben.")
    ACT_REFUSED = "SIGNATUR_VERWEIGERT", _("Bestätigung nicht angenommen.")
    APPROVAL_GRANTED = "FREIGABE_ERTEILT", _("Freigabe erteilt.")
    APPROVAL_GRANTED_WITH_CONDITIONS = "FREIGABE_BEDINGT_ERTEILT", _("Bedingte Freigabe erteilt.")
    APPROVAL_REJECTED = "FREIGABE_ABGELEHNT", _("Freigabe abgelehnt.")
    CONDITION_IMPOSED = "AUFLAGE_ERTEILT", _("Auflage erteilt.")
    CONDITION_PROVEN = "AUFLAGE_NACHGEWIESEN", _("Nachweis zu einer Auflage eingereicht.")
    CONDITION_PROOF_RETURNED = "AUFLAGE_ZURUECKGEGEBEN", _("Nachweis zu einer Auflage zurückgegeben.")
    CONDITION_MET = "AUFLAGE_ERFUELLT", _("Erfüllung einer Auflage bestätigt.")
    CONDITION_OVERDUE = "AUFLAGE_UEBERFAELLIG", _("Frist einer Auflage überschritten.")
    WAIVER_REQUESTED = "AUSNAHME_BEANTRAGT", _("Ausnahme beantragt.")
    WAIVER_GRANTED = "AUSNAHME_ERTEILT", _("Ausnahme erteilt.")
    WAIVER_REJECTED = "AUSNAHME_ABGELEHNT", _("Ausnahme abgelehnt.")
    WAIVER_ENDED = "AUSNAHME_BEENDET", _("Ausnahme beendet.")
    ADDENDUM_CREATED = "NACHTRAG_ERSTELLT", _("Nachtrag zum Freigabedokument erstellt.")
    APPROVAL_SUSPENDED = "FREIGABE_AUSGESETZT", _("Freigabe ausgesetzt.")
    APPROVAL_RESUMED = "FREIGABE_WIEDERAUFGENOMMEN", _("Freigabe wieder aufgenommen.")
    APPROVAL_RETURNED = "FREIGABE_ZURUECKGEFUEHRT", _("Betrieb auf den Ausweichpfad zurückgeführt.")
    APPROVAL_REVOKED = "FREIGABE_WIDERRUFEN", _("Freigabe widerrufen.")
    APPROVAL_EXPIRED = "FREIGABE_ABGELAUFEN", _("Freigabe abgelaufen.")
    APPROVAL_SUPERSEDED = "FREIGABE_ERSETZT", _("Freigabe durch eine neue ersetzt.")
    REASSESSMENT_TRIGGERED = "NEUBEWERTUNG_AUSGELOEST", _("Neubewertung ausgelöst.")

    # Operation
    WARNING_RAISED = "WARNUNG_AUSGELOEST", _("Warnung ausgelöst.")
    ABORT_TRIGGERED = "ABBRUCH_AUSGELOEST", _("Abbruchkriterium verletzt.")
    FALLBACK_ACTIVATED = "AUSWEICHPFAD_AKTIVIERT", _("Ausweichpfad aktiviert.")
    INCIDENT_OPENED = "VORFALL_ANGELEGT", _("Vorfall angelegt.")
    INCIDENT_CLOSED = "VORFALL_GESCHLOSSEN", _("Vorfall geschlossen.")
    CAPA_OPENED = "CAPA_ANGELEGT", _("Korrektur- und Vorbeugungsmaßnahme angelegt.")
    CAPA_CLOSED = "CAPA_ABGESCHLOSSEN", _("Korrektur- und Vorbeugungsmaßnahme abgeschlossen.")
    DEADLINE_STARTED = "FRIST_GESTARTET", _("Frist gestartet.")
    DEADLINE_PASSED = "FRIST_UEBERSCHRITTEN", _("Frist überschritten.")
    REMINDER_SENT = "ERINNERUNG_VERSENDET", _("Erinnerung versendet.")

    # Refusals
    SOD_VIOLATION = "SOD_VERLETZUNG", _("Handlung wegen Funktionstrennung verweigert.")
    ACCESS_REFUSED = "ZUGRIFF_VERWEIGERT", _("Zugriff verweigert.")
    CHANGE_REFUSED = "AENDERUNG_VERWEIGERT", _("Änderung verweigert, der Stand lässt sie nicht zu.")

    # Documents
    DOCUMENT_RENDERED = "DOKUMENT_ERZEUGT", _("Freigabedokument erzeugt.")
    OPENING_SEAL_SET = "EINGANGSSIEGEL_GESETZT", _("Eingangssiegel gesetzt, Inhalt festgelegt.")
    SIGNATURE_SET = "SIGNATUR_GESETZT", _("Feld einer Person im Freigabedokument unterzeichnet.")
    CLOSING_SEAL_SET = "ABSCHLUSSSIEGEL_GESETZT", _("Abschlusssiegel gesetzt, Dokument geschlossen.")
    DOCUMENT_SEALED = "DOKUMENT_GESIEGELT", _("Freigabedokument gesiegelt und geprüft.")
    SEALING_REQUESTED = "SIEGELUNG_ANGEFORDERT", _("Siegelung angefordert.")
    SEALING_FAILED = "SIEGELUNG_FEHLGESCHLAGEN", _("Siegelung fehlgeschlagen.")
    DOCUMENT_VERIFIED = "DOKUMENT_GEPRUEFT", _("Dokument geprüft.")
    DOCUMENT_RENEWED = "DOKUMENT_ERNEUERT", _("Archivzeitstempel des Dokuments erneuert.")
    DOCUMENT_RETRIEVED = "DOKUMENT_ABGERUFEN", _("Freigabedokument heruntergeladen.")
    DOCUMENT_REFUSED = "DOKUMENT_VERWEIGERT", _("Dokument verweigert, die Entscheidung fehlt.")

    # Deletion and the log itself
    DATA_ERASED = "DATEN_GELOESCHT", _("Daten gelöscht.")
    ERASURE_REFUSED = "LOESCHUNG_VERWEIGERT", _("Löschung verweigert.")
    DISCLOSURE_ERASED = "OFFENLEGUNG_GELOESCHT", _("Klartext eines Prüfwerts gelöscht.")
    LOG_INVALID = "KETTE_UNGUELTIG", _("Prüfung des Audit-Protokolls fehlgeschlagen.")
    LOG_VERIFIED = "PROTOKOLL_GEPRUEFT", _("Audit-Protokoll geprüft.")
    LOG_RESTORED = "PROTOKOLL_WIEDERHERGESTELLT", _("Wiederhergestelltes Audit-Protokoll bestätigt.")
    LOG_PRUNED = "PROTOKOLL_GEKUERZT", _("Inhalte alter Ereignisse nach Ablauf der Aufbewahrung entfernt.")
    BACKUP_CREATED = "SICHERUNG_ERSTELLT", _("Sicherung erstellt.")

    # Keys and certificates
    KEY_ISSUED = "SCHLUESSEL_AUSGESTELLT", _("Schlüssel ausgestellt.")
    KEY_ROTATED = "SCHLUESSEL_GEWECHSELT", _("Schlüssel gewechselt.")
    KEY_REVOKED = "SCHLUESSEL_WIDERRUFEN", _("Schlüssel widerrufen.")
    KEY_DESTROYED = "SCHLUESSEL_VERNICHTET", _("Schlüssel vernichtet.")
    MEASURING_KEY_REGISTERED = (
        "MESSSCHLUESSEL_REGISTRIERT",
        _("Schlüssel für signierte Messungen registriert."),
    )
    MEASURING_KEY_REVOKED = "MESSSCHLUESSEL_WIDERRUFEN", _("Schlüssel für signierte Messungen widerrufen.")
    CERTIFICATE_ISSUED = "ZERTIFIKAT_AUSGESTELLT", _("Zertifikat ausgestellt.")
    CERTIFICATE_REVOKED = "ZERTIFIKAT_WIDERRUFEN", _("Zertifikat widerrufen.")

    # Accounts, people, roles
    SETUP_COMPLETED = (
        "ERSTEINRICHTUNG_ABGESCHLOSSEN",
        _("Ersteinrichtung abgeschlossen, erstes Konto angelegt."),
    )
    ACCOUNT_CREATED = "KONTO_ANGELEGT", _("Konto angelegt.")
    ACCOUNT_CHANGED = "KONTO_GEAENDERT", _("Konto geändert.")
    ACCOUNT_INVITED = "KONTO_EINGELADEN", _("Einladung zu einem Konto versendet.")
    INVITATION_ACCEPTED = "KONTO_EINLADUNG_ANGENOMMEN", _("Einladung zu einem Konto angenommen.")
    INVITATION_WITHDRAWN = "KONTO_EINLADUNG_ZURUECKGEZOGEN", _("Einladung zu einem Konto zurückgezogen.")
    PERSON_CREATED = "PERSON_ANGELEGT", _("Person angelegt.")
    PERSON_CHANGED = "PERSON_GEAENDERT", _("Angaben zu einer Person geändert.")
    IDENTITY_CONFIRMED = "IDENTITAET_BESTAETIGT", _("Identität einer Person bestätigt.")
    SIGNED_IN = "ANMELDUNG_ERFOLGT", _("Anmeldung erfolgt.")
    SIGN_IN_FAILED = "ANMELDUNG_FEHLGESCHLAGEN", _("Anmeldung fehlgeschlagen.")
    SIGN_IN_BLOCKED = "ANMELDUNG_GESPERRT", _("Anmeldung nach wiederholten Fehlversuchen gesperrt.")
    SESSION_ENDED = "SITZUNG_BEENDET", _("Sitzung beendet.")
    PASSKEY_ENROLLED = "PASSKEY_REGISTRIERT", _("Passkey registriert.")
    PASSKEY_REMOVED = "PASSKEY_ENTFERNT", _("Passkey entfernt.")
    CREDENTIAL_CHANGED = "ANMELDEMITTEL_GEAENDERT", _("Anmeldemittel geändert.")
    ACCESS_TOKEN_CREATED = "ZUGANGSTOKEN_ERZEUGT", _("Zugangstoken eines Dienstkontos erzeugt.")
    ACCESS_TOKEN_REVOKED = "ZUGANGSTOKEN_WIDERRUFEN", _("Zugangstoken eines Dienstkontos widerrufen.")
    ROLE_REQUESTED = "ROLLE_BEANTRAGT", _("Rolle beantragt.")
    ROLE_CONFIRMED = "ROLLE_BESTAETIGT", _("Beantragte Rolle bestätigt.")
    ROLE_REJECTED = "ROLLE_ABGELEHNT", _("Beantragte Rolle abgelehnt.")
    ROLE_CHANGED = "ROLLE_GEAENDERT", _("Rolle zugewiesen oder entzogen.")
    ACCESS_GRANTED = "ZUGRIFF_ERTEILT", _("Zugriff auf einen Workload erteilt.")
    ACCESS_REVOKED = "ZUGRIFF_ENTZOGEN", _("Zugriff auf einen Workload entzogen.")
    ACCESS_REVIEWED = "ZUGRIFF_UEBERPRUEFT", _("Rollen und Zugriffe überprüft.")
    DELEGATION_CREATED = "VERTRETUNG_EINGERICHTET", _("Vertretung eingerichtet.")
    DELEGATION_ENDED = "VERTRETUNG_BEENDET", _("Vertretung beendet.")

    # Exports
    EXPORT_CREATED = "EXPORT_ERSTELLT", _("Audit-Export erstellt.")
    EXPORT_COMPLETED = "EXPORT_ABGESCHLOSSEN", _("Datei des Audit-Exports fertiggestellt.")
    EXPORT_FAILED = "EXPORT_FEHLGESCHLAGEN", _("Audit-Export fehlgeschlagen.")
    EXPORT_RETRIEVED = "EXPORT_ABGERUFEN", _("Audit-Export heruntergeladen.")
    EXPORT_DELETED = "EXPORT_GELOESCHT", _("Datei des Audit-Exports gelöscht.")

    # Rules, organisation, platforms
    POLICY_CHANGED = "RICHTLINIE_GEAENDERT", _("Richtlinienparameter oder Regelwerk geändert.")
    ORGANISATION_CHANGED = "ORGANISATION_GEAENDERT", _("Angaben zur Organisation geändert.")
    ORGANISATION_FACT_RECORDED = (
        "ORGANISATIONSNACHWEIS_ERFASST",
        _("Angabe für Organisation oder Plattform erfasst."),
    )
    PLATFORM_PROFILE_CREATED = "PLATTFORMPROFIL_ANGELEGT", _("Plattformprofil angelegt.")
    PLATFORM_PROFILE_CHANGED = "PLATTFORMPROFIL_GEAENDERT", _("Plattformprofil geändert.")
    PLATFORM_PROFILE_RETIRED = "PLATTFORMPROFIL_STILLGELEGT", _("Plattformprofil stillgelegt.")
    DEMO_SEEDED = "DEMODATEN_ANGELEGT", _("Musterdaten der Demonstration angelegt.")


SENTENCES: Final[dict[AuditKind, str | Promise]] = {kind: kind.label for kind in AuditKind}

LEGALLY_RELEVANT: Final = frozenset(
    {
        AuditKind.REQUEST_SUBMITTED,
        AuditKind.REQUEST_WITHDRAWN,
        AuditKind.VOTE_CAST,
        AuditKind.OPINION_GIVEN,
        AuditKind.READY_FOR_DECISION,
        AuditKind.DECISION_FROZEN,
        AuditKind.ACT_RECORDED,
        AuditKind.APPROVAL_GRANTED,
        AuditKind.APPROVAL_GRANTED_WITH_CONDITIONS,
        AuditKind.APPROVAL_REJECTED,
        AuditKind.CONDITION_MET,
        AuditKind.WAIVER_GRANTED,
        AuditKind.WAIVER_REJECTED,
        AuditKind.ADDENDUM_CREATED,
        AuditKind.APPROVAL_SUSPENDED,
        AuditKind.APPROVAL_RESUMED,
        AuditKind.APPROVAL_RETURNED,
        AuditKind.APPROVAL_REVOKED,
        AuditKind.APPROVAL_EXPIRED,
        AuditKind.APPROVAL_SUPERSEDED,
        AuditKind.ABORT_TRIGGERED,
        AuditKind.FALLBACK_ACTIVATED,
        AuditKind.DOCUMENT_SEALED,
        AuditKind.DOCUMENT_RENEWED,
        AuditKind.DATA_ERASED,
        AuditKind.DISCLOSURE_ERASED,
        AuditKind.LOG_INVALID,
        AuditKind.LOG_RESTORED,
        AuditKind.LOG_PRUNED,
        AuditKind.KEY_ROTATED,
        AuditKind.KEY_REVOKED,
        AuditKind.CERTIFICATE_REVOKED,
        AuditKind.SETUP_COMPLETED,
        AuditKind.IDENTITY_CONFIRMED,
        AuditKind.PASSKEY_ENROLLED,
        AuditKind.PASSKEY_REMOVED,
        AuditKind.ROLE_CONFIRMED,
        AuditKind.ROLE_CHANGED,
        AuditKind.DELEGATION_CREATED,
        AuditKind.POLICY_CHANGED,
    }
)
"""Kinds after which a checkpoint is signed at once (audit.md, D5)."""
