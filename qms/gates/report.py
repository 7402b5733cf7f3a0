"""The gate report: results of one evaluation, what they stand in the way of, and their stored form. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from qms.gates.choices import ApprovalType, CriterionKind, CriterionResult, Due, GateState, ScopeGap
from qms.gates.outcome import Cause
from qms.gates.rule_rows import Criterion, NotChecked


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


@dataclass(frozen=True, slots=True)
class Verdict:
    """The recommendation to the approver by the first row of the verdict table that matches; German, stored.

    id: VF row; code: its result; deciding: ids of the criteria that brought it about, reasons_de: why, one each.
    """

    id: str
    code: str
    sentence_de: str
    reasons_de: tuple[str, ...]
    deciding: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {
            "id": self.id,
            "code": self.code,
            "sentence": self.sentence_de,
            "reasons": list(self.reasons_de),
            "deciding": list(self.deciding),
        }


@dataclass(frozen=True)
class GateReport:
    """All results of one evaluation; checked of total is "geprüft: n von m Kriterien" for the approval type.

    gap: why nothing was compared, None where it was; verdict: None where nothing was compared.
    """

    rule_set: str
    rule_set_digest: str
    approval_type: ApprovalType
    gates: tuple[str, ...]
    criteria: tuple[CriterionReport, ...]
    not_checked: tuple[NotChecked, ...]
    checked: int
    total: int
    gap: ScopeGap | None
    verdict: Verdict | None = None

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
            "verdict": self.verdict.to_json() if self.verdict else None,
        }
