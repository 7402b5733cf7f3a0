"""G6 with money: full cost, utilisation, unit cost, sensitivity (spec 3.6, 3.17). Nothing from a development machine."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from qms.gates.business_facts import RESERVED, CostFacts, CostLineFacts, CostSideFacts
from qms.gates.facts import Facts
from qms.gates.outcome import (
    Outcome,
    apart,
    criterion,
    decide,
    euro,
    german,
    met,
    missing,
    not_applicable,
    not_met,
    share,
    shown,
)
from qms.gates.policy import Policy

CATEGORIES: Final = tuple(f"TCO-{number:02d}" for number in range(1, 13))
_NO_COSTS: Final = "Das TCO-Blatt (EV-17) fehlt."
_OUTDATED: Final = "Das TCO-Blatt (EV-17) beruht auf anderen Messungen oder einer anderen Zielplattform; bitte tragen Sie es neu ein."
_NO_FACTOR: Final = "Kein Vergleichsfaktor: Vergleichsbasis stammt von einem Entwicklungsrechner."


@criterion("G6-2")
def costs_complete(facts: Facts, policy: Policy) -> Outcome:
    """All twelve categories are answered on both sides; a zero has its reason."""
    threshold = "12 von 12 Kostenarten je Seite, eine Null mit Begründung"
    if facts.costs is None:
        return missing(threshold, _NO_COSTS)
    if facts.costs.outdated:
        return missing(threshold, _OUTDATED)
    sides = {"heute": facts.costs.baseline, "Zielplattform": facts.costs.target}
    gaps = {name: _gaps(side) for name, side in sides.items()}
    value = ", ".join(
        f"{name} {len(CATEGORIES) - len(found)} von {len(CATEGORIES)}" for name, found in gaps.items()
    )
    lacking = [f"{name}: {', '.join(found)}" for name, found in gaps.items() if found]
    bad = f"Kostenart ohne Angabe oder Null ohne Begründung, {'; '.join(lacking)} (G6-2)."
    return decide(not lacking, value, threshold, "Die Kosten beider Seiten sind vollständig.", bad)


def _gaps(side: CostSideFacts) -> list[str]:
    answered = {line.category for line in side.lines if _answered(line)}
    return [item for item in CATEGORIES if item not in answered]


def _answered(line: CostLineFacts) -> bool:
    known = [amount for amount in line.amounts if amount is not None]
    return bool(known) and (any(known) or bool(line.reason))


@criterion("G6-3")
def utilisation(facts: Facts, policy: Policy) -> Outcome:
    """The forecast, backed by demand, reaches the break-even with its safety; pay-per-use needs none."""
    factor, months = policy.number("POL-26", "factor"), policy.integer("POL-44", "min")
    threshold = (
        f"erwartete Auslastung ≥ {german(factor)} × Kostenschwelle (POL-26), {months} Monate belegt (POL-44)"
    )
    costs = facts.costs
    if (problem := _not_judged(facts, threshold)) is not None or costs is None:
        return problem or missing(threshold, _NO_COSTS)
    if costs.target.capacity != RESERVED:
        return not_applicable("die Kapazität nach Nutzung bezahlt wird")
    if costs.break_even is not None and not costs.break_even.reachable:
        reason = "Keine Auslastung trägt die Kosten der reservierten Kapazität (G6-3)."
        return not_met("nicht erreichbar", threshold, reason)
    return _carried(facts, policy, months, threshold)


def _carried(facts: Facts, policy: Policy, months: int, threshold: str) -> Outcome:
    found = utilisation_of(facts, policy)
    if found is None:
        return missing(threshold, "Erwartete Auslastung oder Kostenschwelle ist nicht berechnet (EV-17).")
    value = f"erwartet {found.expected_de}, nötig {found.needed_de}"
    if not found.carries:
        reason = f"Die erwartete Auslastung von {found.expected_de} erreicht die nötigen {found.needed_de} nicht (G6-3)."
        return not_met(value, threshold, reason)
    backed = backed_months(facts)
    if backed < months:  # a forecast without demand behind it may not be judged
        return missing(
            threshold, f"Die Prognose stützt sich auf {backed} von {months} Monaten Nachfrage (EV-18)."
        )
    good = f"Die erwartete Auslastung von {found.expected_de} trägt die Kosten, nötig sind {found.needed_de}."
    return met(value, threshold, good)


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Expected share of the paid hours and the share that carries the cost with the safety of POL-26."""

    carries: bool
    expected_de: str
    needed_de: str


def utilisation_of(facts: Facts, policy: Policy) -> Utilisation | None:
    """Return expected and needed utilisation; None where the sheet does not tell.

    Compared in results a month, since the shares of the sheet are rounded. Demand below the volume of the sheet counts.
    """
    costs = facts.costs
    units = costs.break_even.units if costs and costs.break_even else None
    if costs is None or units is None or costs.units_per_month is None:
        return None
    hours, paid = costs.target.hours_per_unit, costs.target.paid_hours_month
    if hours is None or not paid:
        return None
    forecast = facts.demand.forecast_units_per_month if facts.demand else None
    expected = costs.units_per_month if forecast is None else min(forecast, costs.units_per_month)
    needed = units * policy.number("POL-26", "factor")
    told = apart(expected * hours / paid, needed * hours / paid, share)
    return Utilisation(expected >= needed, *told)


