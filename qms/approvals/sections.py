"""The sections of the signed document (spec 5.1), one function each, in German.

A section whose facts do not exist yet says "nicht geprüft, weil …"; nothing is filled in.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

from django.conf import settings
from django.utils.translation import gettext as _

from qms.approvals import figures, options
from qms.approvals.choices import Decision, Meaning, VoteValue
from qms.approvals.dossier import BuiltDossier
from qms.approvals.models import Approval, DecisionRecord
from qms.core import formats
from qms.core.values import Assurance, Axes, Metric, Origin, Provenance
from qms.evidence import selectors as evidence
from qms.evidence.choices import STATUS_LABELS, TYPE_LABELS, EvidenceStatus, EvidenceType
from qms.evidence.models import EvidenceItem
from qms.gates import numeric_targets
from qms.gates import services as gates
from qms.roles.roles import Role
from qms.workloads import abort_explain, abort_grammar
from qms.workloads.choices import (
    AbortCategory,
    AiActRiskClass,
    AiActRole,
    Comparator,
    Criticality,
    Level,
    Mode,
    ObjectClass,
)
from qms.workloads.models import Workload

Block = dict[str, Any]
Section = dict[str, Any]


def validity_text(approval: Approval) -> str:
    if approval.valid_from is None or approval.valid_until is None:
        return _("keine (abgelehnt)")
    return _("%(start)s bis %(end)s") % {
        "start": formats.day(approval.valid_from),
        "end": formats.day(approval.valid_until),
    }


def _section(number: str, title: str, *blocks: Block) -> Section:
    return {"number": number, "title": title, "blocks": list(blocks)}


def _facts(rows: list[list[str]]) -> Block:
    return {"kind": "facts", "rows": [[label, value or "–"] for label, value in rows]}


def _paragraph(text: str) -> Block:
    return {"kind": "paragraph", "text": text}


def _table(caption: str, head: list[str], rows: list[list[str]], widths: list[int]) -> Block:
    """Return a table; `widths` in per cent, one per column, in steps of five."""
    return {"kind": "table", "caption": caption, "head": head, "rows": rows, "widths": widths}


def decision_section(
    approval: Approval, frozen: DecisionRecord, decision: Decision, alternative: str
) -> Section:
    verb = _("abgelehnt") if decision is Decision.REJECT else _("vorfreigegeben")
    wording = _("Der KI-Workload „%(title)s“ wird im nachstehenden Geltungsbereich %(verb)s.") % {
        "title": approval.workload.title,
        "verb": verb,
    }
    rows = [[_("Begründung"), frozen.reason], [_("Gültigkeit"), validity_text(approval)]]
    if alternative:
        rows.append([_("Empfohlene Alternative"), alternative])
    rows.append([_("Entscheidung gefasst am"), formats.moment(frozen.created_at)])
    return _section("1", _("Entscheidung"), _paragraph(wording), _facts(rows))


def scope(approval: Approval, built: BuiltDossier) -> Section:
    workload, target = approval.workload, built.facts.target
    platform = target.platform if target else None
    names = (platform.hardware_gen, platform.system_release, platform.framework_release) if platform else ()
    rows = [
        [_("Workload-Kennung"), str(workload.pk)],
        [_("Zweck"), workload.purpose],
        [_("Geschäftsprozess"), workload.business_process],
        [_("Kritikalität"), str(Criticality(workload.criticality).label) if workload.criticality else ""],
        [_("Modus"), str(Mode(workload.mode).label) if workload.mode else ""],
        [_("Modell"), workload.model_name],
        [_("Modell SHA-256"), workload.model_digest],
        *_model_file(workload),
        [_("Plattform"), " · ".join(names)],
        [_("Betriebsmodell"), platform.operating_model if platform else ""],
        [_("Inhalt SHA-256"), workload.content_sha256],
    ]
    return _section("2", _("Geltungsbereich"), _facts(rows))


def _model_file(workload: Workload) -> list[list[str]]:
    if not workload.model_file_sha256:
        return []
    level = Level(workload.model_file_level)
    return [
        [_("Aufzeichnung SHA-256"), workload.model_file_sha256],
        [_("Stufe der Aufzeichnung"), f"{level.value} {level.label}"],
    ]


def people(workload: Workload) -> Section:
    pilot = getattr(workload, "pilot", None)
    fallback = getattr(workload, "fallback", None)
    rows = [
        [_("Workload-Owner"), str(workload.owner or "")],
        [_("Stellvertretung"), str(workload.deputy or "")],
        [_("Pilotleitung"), str(pilot.lead) if pilot else ""],
        [_("Betrieb des Ausweichpfads"), str(fallback.owner) if fallback else ""],
    ]
    return _section("3", _("Verantwortliche"), _facts(rows))


def classification(workload: Workload) -> Section:
    rows = [
        [
            str(ObjectClass(item.object_class).label),
            f"{item.level} {Level(item.level).label}",
            ", ".join(item.flags) or "–",
            " / ".join(item.protection.get(key, "–").lower().replace("_", " ") for key in ("c", "i", "a")),
            str(item.confirmed_by or _("nicht bestätigt")),
        ]
        for item in workload.classifications.select_related("confirmed_by")
    ]
    head = [_("Objektklasse"), _("Stufe"), _("Kennzeichen"), _("Schutzbedarf V/I/V"), _("bestätigt durch")]
    location = getattr(workload, "location", None)
    leaves = _("ja") if location and location.leaves_own_env else _("nein")
    return _section(
        "4",
        _("Datenklassifizierung"),
        _table(_("Sieben Objektklassen"), head, rows, [30, 15, 15, 20, 20]),
        _facts([[_("Daten verlassen die eigene Umgebung"), leaves]]),
    )


def _numeric_values(built: BuiltDossier) -> dict[str, str]:
    """Return the value of each target that the outputs of the run decide (EV-06), by its id."""
    equivalence = built.facts.equivalence
    if equivalence is None:
        return {}
    rows = numeric_targets.judged(built.facts.targets, equivalence)
    return {
        row.target.id: formats.exact_quantity(row.value, row.target.unit)
        for row in rows
        if row.value is not None and row.value.is_finite()
    }


def quality(workload: Workload, built: BuiltDossier) -> Section:
    rows = []
    numeric = _numeric_values(built)
    for target in workload.quality_targets.all():
        found = figures.find(
            built.facts.target.metrics if built.facts.target else (), target.metric, target.percentile or None
        )
        limit = formats.exact_quantity(target.threshold, target.unit)
        threshold = f"{Comparator(target.comparator).label} {limit}"
        rows.append(
            [
                target.target_id,
                figures.METRIC_NAMES.get(target.metric, target.metric)
                + (f" {target.percentile}" if target.percentile else ""),
                target.dataset_version,
                threshold,
                _with_interval(found) if found else numeric.get(target.target_id, _("nicht gemessen")),
            ]
        )
    head = [_("Ziel"), _("Maß"), _("Daten"), _("Schwelle"), _("Zielplattform")]
    blocks = [_table(_("Qualitätsziele"), head, rows, [10, 20, 20, 20, 30])]
    if built.facts.equivalence:
        outputs = built.facts.equivalence.outputs
        blocks.append(
            _paragraph(
                _("Funktionale Gleichheit gegenüber der Vergleichsrechnung: %(count)d Ausgabe(n), %(note)s.")
                % {"count": len(outputs), "note": built.facts.equivalence.note}
            )
        )
    return _section("5", _("Qualitätsniveau"), *blocks)


def _with_interval(metric: Metric) -> str:
    interval = formats.metric_interval(metric)
    value = f"{formats.metric_value(metric)} ({formats.axes_text(metric.axes)})"
    return f"{value}; {interval}" if interval else value


def abort(workload: Workload) -> Section:
    rows = [
        [
            str(AbortCategory(rule.category).label),
            rule.text,
            abort_explain.explain(abort_grammar.parse(rule.text)),
        ]
        for rule in workload.abort_criteria.all()
    ]
    head = [_("Kategorie"), _("Regel"), _("Bedeutung")]
    fallback = getattr(workload, "fallback", None)
    path = [
        [_("Ausweichplattform"), str(fallback.platform) if fallback else ""],
        [_("Schritte"), fallback.steps if fallback else ""],
        [_("Rückkehrzeit (RTO)"), f"{fallback.rto_min} min" if fallback else ""],
        [_("Letzte Übung"), _("nicht geprüft, weil Ausweichübungen in dieser Version nicht erfasst werden")],
    ]
    return _section(
        "6",
        _("Abbruchkriterien und Ausweichpfad"),
        _table(_("Abbruchkriterien"), head, rows, [15, 45, 40]),
        _facts(path),
    )


def proof(built: BuiltDossier) -> Section:
    head = [_("Messgröße"), _("Vergleichsbasis"), _("Zielplattform")]
    baseline = (
        {(m.key, m.percentile): m for m in built.facts.baseline.metrics} if built.facts.baseline else {}
    )
    target = {(m.key, m.percentile): m for m in built.facts.target.metrics} if built.facts.target else {}
    keys = list(dict.fromkeys([*baseline, *target]))
    rows = [
        [
            figures.metric_name(baseline.get(key) or target[key]),
            _with_interval(baseline[key]) if key in baseline else "–",
            _with_interval(target[key]) if key in target else "–",
        ]
        for key in keys
    ]
    missing = _("nicht geprüft, weil das Regelwerk in dieser Version dazu keine Angaben hat")
    others = [_("Auslastung und Break-even"), _("Wiederanlauf"), _("Gesamtkosten")]
    return _section(
        "7",
        _("Entscheidungsnachweis"),
        _table(_("Vergleich mit der Vergleichsbasis"), head, rows, [20, 35, 45]),
        *[{"kind": "note", "text": text} for text in figures.notices(built)],
        _facts(
            [[_("Portierungsaufwand"), figures.porting_effort(built)], *[[name, missing] for name in others]]
        ),
    )


def option_table(workload: Workload, built: BuiltDossier, alternative: str) -> Section:
    rows = options.rows(workload, built, alternative)
    return _section(
        "9", _("Optionenvergleich"), _table(_("Drei Optionen"), options.head(workload), rows, options.WIDTHS)
    )


def gate_results(built: BuiltDossier) -> Section:
    rows = [
        [
            item.row.id,
            item.row.title_de,
            str(item.result.label),
            f"{item.value_de} / {item.threshold_de}".strip(" /"),
        ]
        for item in built.report.criteria
    ]
    skipped = [[item.id, item.title_de, item.reason_de] for item in built.report.not_checked]
    return _section(
        "10",
        _("Gate-Ergebnisse"),
        _paragraph(f"{built.report.rule_set}: {built.report.checked_de()}."),
        _table(
            _("Geprüfte Kriterien"),
            [_("Kriterium"), _("Titel"), _("Ergebnis"), _("Wert / Schwelle")],
            rows,
            [10, 30, 15, 45],
        ),
        _table(_("Nicht geprüft"), [_("Kriterium"), _("Titel"), _("Grund")], skipped, [10, 30, 60]),
    )


def risks(workload: Workload) -> Section:
    role = AiActRole(workload.ai_act_role).label if workload.ai_act_role else ""
    risk = AiActRiskClass(workload.ai_act_risk_class).label if workload.ai_act_risk_class else ""
    rows = [[_("Rolle nach KI-Verordnung"), str(role)], [_("Risikoklasse nach KI-Verordnung"), str(risk)]]
    return _section("12", _("Risiken und Rechtsgrundlagen"), _facts(rows))


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
    asked = {subject.code for subject in rule_set.asked_subjects()}
    skipped = [subject.name_de for subject in rule_set.subjects if subject.code not in asked]
    notes = (
        [{"kind": "note", "text": _("Nicht geprüft: %(names)s.") % {"names": ", ".join(skipped)}}]
        if skipped
        else []
    )
    return _section(
        "13",
        _("Mitzeichnungen und Entscheidung"),
        _table(_("Handlungen"), head, rows, [10, 15, 15, 20, 15, 15, 10]),
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


def revocation() -> Section:
    text = _(
        "Diese Freigabe gilt nur für den beschriebenen Inhalt. Jede Änderung von Zweck, Modell, Daten, "
        "Klassifizierung, Zielen, Abbruchkriterien oder Ausweichpfad macht sie veraltet; dann ist ein neuer Antrag nötig."
    )
    return _section("15", _("Widerruf, Aussetzung, Neufreigabe"), _paragraph(text))


def attachments(workload: Workload) -> Section:
    rows = [
        [
            item.type,
            str(TYPE_LABELS[EvidenceType(item.type)]),
            formats.axes_text(_axes(item)),
            str(STATUS_LABELS[EvidenceStatus(item.status)]),
            item.facts_sha256,
        ]
        for item in evidence.current(workload)
    ]
    head = [_("Nachweis"), _("Titel"), _("Herkunft · Absicherung · Quelle"), _("Status"), _("SHA-256")]
    embedded = _(
        "Eingebettet: entscheidung.json, bestaetigungen.json, protokoll-nachweis.txt. Nachweise per Prüfsumme."
    )
    return _section(
        "16",
        _("Anlagenverzeichnis"),
        _table(_("Nachweise"), head, rows, [10, 20, 25, 10, 35]),
        _paragraph(embedded),
    )


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
    return _section("17", _("Prüfanleitung"), {"kind": "list", "items": steps}, code)


def glossary() -> Section:
    rows = [
        [_("Herkunft"), _("gemessen, emuliert, Herstellerangabe, abgeleitet oder geschätzt")],
        [_("Absicherung"), _("eingereicht, gegengeprüft, vom Messbefehl signiert oder wiederholt")],
        [_("Quelle"), _("eigen, Dritte oder veröffentlicht")],
        [_("wirksam"), _("entschieden, gesiegelt, nicht veraltet, nicht ausgesetzt und nicht abgelaufen")],
        [_("veraltet"), _("Inhalt oder Nachweise stimmen nicht mehr mit dem überein, was entschieden wurde")],
    ]
    return _section("18", _("Lesehilfe"), _facts(rows))
