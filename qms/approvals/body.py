"""The document model of a decision: what stands on the pages of the signed PDF (spec 5.1), in German.

Sections whose facts do not exist yet say "nicht geprüft, weil …" or are absent; nothing is filled in.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from qms.approvals import options
from qms.approvals.choices import ApprovalType, Decision, Meaning, VoteValue
from qms.approvals.dossier import BuiltDossier
from qms.approvals.models import Approval, DecisionRecord
from qms.core import formats
from qms.core.values import Assurance, Axes, Metric, Origin, Provenance
from qms.evidence import selectors as evidence
from qms.evidence.choices import STATUS_LABELS, TYPE_LABELS, EvidenceStatus, EvidenceType
from qms.evidence.models import EvidenceItem
from qms.gates import board
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

METRIC_NAMES: dict[str, str] = {
    "throughput_samples_s": "Durchsatz",
    "throughput_tokens_s": "Durchsatz",
    "e2e_latency_ms": "Antwortzeit",
    "peak_memory_bytes": "Speicher",
    "error_rate": "Fehlerquote",
    "energy_joules_per_sample": "Energie je Vorhersage",
}
Block = dict[str, Any]
Section = dict[str, Any]


def document_body(approval: Approval, frozen: DecisionRecord, built: BuiltDossier) -> dict[str, Any]:
    """Return the document model: page 1 for a board, then the sections that have content."""
    decision = Decision(frozen.decision)
    alternative = frozen.alternative
    return {
        "title": _title(approval, decision),
        "language": "de",
        "header": _header(approval, built, decision),
        "board_sentence": _board_sentence(approval, frozen, built, decision, alternative),
        "figures": figures(built),
        "not_checked": not_checked(built),
        "notices": notices(built),
        "sections": [
            _decision_section(approval, frozen, decision, alternative),
            _scope(approval, built),
            _people(approval.workload),
            _classification(approval.workload),
            _quality(approval.workload, built),
            _abort(approval.workload),
            _proof(built),
            _options(approval.workload, built, alternative),
            _gates(built),
            _risks(approval.workload),
            _votes(approval),
            {"number": "14", "title": "Unterschriften und Siegel", "blocks": [{"kind": "signatures"}]},
            _revocation(),
            _attachments(approval.workload),
            _verification(approval),
            _glossary(),
        ],
    }


def board_sentence(approval: Approval, built: BuiltDossier, valid_until: Any) -> str:
    """Return the sentence for page 1 and for the page of the request."""
    target = built.facts.target
    return board.approval_sentence(
        built.report,
        title=approval.workload.title,
        valid_until=valid_until,
        emulated=bool(target and target.emulated),
    )


def figures(built: BuiltDossier) -> list[dict[str, str]]:
    """Return up to three figures with their axes: throughput and latency of the target, throughput today."""
    found = []
    if built.facts.target:
        wanted = [("throughput_samples_s", None), ("e2e_latency_ms", "p95")]
        for key, percentile in wanted:
            metric = _find(built.facts.target.metrics, key, percentile)
            if metric:
                found.append(_figure(_("Zielplattform (emuliert)"), metric))
    if built.facts.baseline:
        metric = _find(built.facts.baseline.metrics, "throughput_samples_s", None) or _find(
            built.facts.baseline.metrics, "throughput_tokens_s", None
        )
        machine = built.facts.baseline.platform.development_machine
        label = _("Vergleichsbasis: Entwicklungsrechner") if machine else _("Vergleichsbasis")
        if metric:
            found.append(_figure(label, metric))
    return found[:3]


def notices(built: BuiltDossier) -> list[str]:
    """Return the sentences that must stand on page 1 (EM-02, EM-08, EM-12)."""
    found = []
    target, baseline = built.facts.target, built.facts.baseline
    if target and target.emulated:
        found.append(_("Zielplattform emuliert – keine Aussage unter realen Bedingungen"))
        note = next((metric.note for metric in target.metrics if metric.key.startswith("throughput")), "")
        if note:
            found.append(note)
    if baseline and baseline.platform.development_machine:
        found.append(_("Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner."))
    return found


def not_checked(built: BuiltDossier) -> list[str]:
    """Return what the rule-set version did not check, per gate, for page 1 (EM-13)."""
    report = built.report
    by_gate: dict[str, list[str]] = {}
    for item in report.not_checked:
        by_gate.setdefault(item.gate, []).append(item.title_de)
    lines = [report.checked_de() + "."]
    return lines + [f"{gate}: {', '.join(titles)}" for gate, titles in by_gate.items()]


def _title(approval: Approval, decision: Decision) -> str:
    name = str(ApprovalType(approval.type).label)
    if approval.type == ApprovalType.PRELIMINARY:
        name = _("Vorfreigabe auf Emulationsbasis")
    return _("Ablehnung: %(name)s") % {"name": name} if decision is Decision.REJECT else name


def _header(approval: Approval, built: BuiltDossier, decision: Decision) -> list[list[str]]:
    level = built.facts.level()
    return [
        [_("Workload"), approval.workload.title],
        [_("Freigabeart"), str(ApprovalType(approval.type).label)],
        [_("Entscheidung"), str(decision.label)],
        [_("Datenklassifizierung"), f"{level.value} {level.label}" if level else "–"],
        [_("Regelwerk"), f"{built.report.rule_set}, {built.report.checked_de()}"],
        [_("Gültigkeit"), _validity(approval)],
    ]


def _validity(approval: Approval) -> str:
    if approval.valid_from is None or approval.valid_until is None:
        return _("keine (abgelehnt)")
    return _("%(start)s bis %(end)s") % {
        "start": formats.day(approval.valid_from),
        "end": formats.day(approval.valid_until),
    }


def _board_sentence(
    approval: Approval, frozen: DecisionRecord, built: BuiltDossier, decision: Decision, alternative: str
) -> str:
    if decision is Decision.REJECT:
        return board.rejection_sentence(
            approval_type=ApprovalType(approval.type),
            title=approval.workload.title,
            alternative=alternative,
            reason=frozen.reason,
        )
    return board_sentence(approval, built, approval.valid_until)


def _figure(label: str, metric: Metric) -> dict[str, str]:
    interval = formats.metric_interval(metric)
    return {
        "label": f"{metric_name(metric)} · {label}",
        "value": formats.metric_value(metric),
        "axes": formats.axes_text(metric.axes),
        "note": _("Modellfehler-Intervall: %(interval)s") % {"interval": interval}
        if interval
        else metric.note,
    }


def metric_name(metric: Metric) -> str:
    """Return the German name of a metric with its percentile."""
    name = METRIC_NAMES.get(metric.key, metric.key)
    return f"{name} {metric.percentile}" if metric.percentile else name


def _find(metrics: tuple[Metric, ...], key: str, percentile: str | None) -> Metric | None:
    return next((item for item in metrics if item.key == key and item.percentile == percentile), None)


def _section(number: str, title: str, *blocks: Block) -> Section:
    return {"number": number, "title": title, "blocks": list(blocks)}


def _facts(rows: list[list[str]]) -> Block:
    return {"kind": "facts", "rows": [[label, value or "–"] for label, value in rows]}


def _paragraph(text: str) -> Block:
    return {"kind": "paragraph", "text": text}


def _table(caption: str, head: list[str], rows: list[list[str]], widths: list[int]) -> Block:
    """Return a table; `widths` in per cent, one per column, in steps of five."""
    return {"kind": "table", "caption": caption, "head": head, "rows": rows, "widths": widths}


def _decision_section(
    approval: Approval, frozen: DecisionRecord, decision: Decision, alternative: str
) -> Section:
    verb = _("abgelehnt") if decision is Decision.REJECT else _("vorfreigegeben")
    wording = _("Der KI-Workload „%(title)s“ wird im nachstehenden Geltungsbereich %(verb)s.") % {
        "title": approval.workload.title,
        "verb": verb,
    }
    rows = [[_("Begründung"), frozen.reason], [_("Gültigkeit"), _validity(approval)]]
    if alternative:
        rows.append([_("Empfohlene Alternative"), alternative])
    rows.append([_("Entscheidung gefasst am"), formats.moment(frozen.created_at)])
    return _section("1", _("Entscheidung"), _paragraph(wording), _facts(rows))


def _scope(approval: Approval, built: BuiltDossier) -> Section:
    workload, target = approval.workload, built.facts.target
    platform = target.platform if target else None
    names = (platform.hardware_gen, platform.system_release, platform.framework_release) if platform else ()
    rows = [
        [_("Workload-Kennung"), str(workload.pk)],
        [_("Zweck"), workload.purpose],
        [_("Geschäftsprozess"), workload.business_process],
        [_("Kritikalität"), str(Criticality(workload.criticality).label) if workload.criticality else ""],
        [_("Modus"), str(Mode(workload.mode).label) if workload.mode else ""],
        [_("Modell"), workload.model_text],
        [_("Modell SHA-256"), workload.model_digest],
        [_("Plattform"), " · ".join(names)],
        [_("Betriebsmodell"), platform.operating_model if platform else ""],
        [_("Inhalt SHA-256"), workload.content_sha256],
    ]
    return _section("2", _("Geltungsbereich"), _facts(rows))


def _people(workload: Workload) -> Section:
    pilot = getattr(workload, "pilot", None)
    fallback = getattr(workload, "fallback", None)
    rows = [
        [_("Workload-Owner"), str(workload.owner or "")],
        [_("Stellvertretung"), str(workload.deputy or "")],
        [_("Pilotleitung"), str(pilot.lead) if pilot else ""],
        [_("Betrieb des Ausweichpfads"), str(fallback.owner) if fallback else ""],
    ]
    return _section("3", _("Verantwortliche"), _facts(rows))


def _classification(workload: Workload) -> Section:
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


def _quality(workload: Workload, built: BuiltDossier) -> Section:
    rows = []
    for target in workload.quality_targets.all():
        found = _find(
            built.facts.target.metrics if built.facts.target else (), target.metric, target.percentile or None
        )
        threshold = (
            f"{Comparator(target.comparator).label} {formats.exact(target.threshold)} {target.unit}".strip()
        )
        rows.append(
            [
                target.target_id,
                METRIC_NAMES.get(target.metric, target.metric)
                + (f" {target.percentile}" if target.percentile else ""),
                target.dataset_version,
                threshold,
                _with_interval(found) if found else _("nicht gemessen"),
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


def _abort(workload: Workload) -> Section:
    rows = [
        [str(AbortCategory(rule.category).label), rule.text, abort_explain.explain(abort_grammar.parse(rule.text))]
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
        "6", _("Abbruchkriterien und Ausweichpfad"), _table(_("Abbruchkriterien"), head, rows, [15, 45, 40]), _facts(path)
    )


def _proof(built: BuiltDossier) -> Section:
    head = [_("Messgröße"), _("Vergleichsbasis"), _("Zielplattform")]
    baseline = (
        {(m.key, m.percentile): m for m in built.facts.baseline.metrics} if built.facts.baseline else {}
    )
    target = {(m.key, m.percentile): m for m in built.facts.target.metrics} if built.facts.target else {}
    keys = list(dict.fromkeys([*baseline, *target]))
    rows = [
        [
            metric_name(baseline.get(key) or target[key]),
            _with_interval(baseline[key]) if key in baseline else "–",
            _with_interval(target[key]) if key in target else "–",
        ]
        for key in keys
    ]
    missing = _("nicht geprüft, weil das Regelwerk in dieser Version dazu keine Angaben hat")
    others = [_("Portierungsaufwand"), _("Auslastung und Break-even"), _("Wiederanlauf"), _("Gesamtkosten")]
    return _section(
        "7",
        _("Entscheidungsnachweis"),
        _table(_("Vergleich mit der Vergleichsbasis"), head, rows, [20, 35, 45]),
        *[{"kind": "note", "text": text} for text in notices(built)],
        _facts([[name, missing] for name in others]),
    )


def _options(workload: Workload, built: BuiltDossier, alternative: str) -> Section:
    rows = options.rows(workload, built, alternative)
    return _section(
        "9", _("Optionenvergleich"), _table(_("Drei Optionen"), options.head(workload), rows, options.WIDTHS)
    )


def _gates(built: BuiltDossier) -> Section:
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
            _("Geprüfte Kriterien"), [_("Kriterium"), _("Titel"), _("Ergebnis"), _("Wert / Schwelle")], rows, [10, 30, 15, 45]
        ),
        _table(_("Nicht geprüft"), [_("Kriterium"), _("Titel"), _("Grund")], skipped, [10, 30, 60]),
    )


def _risks(workload: Workload) -> Section:
    role = AiActRole(workload.ai_act_role).label if workload.ai_act_role else ""
    risk = AiActRiskClass(workload.ai_act_risk_class).label if workload.ai_act_risk_class else ""
    rows = [[_("Rolle nach KI-Verordnung"), str(role)], [_("Risikoklasse nach KI-Verordnung"), str(risk)]]
    return _section("12", _("Risiken und Rechtsgrundlagen"), _facts(rows))


def _votes(approval: Approval) -> Section:
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
    return _section("13", _("Mitzeichnungen und Entscheidung"), _table(_("Handlungen"), head, rows, [15, 15, 10, 20, 15, 15, 10]), *notes)


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


def _revocation() -> Section:
    text = _(
        "Diese Freigabe gilt nur für den beschriebenen Inhalt. Jede Änderung von Zweck, Modell, Daten, "
        "Klassifizierung, Zielen, Abbruchkriterien oder Ausweichpfad macht sie veraltet; dann ist ein neuer Antrag nötig."
    )
    return _section("15", _("Widerruf, Aussetzung, Neufreigabe"), _paragraph(text))


def _attachments(workload: Workload) -> Section:
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
    return _section("16", _("Anlagenverzeichnis"), _table(_("Nachweise"), head, rows, [10, 20, 25, 10, 35]), _paragraph(embedded))


def _axes(item: EvidenceItem) -> Axes:
    return Axes(Provenance(item.provenance), Assurance(item.assurance), Origin(item.origin))


def _verification(approval: Approval) -> Section:
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
    return _section("17", _("Prüfanleitung"), {"kind": "list", "items": steps})


def _glossary() -> Section:
    rows = [
        [_("Herkunft"), _("gemessen, emuliert, Herstellerangabe, abgeleitet oder geschätzt")],
        [_("Absicherung"), _("eingereicht, gegengeprüft, vom Messbefehl signiert oder wiederholt")],
        [_("Quelle"), _("eigen, Dritte oder veröffentlicht")],
        [_("wirksam"), _("entschieden, gesiegelt, nicht veraltet, nicht ausgesetzt und nicht abgelaufen")],
        [_("veraltet"), _("Inhalt oder Nachweise stimmen nicht mehr mit dem überein, was entschieden wurde")],
    ]
    return _section("18", _("Lesehilfe"), _facts(rows))
