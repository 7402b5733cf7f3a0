"""The result of the suitability as it is recorded: E1 to E5 and A1 to A4 (spec 3.6). Pure."""

from __future__ import annotations

from typing import Final

from qms.gates.bottleneck import proofs
from qms.gates.exclusions import excluded, unanswered
from qms.gates.facts import Facts
from qms.gates.policy import Policy
from qms.gates.report import GateReport
from qms.workloads.choices import BottleneckType

BOTTLENECKS: Final = {
    BottleneckType.COMMUNICATION: "E1",
    BottleneckType.MEMORY_CAPACITY: "E2",
    BottleneckType.RESPONSE: "E3",
}
_CRITERIA: Final = {"E4": "G2-2", "E5": "G2-4"}
_EXCLUSIONS: Final = ("A1", "A2", "A3", "A4")
APPLIES, APPLIES_NOT, UNKNOWN = "TRIFFT_ZU", "TRIFFT_NICHT_ZU", "OFFEN"


def suitability_results(facts: Facts, policy: Policy, report: GateReport) -> dict[str, str]:
    """Return the result by code: of a criterion or a proof for E, for A whether it applies."""
    applying = {item.code for item in excluded(facts, policy)}
    otherwise = UNKNOWN if unanswered(facts, policy) else APPLIES_NOT
    return (
        {
            BOTTLENECKS[item.type]: "ERFUELLT" if item.proven else "NICHT_ERFUELLT"
            for item in proofs(facts, policy)
        }
        | {code: report.result(name).result.value for code, name in _CRITERIA.items()}
        | {code: APPLIES if code in applying else otherwise for code in _EXCLUSIONS}
    )
