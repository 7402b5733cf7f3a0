"""G2 Eignung: is there a proven bottleneck, a recurring load, the capability, and what else was considered (3.6)."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from qms.gates.bottleneck import Proof, proofs
from qms.gates.exclusions import excluded, unanswered
from qms.gates.facts import Facts
from qms.gates.outcome import Outcome, criterion, decide, german, met, missing, not_met, shown
from qms.gates.policy import Policy
from qms.workloads.choices import AlternativeOption

_NO_ANSWERS: Final = "Die Angaben zur Eignung fehlen."
CAPABILITIES: Final = {
    "DATENPIPELINE": "Datenpipeline",
    "MODELLBETRIEB": "Modellbetrieb",
    "UEBERWACHUNG": "Überwachung",
    "AUSLASTUNG": "Auslastung",
}


@criterion("G2-1")
def bottleneck(facts: Facts, policy: Policy) -> Outcome:
    """One of the stated bottlenecks is proven by values of the platform in use, never of a development machine."""
    found = proofs(facts, policy)
    threshold = " oder ".join(item.threshold_de for item in found)
    if facts.baseline is None:
        return missing(threshold, "Es gibt noch keine Vergleichsbasis der bisherigen Plattform (EV-02).")
    if facts.baseline.platform.development_machine:
        return missing(threshold, "Ein Entwicklungsrechner belegt keinen Engpass (EM-12).")
    if facts.suitability is None or not facts.suitability.bottleneck_types:
        return not_met("kein Engpass angegeben", threshold, "Es ist kein Engpass angegeben (G2-1).")
    stated = [item for item in found if item.type in facts.suitability.bottleneck_types]
    proven = next((item for item in stated if item.proven), None)
    if proven is not None:
        return met(proven.value_de, proven.threshold_de, f"Engpass belegt: {proven.value_de} (G2-1).")
    return _unproven(stated, [item for item in found if item.proven], threshold)


def _unproven(stated: list[Proof], others: list[Proof], threshold: str) -> Outcome:
    if not stated:
        reason = "Speicherbandbreite allein belegt keinen Engpass (G2-1)."
        value = "nur Speicherbandbreite"
    else:
        value = "; ".join(item.value_de for item in stated)
        reason = f"Der angegebene Engpass ist nicht belegt: {value} (G2-1)."
    if others:
        reason = f"{reason.removesuffix('.')}; gemessen, aber nicht angegeben: {others[0].value_de}."
    return not_met(value, threshold, reason)


@criterion("G2-2")
def recurring_load(facts: Facts, policy: Policy) -> Outcome:
    """Enough hours a month on the platform in use, or enough requests a day."""
    hours_min, requests_min = policy.number("POL-10", "min"), policy.number("POL-11", "min")
    threshold = f"mindestens {german(hours_min)} h im Monat (POL-10) oder {_grouped(requests_min)} Anfragen am Tag (POL-11)"
    hours, requests = _hours_month(facts), _requests_day(facts)
    if hours is None and requests is None:
        return missing(threshold, "Weder Läufe mit ihren Stunden noch Anfragen je Tag sind angegeben.")
    parts = [f"{shown(hours)} h im Monat"] if hours is not None else []
    parts += [f"{_grouped(requests)} Anfragen am Tag"] if requests is not None else []
    value = ", ".join(parts)
    enough = (hours is not None and hours >= hours_min) or (requests is not None and requests >= requests_min)
    good = f"Die Last kehrt wieder: {value}."
    return decide(enough, value, threshold, good, f"Die Last ist zu gering: {value} (G2-2).")


def _hours_month(facts: Facts) -> Decimal | None:
    answers, demand = facts.suitability, facts.demand
    if answers and answers.runs_per_month is not None and answers.hours_per_run is not None:
        return answers.runs_per_month * answers.hours_per_run
    if demand and demand.units_per_month is not None and demand.hours_per_unit is not None:
        return demand.units_per_month * demand.hours_per_unit
    return None


def _requests_day(facts: Facts) -> Decimal | None:
    if facts.suitability and facts.suitability.requests_per_day is not None:
        return facts.suitability.requests_per_day
    return facts.demand.requests_per_day if facts.demand else None


def _grouped(value: Decimal) -> str:
    return f"{value:,.0f}".replace(",", ".")


@criterion("G2-3")
def no_exclusion(facts: Facts, policy: Policy) -> Outcome:
    """None of the exclusions A1 to A4 applies."""
    threshold = "kein Ausschluss A1 bis A4 (POL-09, POL-39)"
    applying = excluded(facts, policy)
    if applying:
        names = "; ".join(f"{item.code} {item.value_de}" for item in applying)
        return not_met(names, threshold, f"Ausgeschlossen, weil {applying[0].clause_de} (G2-3).")
    gaps = unanswered(facts, policy)
    if gaps:
        return missing(threshold, f"Noch nicht prüfbar, es fehlt: {', '.join(gaps)}.")
    return met("kein Ausschluss", threshold, "Kein Ausschluss A1 bis A4 trifft zu.")


@criterion("G2-4")
def capability(facts: Facts, policy: Policy) -> Outcome:
    """Each of the four rows has a responsible person and evidence."""
    threshold = "4 von 4 Zeilen mit Verantwortlichen und Beleg"
    if facts.capability is None:
        return missing(threshold, "Die Fähigkeitsmatrix der Organisation (EV-27) fehlt.")
    done = {item.row for item in facts.capability.rows if item.responsible and item.evidence}
    lacking = [name for key, name in CAPABILITIES.items() if key not in done]
    value = f"{len(CAPABILITIES) - len(lacking)} von {len(CAPABILITIES)} Zeilen"
    good = "Die Organisation kann den Betrieb tragen."
    return decide(not lacking, value, threshold, good, f"Nicht belegt: {', '.join(lacking)} (G2-4).")


@criterion("G2-5")
def alternatives(facts: Facts, policy: Policy) -> Outcome:
    """Enough alternatives were considered, each with a reason."""
    least = policy.integer("POL-40", "min")
    threshold = f"mindestens {least} mit Begründung (POL-40)"
    if facts.suitability is None:
        return missing(threshold, _NO_ANSWERS)
    known = {item.value for item in AlternativeOption}
    reasoned = {
        option for option, reason in facts.suitability.alternatives if option in known and reason.strip()
    }
    value = f"{len(reasoned)} mit Begründung"
    bad = f"Es sind erst {value} erwogen (G2-5)."
    return decide(len(reasoned) >= least, value, threshold, "Alternativen sind erwogen.", bad)
