"""The gate checklist of a request: live from its report, or as it was decided on; and the evidence it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from qms.approvals.choices import ApprovalType
from qms.core.values import Assurance, Axes, Origin, Provenance
from qms.evidence.models import EvidenceItem
from qms.gates import sentences
from qms.gates import services as gates
from qms.gates.choices import CriterionResult, Due, GateState
from qms.gates.engine import CriterionReport, GateReport
from qms.gates.rule_sets import RuleSet
from qms.web.workload_criteria_view import CriterionView, view

_LATER: Final = frozenset({Due.SIGNATURE, Due.AFTER_DECISION})


@dataclass(frozen=True, slots=True)
class GateView:
    """One gate with its criteria; `word` says in the language of the reader where it stands, `sentence` why."""

    id: str
    title: str
    state: str
    word: str
    met: int
    criteria: list[CriterionView]
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Checklist:
    """The gate checklist: what is open first, then each gate; and what the rule-set version cannot judge.

    later: criteria that only the signature or the seal can fulfil; they are neither open nor counted.
    """

    open: list[CriterionView]
    gates: list[GateView]
    not_applicable: list[CriterionView]
    not_checked: list[CriterionView]
    met: int
    count: int
    checked: int
    total: int
    rule_set: str
    later: list[CriterionView] = field(default_factory=list)


def checklist(report: GateReport, workload_id: UUID) -> Checklist:
    """Return the gates of a report, open criteria first."""
    views = [(item, view(item, workload_id)) for item in report.criteria]
    later = [found for item, found in views if item.blocks and item.row.due in _LATER]
    shown = [
        (item, found)
        for item, found in views
        if item.result is not CriterionResult.NOT_APPLICABLE and found not in later
    ]
    rules = gates.rule_set()
    rows = []
    for gate in report.gates:
        own = [(item, found) for item, found in shown if item.row.gate == gate]
        met = sum(1 for item, _found in own if not item.blocks)
        state = GateState.MET if own and met == len(own) else report.state(gate)
        found = _gate(gate, rules, state, met, [one for _item, one in own])
        rows.append(replace(found, sentence=sentences.open_sentence(report, gate)))
    met = sum(1 for item, _found in shown if not item.blocks)
    return Checklist(
        open=_not_met_first(found for item, found in shown if item.blocks),
        gates=rows,
        not_applicable=[
            _short(item) for item in report.criteria if item.result is CriterionResult.NOT_APPLICABLE
        ],
        not_checked=[CriterionView(row.id, row.title, "", "", row.reason) for row in report.not_checked],
        met=met,
        count=len(shown),
        checked=report.checked,
        total=report.total,
        rule_set=report.rule_set,
        later=later,
    )


def evidence_rows(items: Iterable[EvidenceItem], approval_type: ApprovalType) -> list[dict[str, Any]]:
    """Return the evidence with its axes, its digest, and the criteria each piece carries."""
    found = list(items)
    return [
        {
            "item": item,
            "axes": axes_of(item),
            "carries": [row for row in gates.carried(item, found) if approval_type in row.kinds],
        }
        for item in found
    ]


def axes_of(item: EvidenceItem) -> Axes:
    """Return the three axes of a piece of evidence."""
    return Axes(Provenance(item.provenance), Assurance(item.assurance), Origin(item.origin))


def stored_checklist(stored: dict[str, Any], covered: Mapping[str, str] = MappingProxyType({})) -> Checklist:
    """Return the checklist as it was decided on; questions and reasons come from the rule set of that time.

    covered: by criterion, the sentence of the condition that covers it.
    """
    report, rules = stored["gates"], gates.rule_set()
    views = [_stored_view(row, rules) for row in report["criteria"]]
    views = [
        replace(found, reason=f"{found.reason} {covered[found.id]}") if found.id in covered else found
        for found in views
    ]
    absent = CriterionResult.NOT_APPLICABLE.value
    shown = [found for found in views if found.status != absent]
    passing = {result.value for result in CriterionResult if result.passes}
    rows = []
    for gate in report["gates"]:
        own = [found for found in shown if found.id.split("-")[0] == gate["id"]]
        met = sum(1 for found in own if found.status in passing)
        rows.append(_gate(gate["id"], rules, GateState(gate["state"]), met, own))
    return Checklist(
        open=[found for found in shown if found.status not in passing],
        gates=rows,
        not_applicable=[found for found in views if found.status == absent],
        not_checked=[
            CriterionView(row["id"], row["title"], "", "", row["reason"]) for row in report["not_checked"]
        ],
        met=sum(1 for found in shown if found.status in passing),
        count=len(shown),
        checked=report["checked"],
        total=report["total"],
        rule_set=report["rule_set"],
    )


def _stored_view(row: dict[str, Any], rules: RuleSet) -> CriterionView:
    known = next((item for item in rules.criteria if item.id == row["id"]), None)
    reason = str(row["reason"]).removeprefix("Nicht anwendbar, weil ")
    return CriterionView(
        row["id"],
        known.title if known else row["title"],
        row["result"],
        rules.role_name(rules.mapped(known.who)) if known else "",
        reason,
        asked=known.question if known else "",
        why=known.why if known else "",
        value=row["value"],
        threshold=row["threshold"],
    )


def _gate(gate: str, rules: RuleSet, state: GateState, met: int, criteria: list[CriterionView]) -> GateView:
    title = rules.gate_title(gate) if gate in rules.gates else gate
    return GateView(gate, title, state.value, str(state.label), met, criteria)


def _short(item: CriterionReport) -> CriterionView:
    reason = item.reason_de.removeprefix("Nicht anwendbar, weil ")
    return CriterionView(item.row.id, item.row.title, item.result.value, "", reason)


def _not_met_first(views: Iterable[CriterionView]) -> list[CriterionView]:
    return sorted(views, key=lambda found: found.status != CriterionResult.NOT_MET.value)
