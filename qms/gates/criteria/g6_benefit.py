"""G6-8: is the target clearly better where it matters, and not worse elsewhere (spec 3.6, POL-23)."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from qms.gates.benefit import Gain, gain_of, primary_metrics
from qms.gates.facts import Facts
from qms.gates.outcome import Outcome, apart, criterion, met, missing, not_met, percent, share
from qms.gates.policy import Policy

_ENOUGH_MEASURED: Final = "Der Nutzen gegenüber der bisherigen Plattform ist belegt."
_ENOUGH_EMULATED: Final = (
    "Der Nutzen genügt am ungünstigen Ende der Emulation; gemessen ist er noch nicht (G6-8)."
)
_ANOTHER_WORKLOAD: Final = "Solange nicht belegt ist, dass beide Seiten denselben Workload gerechnet haben (G4-1), sagt ihr Vergleich nichts."


@criterion("G6-8")
def benefit(facts: Facts, policy: Policy) -> Outcome:
    """The first primary metric gains enough and no other one loses too much, each at its pessimistic end."""
    least, most = policy.share("POL-23", "primary_min_gain"), policy.share("POL-23", "other_max_loss")
    threshold = (
        f"wichtigste Messgröße ≥ {percent(least)} besser, andere ≤ {percent(most)} schlechter (POL-23)"
    )
    if (problem := _not_judged(facts, threshold)) is not None:
        return problem
    gains = [gain_of(facts, key) for key in primary_metrics(facts)]
    if not gains:
        return missing(threshold, "Für Vergleichsbasis und Ziellauf gibt es keine gemeinsame Messgröße.")
    first, *others = gains
    for item in gains:
        if item.gain is None:
            return missing(threshold, f"{item.name_de} {item.problem_de} (G6-8).")
    value = "; ".join(f"{item.name_de} {told(item, least if item is first else -most)}" for item in gains)
    if first.gain is not None and first.gain < least:
        reason = f"{first.name_de}: {told(first, least)} statt mindestens {percent(least)} besser (G6-8)."
        return not_met(value, threshold, reason)
    lost = [item for item in others if item.gain is not None and item.gain < -most]
    if lost:
        reason = f"{lost[0].name_de}: {told(lost[0], -most)}, zulässig {percent(most)} (G6-8)."
        return not_met(value, threshold, reason)
    emulated = facts.target is not None and facts.target.emulated
    return met(value, threshold, _ENOUGH_EMULATED if emulated else _ENOUGH_MEASURED)


def told(item: Gain, limit: Decimal) -> str:
    """Return a gain in words ("24,5 % besser", "6 % schlechter")."""
    if item.gain is None:
        return "nicht beurteilt"
    if not item.gain.is_finite():
        return "unbegrenzt besser" if item.gain > 0 else "unbegrenzt schlechter"
    word = "schlechter" if item.gain < 0 else "besser"
    return f"{apart(abs(item.gain), abs(limit), share)[0]} {word}"


def _not_judged(facts: Facts, threshold: str) -> Outcome | None:
    if facts.baseline is None:
        return missing(threshold, "Es gibt noch keine Vergleichsbasis (EV-02).")
    if facts.baseline.platform.development_machine:
        return missing(
            threshold, "Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner."
        )
    if facts.target is None:
        return missing(threshold, "Es gibt noch keinen Ziellauf (EV-04).")
    if any(item.id == "G4-1" and not item.result.passes for item in facts.earlier):
        return missing(threshold, _ANOTHER_WORKLOAD)
    return None
