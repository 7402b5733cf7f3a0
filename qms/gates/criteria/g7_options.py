"""G7-5: wafer, return and alternatives side by side, the way back with its cost (spec 3.6, S111)."""

from __future__ import annotations

from qms.gates.choices import ApprovalType
from qms.gates.facts import Facts
from qms.gates.outcome import Outcome, criterion, decide
from qms.gates.policy import Policy
from qms.workloads.choices import AlternativeOption

_OTHER = frozenset(item.value for item in AlternativeOption if item is not AlternativeOption.NO_CHANGE)


@criterion("G7-5")
def equal_options(facts: Facts, policy: Policy) -> Outcome:
    """Options A, B and C are filled; for anything but a pilot with cost, the way back included."""
    parts = {
        "Option B: Weg zurück (Ausweichpfad)": facts.fallback is not None,
        "Option C: Alternative": _other(facts),
    }
    if facts.approval_type is not ApprovalType.PILOT:
        costs = facts.costs
        parts |= {
            "Option A: Kosten der Zielplattform": costs is not None and costs.target.total_month is not None,
            "Option B: Kosten der bisherigen Plattform": costs is not None
            and costs.baseline.total_month is not None,
            "Option B: Kosten der Rückkehr": _return_costed(facts),
        }
    gaps = sorted(name for name, filled in parts.items() if not filled)
    value = f"{len(parts) - len(gaps)} von {len(parts)} Angaben"
    threshold = "Optionen A, B und C mit denselben Gesichtspunkten"
    good = "Die drei Optionen stehen gleichwertig nebeneinander."
    return decide(not gaps, value, threshold, good, f"Es fehlt: {'; '.join(gaps)} (G7-5).")


def _other(facts: Facts) -> bool:
    rows = facts.suitability.alternatives if facts.suitability else ()
    return any(option in _OTHER and reason.strip() for option, reason in rows)


def _return_costed(facts: Facts) -> bool:
    """Whether leaving has a price: in the offer, or as provision of the cost sheet (TCO-09)."""
    if facts.offer is not None and facts.offer.exit_cost_eur is not None:
        return True
    lines = facts.costs.target.lines if facts.costs else ()
    return any(
        line.category == "TCO-09" and any(amount is not None for amount in line.amounts) for line in lines
    )
