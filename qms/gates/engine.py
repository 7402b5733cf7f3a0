"""Evaluation of a rule set on facts: pure, complete, always in the order of the rows. No default result exists.

`evaluate_dossier` covers G0 to G6 and belongs to the dossier; `evaluate_decision` adds G7, whose facts (votes bound
to the dossier digest, signing act) cannot be part of what they are bound to.
"""

from __future__ import annotations

from dataclasses import replace

from qms.gates import criteria as _functions
from qms.gates.case_facts import EarlierResult
from qms.gates.choices import ApprovalType, CriterionKind
from qms.gates.errors import RuleSetError
from qms.gates.facts import Facts
from qms.gates.outcome import Outcome, registered
from qms.gates.report import CriterionReport, GateReport
from qms.gates.rule_rows import Criterion
from qms.gates.rule_sets import RuleSet
from qms.gates.verdict import verdict
from qms.gates.votes import RequiredVotes, required_votes

__all__ = [
    "CriterionReport",
    "GateReport",
    "check_registry",
    "evaluate",
    "evaluate_decision",
    "evaluate_dossier",
]

assert _functions.__all__  # importing the package registers the functions

_DECISION_GATE = "G7"


def evaluate_dossier(rule_set: RuleSet, approval_type: ApprovalType, facts: Facts) -> GateReport:
    """Return the results of G0 to G6."""
    gates = tuple(gate for gate in rule_set.gates if gate != _DECISION_GATE)
    return evaluate(rule_set, approval_type, facts, gates)


def evaluate_decision(rule_set: RuleSet, approval_type: ApprovalType, facts: Facts) -> GateReport:
    """Return the results of G0 to G7."""
    return evaluate(rule_set, approval_type, facts, tuple(rule_set.gates))


def evaluate(
    rule_set: RuleSet, approval_type: ApprovalType, facts: Facts, gates: tuple[str, ...]
) -> GateReport:
    """Return the results of `gates`; raises RuleSetError if a row has no function."""
    functions = registered()
    gap = facts.gap()
    current = replace(facts, approval_type=approval_type, required=_required(rule_set, approval_type, facts))
    found: list[CriterionReport] = []
    for row in rule_set.criteria_for(approval_type, gap):
        if row.gate not in gates:
            continue
        if row.id not in functions:
            raise RuleSetError(f"{rule_set.label}: {row.id} has no function")
        outcome = functions[row.id](current, rule_set.policy)
        kind = row.kinds[approval_type]
        found.append(_report(rule_set, row, kind, outcome, facts))
        earlier = EarlierResult(row.id, row.gate, kind, outcome.result)
        current = replace(current, earlier=(*current.earlier, earlier))
    checked, total = rule_set.counts(approval_type, gap)
    report = GateReport(
        rule_set.label,
        rule_set.digest,
        approval_type,
        gates,
        tuple(found),
        rule_set.not_checked_for(approval_type, gap),
        checked,
        total,
        gap,
    )
    return replace(report, verdict=verdict(report, facts, rule_set))


def _report(
    rule_set: RuleSet, row: Criterion, kind: CriterionKind, outcome: Outcome, facts: Facts
) -> CriterionReport:
    covered = kind is CriterionKind.WAIVABLE and row.id in facts.covered
    return CriterionReport(
        row,
        kind,
        outcome.result,
        _with_source(outcome.value_de, row, facts),
        outcome.threshold_de,
        outcome.reason_de,
        rule_set.role_name_de(rule_set.mapped(row.who)),
        covered,
        outcome.cause,
    )


def _with_source(value: str, row: Criterion, facts: Facts) -> str:
    """Return the value with where the evidence was taken over from (3.7.5)."""
    found = [facts.inherited[name] for name in row.evidence if name in facts.inherited]
    return "; ".join([value, *(item.sentence_de() for item in found)]) if value else value


def _required(rule_set: RuleSet, approval_type: ApprovalType, facts: Facts) -> RequiredVotes:
    return required_votes(
        rule_set,
        approval_type,
        level=facts.level(),
        flags=facts.flags(),
        risk_class=facts.workload.ai_act_risk_class,
        budget_eur=facts.pilot.values.budget_cap_eur if facts.pilot else None,
        gap=facts.gap(),
    )


def check_registry(rule_set: RuleSet) -> None:
    """Raise RuleSetError unless every row has a function and every function a row; called at start."""
    rows, functions = {row.id for row in rule_set.criteria}, set(registered())
    if rows != functions:
        lacking, spare = sorted(rows - functions), sorted(functions - rows)
        raise RuleSetError(
            f"{rule_set.label}: rows without function {lacking}, functions without row {spare}"
        )
