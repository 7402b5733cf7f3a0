"""The sections of the signed document that say who acted and how to check it (spec 5.1: 11, 13 and 15 to 18), in German."""

from __future__ import annotations

from datetime import date
from typing import Any
from urllib.parse import urljoin

from django.conf import settings
from django.utils.translation import gettext as _

from qms.approvals import blocks
from qms.approvals.blocks import Section
from qms.approvals.choices import Decision, Meaning, Severity, VoteValue
from qms.approvals.conditions import grace_days, stated
from qms.approvals.models import Approval, DecisionRecord
from qms.core import formats
from qms.core.values import Assurance, Axes, Origin, Provenance
from qms.evidence import selectors as evidence
from qms.evidence.choices import STATUS_LABELS, TYPE_LABELS, EvidenceStatus, EvidenceType
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.roles.roles import Role
from qms.workloads.models import Workload


def votes(approval: Approval) -> Section:
    rule_set = gates.rule_set()
    names = {subject.code: subject.name_de for subject in rule_set.subjects}
    rows = []
    for vote in approval.votes.filter(reset_at__isnull=True).select_related("person", "act"):
        answers = "; ".join(
            f"{names.get(row['subject'], row['subject'])}: {VoteValue(row['value']).label}"
            for row in vote.subjects
        )
        rows.append(_act_row(rule_set.role_name_de(Role(vote.role)), vote, answers))
    for decided in approval.decisions.select_related("person", "act"):
        label = str(Decision(decided.decision).label)
        rows.append(_act_row(rule_set.role_name_de(Role(decided.role)), decided, label))
    head = [_("Rolle"), _("Name"), _("Bedeutung"), _("Wert"), _("Begründung"), _("Zeit"), _("bestätigt mit")]
    asked = {subject.code for subject in gates.asked_subjects(approval.workload)}
    skipped = [subject.name_de for subject in rule_set.subjects if subject.code not in asked]
    notes = (
        [{"kind": "note", "text": _("Nicht geprüft: %(names)s.") % {"names": ", ".join(skipped)}}]
        if skipped
        else []
    )
    return blocks.section(
        "13",
        _("Mitzeichnungen und Entscheidung"),
        blocks.table(_("Handlungen"), head, rows, [10, 15, 15, 20, 15, 15, 10]),
        *notes,
    )


def _act_row(role: str, row: Any, value: str) -> list[str]:
    return [
        role,
        row.act.name,
        str(Meaning(row.meaning).label),
        value,
        row.reason or "–",
        formats.signature_moment(row.created_at),
        _("Passkey mit Nutzerprüfung") if row.act.method == "PASSKEY" else _("Passwort und Einmalcode"),
    ]


def conditions(frozen: DecisionRecord) -> Section:
    """Return the conditions as the signed record states them (section 11)."""
    title, rows = _("Auflagen und Ausnahmen"), stated(frozen)
    if not rows:
        return blocks.section("11", title, blocks.paragraph(_("Es gibt keine Auflagen und keine Ausnahmen.")))
    cells = [
        [
            str(row["position"]),
            f"{row['title']} ({row['criterion']})",
            row["text"],
            row["measure"],
            row["owner"]["name"],
            formats.day(date.fromisoformat(row["due"])),
            str(Severity(row["severity"]).label),
        ]
        for row in rows
    ]
    head = [
        _("Nr."),
        _("Kriterium"),
        _("Auflage"),
        _("erfüllt, wenn"),
        _("verantwortlich"),
        _("fällig am"),
        _("Schwere"),
    ]
    note = _(
        "Ist eine Auflage der Schwere hoch oder sofort überfällig, ist die Freigabe nicht mehr wirksam; bei normaler "
        "Schwere nach %(days)d Werktagen Nachfrist."
    )
    return blocks.section(
        "11",
        title,
        blocks.table(_("Auflagen"), head, cells, [5, 15, 25, 20, 15, 10, 10]),
        blocks.note(note % {"days": grace_days()}),
        blocks.paragraph(_("Ausnahmen gibt es keine.")),
    )


