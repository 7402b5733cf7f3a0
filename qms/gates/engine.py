"""Evaluation of a rule set on facts: pure, complete, always in the order of the rows. No default result exists.

`evaluate_dossier` covers G0 to G6 and belongs to the dossier; `evaluate_decision` adds G7, whose facts (votes bound
to the dossier digest, signing act) cannot be part of what they are bound to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from qms.gates import criteria as _functions
from qms.gates.choices import ApprovalType, CriterionKind, CriterionResult, Due, GateState
from qms.gates.errors import RuleSetError
from qms.gates.facts import EarlierResult, Facts
from qms.gates.outcome import Cause, Outcome, registered
from qms.gates.rule_sets import Criterion, NotChecked, RuleSet
from qms.gates.votes import RequiredVotes, required_votes

assert _functions.__all__  # importing the package registers the functions

_DECISION_GATE = "G7"


@dataclass(frozen=True, slots=True)
class CriterionReport:
    """Result of one criterion with everything a person needs to close it; texts are German.

    who_de: name of the role that can close it in this rule set; covered: a condition or waiver covers it; cause: a
    reason for which something else helps than the row says.
    """

    row: Criterion
    kind: CriterionKind
    result: CriterionResult
    value_de: str
    threshold_de: str
    reason_de: str
    who_de: str
    covered: bool
    cause: Cause | None = None

    @property
    def blocks(self) -> bool:
        """Whether the criterion stands in the way of an unconditional step."""
        return not self.result.passes and not self.covered

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {
            "id": self.row.id,
            "title": self.row.title_de,
            "kind": self.kind.value,
            "result": self.result.value,
            "value": self.value_de,
            "threshold": self.threshold_de,
            "reason": self.reason_de,
        }


@dataclass(frozen=True)
class GateReport:
    """All results of one evaluation; checked of total is "geprüft: n von m Kriterien" for the approval type."""

    rule_set: str
    rule_set_digest: str
    approval_type: ApprovalType
    gates: tuple[str, ...]
    criteria: tuple[CriterionReport, ...]
    not_checked: tuple[NotChecked, ...]
    checked: int
    total: int

    def of_gate(self, gate: str) -> tuple[CriterionReport, ...]:
        """Return the results of one gate in order."""
        return tuple(item for item in self.criteria if item.row.gate == gate)

    def state(self, gate: str) -> GateState:
        """Return the state of one gate: not met before open before met."""
        items = self.of_gate(gate)
        if not items:
            return GateState.NOT_CHECKED
        blocking = {item.result for item in items if item.blocks}
        if CriterionResult.NOT_MET in blocking:
            return GateState.NOT_MET
        if blocking:
            return GateState.OPEN
        if all(item.result is CriterionResult.NOT_APPLICABLE for item in items):
            return GateState.NOT_APPLICABLE
        return GateState.MET

    def gate_met(self, gate: str) -> bool:
        """Return whether nothing of the gate stands in the way; a gate that is not checked does not."""
        return self.state(gate) in {GateState.MET, GateState.NOT_APPLICABLE, GateState.NOT_CHECKED}

    def blocking(self, due: Iterable[Due], kind: CriterionKind | None = None) -> tuple[CriterionReport, ...]:
        """Return the criteria that block the steps `due`, optionally of one kind, in order."""
        steps = set(due)
        return tuple(
            item
            for item in self.criteria
            if item.blocks and item.row.due in steps and (kind is None or item.kind is kind)
        )

    def blocking_submission(self) -> tuple[CriterionReport, ...]:
        """Return the NW criteria of G0 that refuse a submission (T-01)."""
        return self.blocking([Due.SUBMISSION], CriterionKind.NON_WAIVABLE)

    def blocking_decision(self) -> tuple[CriterionReport, ...]:
        """Return what refuses an unconditional approval (T-08) before the signing act."""
        return self.blocking([Due.SUBMISSION, Due.DECISION])

    def blocking_signature(self) -> tuple[CriterionReport, ...]:
        """Return what refuses it with the signing act (G7-10); G7-9 comes after the decision."""
        return self.blocking([Due.SUBMISSION, Due.DECISION, Due.SIGNATURE])

    def open_ids(self, gate: str = "") -> list[str]:
        """Return the ids of all blocking criteria, of one gate or of the whole report."""
        return [item.row.id for item in self.criteria if item.blocks and gate in {"", item.row.gate}]

    def result(self, criterion_id: str) -> CriterionReport:
        """Return one result; raises KeyError if the criterion was not evaluated."""
        for item in self.criteria:
            if item.row.id == criterion_id:
                return item
        raise KeyError(criterion_id)

    def checked_de(self) -> str:
        """Return the sentence of EM-13."""
        return f"geprüft: {self.checked} von {self.total} Kriterien"

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form that is part of the dossier; holds no time and no floats."""
        return {
            "rule_set": self.rule_set,
            "rule_set_digest": self.rule_set_digest,
            "approval_type": self.approval_type.value,
            "checked": self.checked,
            "total": self.total,
            "gates": [{"id": gate, "state": self.state(gate).value} for gate in self.gates],
            "criteria": [item.to_json() for item in self.criteria],
            "not_checked": [
                {"id": item.id, "title": item.title_de, "reason": item.reason_de} for item in self.not_checked
            ],
        }


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
    current = replace(facts, approval_type=approval_type, required=_required(rule_set, approval_type, facts))
    found: list[CriterionReport] = []
    for row in rule_set.criteria_for(approval_type):
        if row.gate not in gates:
            continue
        if row.id not in functions:
            raise RuleSetError(f"{rule_set.label}: {row.id} has no function")
        outcome = functions[row.id](current, rule_set.policy)
        kind = row.kinds[approval_type]
        found.append(_report(rule_set, row, kind, outcome, facts))
        earlier = EarlierResult(row.id, row.gate, kind, outcome.result)
        current = replace(current, earlier=(*current.earlier, earlier))
    checked, total = rule_set.counts(approval_type)
    return GateReport(
        rule_set.label,
        rule_set.digest,
        approval_type,
        gates,
        tuple(found),
        rule_set.not_checked_for(approval_type),
        checked,
        total,
    )


def _report(
    rule_set: RuleSet, row: Criterion, kind: CriterionKind, outcome: Outcome, facts: Facts
) -> CriterionReport:
    covered = kind is CriterionKind.WAIVABLE and row.id in facts.covered
    return CriterionReport(
        row,
        kind,
        outcome.result,
        outcome.value_de,
        outcome.threshold_de,
        outcome.reason_de,
        rule_set.role_name_de(rule_set.mapped(row.who)),
        covered,
        outcome.cause,
    )


def _required(rule_set: RuleSet, approval_type: ApprovalType, facts: Facts) -> RequiredVotes:
    return required_votes(
        rule_set,
        approval_type,
        level=facts.level(),
        flags=facts.flags(),
        risk_class=facts.workload.ai_act_risk_class,
        budget_eur=facts.pilot.values.budget_cap_eur if facts.pilot else None,
    )


def check_registry(rule_set: RuleSet) -> None:
    """Raise RuleSetError unless every row has a function and every function a row; called at start."""
    rows, functions = {row.id for row in rule_set.criteria}, set(registered())
    if rows != functions:
        lacking, spare = sorted(rows - functions), sorted(functions - rows)
        raise RuleSetError(
            f"{rule_set.label}: rows without function {lacking}, functions without row {spare}"
        )