def backed_months(facts: Facts) -> int:
    """Return how many months of demand the forecast rests on, never more than the history has."""
    if facts.demand is None:
        return 0
    return min(facts.demand.backed_months, len({month for month, _units in facts.demand.history}))


@criterion("G6-4")
def unit_cost(facts: Facts, policy: Policy) -> Outcome:
    """A result costs no more than today, or the reviewer confirms that time is worth it."""
    most = policy.number("POL-25", "max")
    threshold = f"Verhältnis der Stückkosten ≤ {german(most)} (POL-25), oder Mehrwert bestätigt"
    costs = facts.costs
    if (problem := _not_judged(facts, threshold)) is not None or costs is None:
        return problem or missing(threshold, _NO_COSTS)
    if costs.ratio is None:
        return missing(threshold, "Das Verhältnis der Stückkosten ist noch nicht berechenbar (EV-17).")
    value = unit_costs(costs, most)
    if costs.ratio <= most:
        return met(value, threshold, f"Die Stückkosten steigen nicht: {value}.")
    if not costs.business_value_reason:
        return not_met(value, threshold, f"Die Stückkosten sind zu hoch: {value} (G6-4).")
    if not facts.reviewed("EV-17"):
        return missing(
            threshold, "Den Mehrwert der kürzeren Zeit bestätigt die prüfende Person mit der Prüfung."
        )
    return met(value, threshold, f"Höhere Stückkosten, Mehrwert bestätigt: {costs.business_value_reason}")


def unit_costs(costs: CostFacts, limit: Decimal) -> str:
    """Return both unit costs with their ratio, "1.433,33 € statt 2.000,00 € je Lauf (Verhältnis 0,717)"."""
    ratio = "" if costs.ratio is None else f" (Verhältnis {apart(costs.ratio, limit, _three)[0]})"
    both = both_unit_costs(costs)
    return f"{both}{ratio}" if both else ratio.strip(" ()") or "liegt nicht vor"


def both_unit_costs(costs: CostFacts) -> str:
    """Return both unit costs, "1.433,33 € statt 2.000,00 € je Lauf", or an empty text where one is not known."""
    if costs.target.unit_cost is None or costs.baseline.unit_cost is None:
        return ""
    return f"{euro(costs.target.unit_cost)} statt {euro(costs.baseline.unit_cost)} je {costs.result_unit}"


@criterion("G6-5")
def sensitivity(facts: Facts, policy: Policy) -> Outcome:
    """The ratio stays within its limit at every step of POL-45."""
    most = policy.number("POL-27", "max")
    threshold = f"Verhältnis ≤ {german(most)} bei jedem Schritt (POL-27, POL-45)"
    costs = facts.costs
    if (problem := _not_judged(facts, threshold)) is not None or costs is None:
        return problem or missing(threshold, _NO_COSTS)
    found = {(item.step, item.change): item.ratio for item in costs.sensitivity}
    ratios: list[tuple[Decimal, str]] = []
    for key, change in steps(policy):
        ratio = found.get((key, change))
        if ratio is None:
            return missing(threshold, f"Der Schritt {step_name(key, change)} ist nicht berechnet (EV-17).")
        ratios.append((ratio, step_name(key, change)))
    worst, name = max(ratios)
    value = f"{name}: {apart(worst, most, _three)[0]}"
    bad = f"Bei {name} steigt das Verhältnis auf {apart(worst, most, _three)[0]} (G6-5)."
    return decide(worst <= most, value, threshold, "Das Ergebnis hält auch bei anderen Annahmen.", bad)


_STEP_NAMES: Final = {
    "AUSLASTUNG": "Auslastung",
    "MENGE": "Menge",
    "PREIS": "Preis",
    "PORTIERUNG": "Portierungsaufwand",
}


def steps(policy: Policy) -> tuple[tuple[str, Decimal], ...]:
    """Return the steps of POL-45 as keys of EV-17 with their change as a share."""
    names = {"AUSLASTUNG": "utilisation", "MENGE": "volume", "PREIS": "price", "PORTIERUNG": "porting_effort"}
    found = []
    for key, name in names.items():
        value = policy.raw("POL-45", name)["value"]
        changes = value if isinstance(value, list) else [value]
        found += [(key, Decimal(change) / 100) for change in changes]
    return tuple(found)


def step_name(key: str, change: Decimal) -> str:
    """Return a step as people read it ("Auslastung −20 %")."""
    sign = "+" if change > 0 else "−"
    return f"{_STEP_NAMES[key]} {sign}{share(abs(change))}"


def _not_judged(facts: Facts, threshold: str) -> Outcome | None:
    """Return the open result where nothing may be compared (EM-12), or the sheet is no longer about what is compared."""
    if facts.costs is not None and facts.costs.outdated:
        return missing(threshold, _OUTDATED)
    if facts.costs is not None and facts.gap() is not None:
        return missing(
            threshold, _NO_FACTOR if facts.baseline else "Es gibt noch keine Vergleichsbasis (EV-02)."
        )
    return missing(threshold, _NO_FACTOR) if facts.costs is not None and not facts.costs.comparable else None


def _three(value: Decimal, places: int) -> str:
    return shown(value, places + 2)