def revocation() -> Section:
    text = _(
        "Diese Freigabe gilt nur für den beschriebenen Inhalt. Jede Änderung von Zweck, Modell, Daten, "
        "Klassifizierung, Zielen, Abbruchkriterien oder Ausweichpfad macht sie veraltet; dann ist ein neuer Antrag nötig."
    )
    return blocks.section("15", _("Widerruf, Aussetzung, Neufreigabe"), blocks.paragraph(text))


def attachments(workload: Workload) -> Section:
    rows = [
        [
            item.type,
            _evidence_title(item),
            formats.axes_text(_axes(item)),
            str(STATUS_LABELS[EvidenceStatus(item.status)]),
            item.facts_sha256,
        ]
        for item in evidence.counting(workload)
    ]
    head = [_("Nachweis"), _("Titel"), _("Herkunft · Absicherung · Quelle"), _("Status"), _("SHA-256")]
    embedded = _(
        "Eingebettet: entscheidung.json, bestaetigungen.json, protokoll-nachweis.txt. Nachweise per Prüfsumme."
    )
    return blocks.section(
        "16",
        _("Anlagenverzeichnis"),
        blocks.table(_("Nachweise"), head, rows, [10, 20, 25, 10, 35]),
        blocks.paragraph(embedded),
    )


def _evidence_title(item: EvidenceItem) -> str:
    title = str(TYPE_LABELS[EvidenceType(item.type)])
    if item.workload_id is not None or item.valid_until is None:
        return title
    return _("%(title)s, übernommen von %(holder)s, gültig bis %(day)s") % {
        "title": title,
        "holder": item.holder,
        "day": formats.day(item.valid_until),
    }


def _axes(item: EvidenceItem) -> Axes:
    return Axes(Provenance(item.provenance), Assurance(item.assurance), Origin(item.origin))


def verification(approval: Approval, frozen: DecisionRecord) -> Section:
    steps = [
        _(
            "Siegel und Unterschriften prüfen: pdfsig -no-ocsp DATEI oder python -m qms.signing.verify DATEI --root WURZEL.pem."
        ),
        _(
            "Wurzelzertifikat und Protokollschlüssel mit der Veröffentlichung der Organisation vergleichen, nie nur mit dem Paket."
        ),
        _("Audit-Export entpacken: python3 pruefen.py VERZEICHNIS --schluessel SCHLUESSEL."),
        _(
            "Aktuellen Status abfragen: Das PDF zeigt den Stand der Unterzeichnung, nicht ob die Freigabe heute wirksam ist."
        ),
        _("Bei Abweichung: nicht verwenden, Qualitätsmanagement informieren."),
    ]
    address = urljoin(settings.PUBLIC.url, f"/v/{approval.number}/?h={frozen.sha256}")
    code = {
        "kind": "qr",
        "text": address,
        "alt": _("Adresse der Statusseite als QR-Code"),
        "caption": _("Aktueller Status: %(address)s")
        % {"address": urljoin(settings.PUBLIC.url, f"/v/{approval.number}/")},
    }
    return blocks.section("17", _("Prüfanleitung"), {"kind": "list", "items": steps}, code)


def glossary() -> Section:
    rows = [
        [_("Herkunft"), _("gemessen, emuliert, Herstellerangabe, abgeleitet oder geschätzt")],
        [_("Absicherung"), _("eingereicht, gegengeprüft, vom Messbefehl signiert oder wiederholt")],
        [_("Quelle"), _("eigen, Dritte oder veröffentlicht")],
        [_("wirksam"), _("entschieden, gesiegelt, nicht veraltet, nicht ausgesetzt und nicht abgelaufen")],
        [_("veraltet"), _("Inhalt oder Nachweise stimmen nicht mehr mit dem überein, was entschieden wurde")],
    ]
    return blocks.section("18", _("Lesehilfe"), blocks.facts(rows))
