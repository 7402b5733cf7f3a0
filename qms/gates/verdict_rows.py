"""The rows of the verdict table VF-01 to VF-10 (spec 3.17) as data of the rule set. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final

from qms.gates.choices import CriterionKind, CriterionResult

_FIELDS: Final = frozenset({"reason", "stay", "alternative", "open", "figures"})


@dataclass(frozen=True, slots=True)
class Condition:
    """Criteria whose result brings a verdict about; kinds: empty means both.

    waiting: criteria that are open until the review act; open, they do not count.
    """

    gates: frozenset[str]
    criteria: frozenset[str]
    kinds: frozenset[CriterionKind]
    results: frozenset[CriterionResult]
    waiting: frozenset[str]

    def holds(self, criterion_id: str, gate: str, kind: CriterionKind, result: CriterionResult) -> bool:
        """Return whether this result of a criterion fulfils the condition."""
        named = gate in self.gates or criterion_id in self.criteria
        waits = result is CriterionResult.OPEN and criterion_id in self.waiting
        return named and result in self.results and not waits and (not self.kinds or kind in self.kinds)


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One row: it matches if a condition holds, if the target is emulated (`emulated`), or always (`otherwise`).

    sentence_de: pattern with {reason}, {stay}, {alternative}, {open} and {figures}.
    """

    id: str
    code: str
    sentence_de: str
    conditions: tuple[Condition, ...]
    emulated: bool
    otherwise: bool

    def named(self) -> frozenset[str]:
        """Return the criteria the row names."""
        return frozenset(name for item in self.conditions for name in item.criteria | item.waiting)

    def foreign(self) -> set[str]:
        """Return the fields of the sentence that nobody fills."""
        return {
            name for _text, name, _spec, _conversion in Formatter().parse(self.sentence_de) if name
        } - _FIELDS


def verdict_from(row: Mapping[str, Any]) -> VerdictRow:
    """Read one row; raises KeyError or ValueError."""
    return VerdictRow(
        row["id"],
        row["code"],
        row["sentence_de"],
        tuple(_condition(item) for item in row["conditions"]),
        row["emulated"],
        row["otherwise"],
    )


def _condition(row: Mapping[str, Any]) -> Condition:
    return Condition(
        frozenset(row["gates"]),
        frozenset(row["criteria"]),
        frozenset(CriterionKind(code) for code in row["kinds"]),
        frozenset(CriterionResult(code) for code in row["results"]),
        frozenset(row["waiting"]),
    )
