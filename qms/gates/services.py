"""Gates on real rows: which rule set is in force, what it says about a workload, and the states that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from qms.audit import selectors as audit
from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.services import record
from qms.core import clock
from qms.evidence import selectors as evidence
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.gates import coverage, engine, rule_sets, selectors
from qms.gates.choices import ApprovalType, CriterionKind, ScopeGap
from qms.gates.coverage import Uncovered
from qms.gates.engine import CriterionReport, GateReport
from qms.gates.facts import Facts
from qms.gates.judged import suitability_results
from qms.gates.policy import Policy
from qms.gates.rule_rows import Criterion, Subject
from qms.gates.rule_sets import RuleSet
from qms.gates.votes import RequiredVotes, required_votes
from qms.roles.models import Person, User
from qms.workloads.choices import AiActRiskClass, Flag, Level, WorkloadStatus
from qms.workloads.models import Organisation, Workload

# A green gate moves the workload on; gates without criteria in the version are passed through (spec 3.5.1).
ADVANCES: tuple[tuple[str, WorkloadStatus, WorkloadStatus], ...] = (
    ("G0", WorkloadStatus.DRAFT, WorkloadStatus.RECORDED),
    ("G1", WorkloadStatus.RECORDED, WorkloadStatus.CLASSIFIED),
    ("G2", WorkloadStatus.CLASSIFIED, WorkloadStatus.SUITABLE),
)

SUITABILITY = "G2"


@dataclass(frozen=True)
class OpenRequirement:
    """A criterion that stands in the way now: its id, the reason, and what to do."""

    criterion: str
    reason: str
    next_step: str


def rule_set() -> RuleSet:
    """Return the rule set of the organisation; `kompakt` before there is one."""
    name = Organisation.objects.values_list("rule_set", flat=True).first()
    return rule_sets.load(name or "kompakt")


def policy() -> Policy:
    """Return the policy parameters in force."""
    return rule_set().policy


def facts_for(
    workload: Workload,
    approval_type: ApprovalType,
    *,
    at: datetime,
    items: Sequence[EvidenceItem] | None = None,
    reviewer: Person | None = None,
) -> Facts:
    """Return the facts of a workload as of `at`; with `reviewer`, as if that person had reviewed the evidence."""
    chosen = evidence.counting(workload, at=at) if items is None else items
    reviewer_id = reviewer.pk if reviewer else None
    return selectors.facts_for(workload, approval_type, at=at, items=chosen, reviewer_id=reviewer_id)


def evaluate_dossier(facts: Facts) -> GateReport:
    """Return the results of G0 to G6 under the rule set in force."""
    return engine.evaluate_dossier(rule_set(), facts.approval_type, facts)


def evaluate_decision(facts: Facts) -> GateReport:
    """Return the results of G0 to G7 under the rule set in force."""
    return engine.evaluate_decision(rule_set(), facts.approval_type, facts)


def report(workload: Workload, approval_type: ApprovalType = ApprovalType.PRELIMINARY) -> GateReport:
    """Return the gate report of a workload as it stands now."""
    return evaluate_dossier(facts_for(workload, approval_type, at=clock.now()))


def first_open_requirement(workload: Workload, approval_type: ApprovalType) -> OpenRequirement | None:
    """Return the first criterion that refuses a submission (T-01), or None."""
    return _first(list(report(workload, approval_type).blocking_submission()))


def first_open_of(workload: Workload, ids: Sequence[str]) -> OpenRequirement | None:
    """Return the first of these criteria that is not met, or None."""
    return _first([item for item in report(workload).criteria if item.row.id in ids and item.blocks])


def uncovered(workload: Workload, approval_type: ApprovalType | None = None) -> tuple[Uncovered, ...]:
    """Return the classes, flags, types and risk classes this version has no criteria for (EM-13)."""
    rows = list(workload.classifications.all())
    levels = {Level(row.level) for row in rows}
    flags = {Flag(flag) for row in rows for flag in row.flags}
    return coverage.uncovered(rule_set(), levels, flags, approval_type, _risk_class(workload))


def votes_required(workload: Workload, approval_type: ApprovalType) -> RequiredVotes:
    """Return the votes and the number of approvers the approval needs (spec 4.4)."""
    facts = facts_for(workload, approval_type, at=clock.now(), items=[])
    pilot = facts.pilot
    return required_votes(
        rule_set(),
        approval_type,
        level=facts.level(),
        flags=facts.flags(),
        risk_class=_risk_class(workload),
        budget_eur=pilot.values.budget_cap_eur if pilot else None,
        gap=_gap(workload),
    )


def asked_subjects(workload: Workload) -> tuple[Subject, ...]:
    """Return the subjects the one review act asks for this workload (3.19, rule 3)."""
    return rule_set().asked_subjects(_gap(workload))


def carried(item: EvidenceItem, items: Sequence[EvidenceItem] | None) -> tuple[Criterion, ...]:
    """Return the criteria a piece of evidence carries among `items`, what needs a comparison only where one is judged.

    items: None for evidence of a platform or the organisation, which no single workload judges.
    """
    gap = selectors.gap(items) if items is not None else None
    return tuple(
        row for row in rule_set().criteria if item.type in row.evidence and (row.scope is None or gap is None)
    )


def advance(workload: Workload, actor: User) -> None:
    """Move the workload on when a gate turned green; called after each change of content (spec 3.5.1)."""
    facts = facts_for(workload, ApprovalType.PRELIMINARY, at=clock.now())
    current = evaluate_dossier(facts)
    note_suitability(workload, facts, current)
    for gate, before, after in ADVANCES:
        if workload.status != before or _refuses(current, gate):
            continue
        Workload.objects.filter(pk=workload.pk).update(status=after.value)
        workload.status = after.value
        if gate != SUITABILITY and current.of_gate(gate) and current.gate_met(gate):
            _gate_met(workload, gate, current)


def note_suitability(workload: Workload, facts: Facts, current: GateReport) -> None:
    """Record what G2 says where it is judged and says something else than before (3.15)."""
    if current.gap is not None or not current.of_gate(SUITABILITY):
        return
    found = {
        "state": current.state(SUITABILITY).value,
        "results": suitability_results(facts, policy(), current),
    }
    last = audit.newest(kinds=[AuditKind.SUITABILITY_ASSESSED], obj_ids=[str(workload.pk)], limit=1)
    if last and {name: last[0].data.get(name) for name in found} == found:
        return
    record(
        AuditKind.SUITABILITY_ASSESSED,
        actor=SYSTEM,
        subject=workload,
        facts=found | {"gate": SUITABILITY, "rule_set": current.rule_set},
    )
    if current.gate_met(SUITABILITY):
        _gate_met(workload, SUITABILITY, current)


def _gate_met(workload: Workload, gate: str, current: GateReport) -> None:
    record(
        AuditKind.GATE_MET,
        actor=SYSTEM,
        subject=workload,
        facts={"gate": gate, "rule_set": current.rule_set, "status": workload.status},
    )


def _gap(workload: Workload) -> ScopeGap | None:
    return selectors.gap(list(evidence.current(workload).filter(type=EvidenceType.BASELINE_REPORT)))


def _risk_class(workload: Workload) -> AiActRiskClass | None:
    return AiActRiskClass(workload.ai_act_risk_class) if workload.ai_act_risk_class else None


def _refuses(current: GateReport, gate: str) -> bool:
    """Whether a criterion without exception stands in the way; open ones with exception are covered at the decision."""
    return any(item.blocks and item.kind is CriterionKind.NON_WAIVABLE for item in current.of_gate(gate))


def _first(items: list[CriterionReport]) -> OpenRequirement | None:
    if not items:
        return None
    item = items[0]
    return OpenRequirement(item.row.id, item.reason_de, item.row.how_de)
