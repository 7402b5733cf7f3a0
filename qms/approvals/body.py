"""The document model of a decision: what stands on the pages of the signed PDF (spec 5.1), in German.

Sections whose facts do not exist yet say "nicht geprüft, weil …" or are absent; nothing is filled in.
"""

from __future__ import annotations

from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.approvals import figures, sections, sections_case, sections_record
from qms.approvals.choices import ApprovalType, Decision
from qms.approvals.dossier import BuiltDossier
from qms.approvals.models import Approval, DecisionRecord
from qms.gates import board

_TITLES: Final = {
    Decision.APPROVE: "%(name)s",
    Decision.APPROVE_WITH_CONDITIONS: lazy("Bedingte Freigabe: %(name)s"),
    Decision.REJECT: lazy("Ablehnung: %(name)s"),
}


def document_body(approval: Approval, frozen: DecisionRecord, built: BuiltDossier) -> dict[str, Any]:
    """Return the document model: page 1 for a board, then the sections that have content."""
    decision = Decision(frozen.decision)
    alternative = frozen.alternative
    return {
        "title": _title(approval, decision),
        "language": "de",
        "header": _header(approval, built, decision),
        "board_sentence": _board_sentence(approval, frozen, built, decision, alternative),
        "figures": figures.figures(built),
        "not_checked": figures.not_checked(built),
        "notices": figures.notices(built),
        "verdict": built.report.verdict.to_json() if built.report.verdict else None,
        "sections": [
            sections.decision_section(approval, frozen, decision, alternative, built.report.verdict),
            sections.scope(approval, built),
            sections.people(approval.workload),
            sections.classification(approval.workload),
            sections.quality(approval.workload, built),
            sections.abort(approval.workload),
            sections_case.proof(built),
            *sections_case.levels(built),
            sections_case.option_table(approval.workload, built, alternative),
            sections.gate_results(built),
            sections_record.conditions(frozen),
            sections_case.risks(approval.workload, built),
            sections_record.votes(approval),
            {"number": "14", "title": "Unterschriften und Siegel", "blocks": [{"kind": "signatures"}]},
            sections_record.revocation(),
            sections_record.attachments(approval.workload),
            sections_record.verification(approval, frozen),
            sections_record.glossary(),
        ],
    }


def _title(approval: Approval, decision: Decision) -> str:
    name = str(ApprovalType(approval.type).label)
    if approval.type == ApprovalType.PRELIMINARY:
        name = _("Vorfreigabe auf Emulationsbasis")
    return str(_TITLES[decision]) % {"name": name}


def _header(approval: Approval, built: BuiltDossier, decision: Decision) -> list[list[str]]:
    level = built.facts.level()
    return [
        [_("Workload"), approval.workload.title],
        [_("Freigabeart"), str(ApprovalType(approval.type).label)],
        [_("Entscheidung"), str(decision.label)],
        [_("Datenklassifizierung"), f"{level.value} {level.label}" if level else "–"],
        [_("Regelwerk"), f"{built.report.rule_set}, {built.report.checked_de()}"],
        [_("Gültigkeit"), sections.validity_text(approval)],
    ]


def _board_sentence(
    approval: Approval, frozen: DecisionRecord, built: BuiltDossier, decision: Decision, alternative: str
) -> str:
    verdict = built.report.verdict
    if decision is not Decision.REJECT:
        return figures.decided_sentence(approval, built, approval.valid_until)
    if verdict and not figures.in_favour(verdict):
        return verdict.sentence_de
    return board.rejection_sentence(
        approval_type=ApprovalType(approval.type),
        title=approval.workload.title,
        alternative=alternative,
        reason=frozen.reason,
    )
