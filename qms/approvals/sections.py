"""The sections of the signed document that describe what is decided upon (spec 5.1: 1 to 6 and 10), in German.

A section whose facts do not exist yet says "nicht geprüft, weil …"; nothing is filled in.
"""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.approvals import blocks, figures
from qms.approvals.blocks import Section
from qms.approvals.choices import Decision
from qms.approvals.dossier import BuiltDossier
from qms.approvals.models import Approval, DecisionRecord
from qms.core import formats
from qms.gates import numeric_targets
from qms.gates.report import Verdict
from qms.workloads import abort_explain, abort_grammar
from qms.workloads.choices import (
    AbortCategory,
    Comparator,
    Criticality,
    Level,
    Mode,
    ObjectClass,
)
from qms.workloads.models import Workload


def validity_text(approval: Approval) -> str:
    if approval.valid_from is None or approval.valid_until is None:
        return _("keine (abgelehnt)")
    return _("%(start)s bis %(end)s") % {
        "start": formats.day(approval.valid_from),
        "end": formats.day(approval.valid_until),
    }


_VERBS: Final = {
    Decision.APPROVE: lazy("vorfreigegeben"),
    Decision.APPROVE_WITH_CONDITIONS: lazy("bedingt freigegeben"),
    Decision.REJECT: lazy("abgelehnt"),
}


def decision_section(
    approval: Approval, frozen: DecisionRecord, decision: Decision, alternative: str, verdict: Verdict | None
) -> Section:
    verb = _VERBS[decision]
    wording = _("Der KI-Workload „%(title)s“ wird im nachstehenden Geltungsbereich %(verb)s.") % {
        "title": approval.workload.title,
        "verb": verb,
    }
    rows = [[_("Begründung"), frozen.reason], [_("Gültigkeit"), validity_text(approval)]]
    if verdict:
        rows.append([_("Empfehlung nach Bewertungstabelle"), verdict.sentence_de])
        reasons = "; ".join(reason.removesuffix(".") for reason in verdict.reasons_de)
        rows.append([_("Gründe der Empfehlung"), reasons])
    if alternative:
        rows.append([_("Empfohlene Alternative"), alternative])
    rows.append([_("Entscheidung gefasst am"), formats.moment(frozen.created_at)])
    return blocks.section("1", _("Entscheidung"), blocks.paragraph(wording), blocks.facts(rows))


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
    return blocks.section("2", _("Geltungsbereich"), blocks.facts(rows))


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
    return blocks.section("3", _("Verantwortliche"), blocks.facts(rows))


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
    return blocks.section(
        "4",
        _("Datenklassifizierung"),
        blocks.table(_("Sieben Objektklassen"), head, rows, [30, 15, 15, 20, 20]),
        blocks.facts([[_("Daten verlassen die eigene Umgebung"), leaves]]),
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
        value = figures.find(
            built.facts.target.metrics if built.facts.target else (), target.metric, target.percentile or None
        )
        limit = formats.exact_quantity(target.threshold, target.unit)
        threshold = f"{Comparator(target.comparator).label} {limit}"
        rows.append(
            [
                target.target_id,
                figures.named(target.metric, target.percentile),
                target.dataset_version,
                threshold,
                figures.with_interval(value) if value else numeric.get(target.target_id, _("nicht gemessen")),
            ]
        )
    head = [_("Ziel"), _("Maß"), _("Daten"), _("Schwelle"), _("Zielplattform")]
    found = [blocks.table(_("Qualitätsziele"), head, rows, [10, 20, 20, 20, 30])]
    if built.facts.equivalence:
        outputs = built.facts.equivalence.outputs
        found.append(
            blocks.paragraph(
                _("Funktionale Gleichheit gegenüber der Vergleichsrechnung: %(count)d Ausgabe(n), %(note)s.")
                % {"count": len(outputs), "note": built.facts.equivalence.note}
            )
        )
    return blocks.section("5", _("Qualitätsniveau"), *found)


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
    return blocks.section(
        "6",
        _("Abbruchkriterien und Ausweichpfad"),
        blocks.table(_("Abbruchkriterien"), head, rows, [15, 45, 40]),
        blocks.facts(path),
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
    return blocks.section(
        "10",
        _("Gate-Ergebnisse"),
        blocks.paragraph(f"{built.report.rule_set}: {built.report.checked_de()}."),
        blocks.table(
            _("Geprüfte Kriterien"),
            [_("Kriterium"), _("Titel"), _("Ergebnis"), _("Wert / Schwelle")],
            rows,
            [10, 30, 15, 45],
        ),
        blocks.table(_("Nicht geprüft"), [_("Kriterium"), _("Titel"), _("Grund")], skipped, [10, 30, 60]),
    )
