"""G7-7: each condition of a conditional approval can be checked, has an owner and ends in time (spec 3.6, 3.8)."""

from __future__ import annotations

from qms.gates.facts import Facts
from qms.gates.outcome import Outcome, criterion, decide, not_applicable
from qms.gates.policy import Policy


@criterion("G7-7")
def conditions(facts: Facts, policy: Policy) -> Outcome:
    """Every condition names a measurable criterion, an active owner and a due date from today to POL-21."""
    if not facts.conditions:
        return not_applicable("keine Auflage erteilt wird")
    longest = policy.span("POL-21", "max").days
    gaps = []
    for item in facts.conditions:
        if not item.measure.strip():
            gaps.append(f"{item.criterion}: messbares Kriterium fehlt")
        if item.owner is None:
            gaps.append(f"{item.criterion}: verantwortliche Person fehlt")
        if item.days is None:
            gaps.append(f"{item.criterion}: Frist fehlt")
        elif not 0 <= item.days <= longest:
            gaps.append(f"{item.criterion}: Frist liegt nicht zwischen heute und {longest} Tagen (POL-21)")
    count = len(facts.conditions)
    value = "1 Auflage" if count == 1 else f"{count} Auflagen"
    threshold = f"messbares Kriterium, Person, fällig in höchstens {longest} Tagen (POL-21)"
    good = "Jede Auflage ist messbar, zugeordnet und befristet."
    return decide(not gaps, value, threshold, good, f"{'; '.join(gaps)} (G7-7).")
