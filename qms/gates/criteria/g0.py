"""G0 Erfassung: the mandatory facts of a workload (spec 3.6)."""

from __future__ import annotations

import re
from typing import Final

from qms.gates.facts import Facts
from qms.gates.outcome import Outcome, criterion, decide, met, not_met
from qms.gates.policy import Policy
from qms.workloads import rules
from qms.workloads.abort_templates import needed_categories
from qms.workloads.choices import AbortCategory, AiActRiskClass

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
# German whatever language is active: these names are hashed with the dossier.
_CATEGORIES: Final = {
    AbortCategory.QUALITY: "Qualität",
    AbortCategory.STABILITY: "Stabilität",
    AbortCategory.LATENCY: "Latenz",
    AbortCategory.COST: "Kosten",
    AbortCategory.PRIVACY: "Datenschutz",
    AbortCategory.HARDWARE: "Hardware",
    AbortCategory.MONITORING: "Überwachung",
    AbortCategory.PORTING: "Portierung",
}
_GAP_NAMES: Final = {
    "metric": "Messgröße",
    "comparator": "Vergleich",
    "threshold": "Schwelle",
    "unit": "Einheit",
    "dataset_version": "Datensatz",
    "confidence_method": "Art der Absicherung des Werts",
    "fallback": "Ausweichpfad",
    "target_platform": "Zielplattform",
    "bestand": "bestehende Plattform",
    "same_platform": "andere Plattform als die des Piloten",
    "owner": "Verantwortliche Person",
    "rto_min": "Rückkehrzeit",
    "steps": "Schritte",
    "pilot": "Pilotrahmen",
    "start": "Beginn",
    "end": "Ende",
    "order": "Ende nach dem Beginn",
    "duration": "zulässige Dauer",
    "budget_cap_eur": "Budget über 0 €",
    "scope": "Umfang",
    "success_measures": "Erfolgsmaß",
}


def _named(gaps: tuple[str, ...]) -> str:
    return ", ".join(_GAP_NAMES[gap] for gap in gaps)


@criterion("G0-1")
def owner(facts: Facts, policy: Policy) -> Outcome:
    """An active owner has accepted the role."""
    workload = facts.workload
    threshold = "Owner benannt, aktiv und angenommen"
    if workload.owner is None or workload.owner_accepted_at is None:
        value = "kein Owner" if workload.owner is None else "nicht angenommen"
        reason = "Es fehlt eine verantwortliche Person, die die Owner-Rolle angenommen hat (G0-1)."
        return not_met(value, threshold, reason)
    good = "Eine aktive Person hat die Owner-Rolle angenommen."
    bad = "Die verantwortliche Person ist nicht mehr aktiv."
    value = "angenommen" if workload.owner_active else "nicht aktiv"
    return decide(workload.owner_active, value, threshold, good, bad)


@criterion("G0-2")
def deputy(facts: Facts, policy: Policy) -> Outcome:
    """There is a deputy who is not the owner."""
    threshold = "andere Person als der Owner"
    found = facts.workload.deputy
    if found is None:
        return not_met("keine", threshold, "Es ist keine Stellvertretung benannt.")
    good, bad = "Eine Stellvertretung ist benannt.", "Die Stellvertretung ist der Owner selbst."
    different = found != facts.workload.owner
    return decide(different, "benannt" if different else "gleiche Person", threshold, good, bad)


@criterion("G0-3")
def purpose(facts: Facts, policy: Policy) -> Outcome:
    """Purpose, business process and criticality are described."""
    least = policy.integer("POL-38", "min")
    length = len(facts.workload.purpose.strip())
    gaps = [f"Zweck mit mindestens {least} Zeichen"] if length < least else []
    gaps += ["Geschäftsprozess"] if not facts.workload.business_process.strip() else []
    gaps += ["Kritikalität"] if facts.workload.criticality is None else []
    good = "Zweck, Geschäftsprozess und Kritikalität sind angegeben."
    bad = f"Es fehlt: {', '.join(gaps)}."
    return decide(not gaps, f"{length} Zeichen", f"mindestens {least} Zeichen (POL-38)", good, bad)


@criterion("G0-4")
def mode(facts: Facts, policy: Policy) -> Outcome:
    """The mode is set."""
    found = facts.workload.mode
    value = found.value if found else "keine"
    good, bad = "Die Betriebsart ist angegeben.", "Die Betriebsart fehlt."
    return decide(found is not None, value, "Training, Feinabstimmung oder Inferenz", good, bad)


@criterion("G0-5")
def model(facts: Facts, policy: Policy) -> Outcome:
    """The model is named and pinned by its digest."""
    digest = facts.workload.model_digest
    fulfilled = bool(facts.workload.model_ref.strip()) and bool(_SHA256.fullmatch(digest))
    value = f"{digest[:16]}…" if fulfilled else "kein Modell mit Prüfsumme"
    good, bad = "Das Modell ist mit Prüfsumme festgelegt.", "Modell oder Prüfsumme fehlt."
    return decide(fulfilled, value, "Modell mit SHA-256", good, bad)


@criterion("G0-6")
def quality_targets(facts: Facts, policy: Policy) -> Outcome:
    """At least one quality target has all fields."""
    gaps = [rules.quality_target_gaps(target) for target in facts.targets]
    valid = sum(1 for gap in gaps if not gap)
    threshold = "mindestens 1 vollständiges Qualitätsziel"
    if valid:
        return met(f"{valid} vollständig", threshold, "Das erwartete Qualitätsniveau ist festgelegt.")
    if not gaps:
        return not_met("keines", threshold, "Es ist kein Qualitätsziel angegeben.")
    return not_met("0 vollständig", threshold, f"Im Qualitätsziel fehlt: {_named(gaps[0])}.")


@criterion("G0-7")
def abort_criteria(facts: Facts, policy: Policy) -> Outcome:
    """Every required category has a parsable abort criterion."""
    needed = needed_categories(facts.workload.mode, facts.level(), facts.flags())
    present = {rule.category for rule in facts.abort_rules if rule.parsed}
    lacking = [_CATEGORIES[category] for category in needed if category not in present]
    threshold = f"je eine lesbare Regel für {', '.join(_CATEGORIES[category] for category in needed)}"
    value = f"{len(needed) - len(lacking)} von {len(needed)} Kategorien"
    good = "Jede verlangte Kategorie hat ein Abbruchkriterium."
    return decide(
        not lacking, value, threshold, good, f"Es fehlt ein Abbruchkriterium für {', '.join(lacking)}."
    )


@criterion("G0-8")
def fallback(facts: Facts, policy: Policy) -> Outcome:
    """The fallback path leads to another, existing platform."""
    pilot_platform = facts.pilot.values.platform_id if facts.pilot else ""
    gaps = rules.fallback_gaps(facts.fallback, pilot_platform)
    good = "Der Ausweichpfad führt auf eine bestehende, andere Plattform."
    bad = f"Am Ausweichpfad fehlt: {_named(gaps)}." if facts.fallback else "Es gibt noch keinen Ausweichpfad."
    value = "vollständig" if not gaps else "unvollständig"
    return decide(not gaps, value, "bestehende Plattform, Owner, Rückkehrzeit, Schritte", good, bad)


@criterion("G0-9")
def ai_act(facts: Facts, policy: Policy) -> Outcome:
    """Role and risk class under the AI Act are set, and the practice is not prohibited."""
    role, risk = facts.workload.ai_act_role, facts.workload.ai_act_risk_class
    threshold = "Rolle und Klasse angegeben, nicht VERBOTEN"
    if role is None or risk is None:
        return not_met("unvollständig", threshold, "Rolle oder Risikoklasse nach KI-Verordnung fehlt.")
    good = "Rolle und Risikoklasse sind angegeben."
    bad = "Der Einsatz ist als verbotene Praktik eingestuft (Art. 5 KI-Verordnung)."
    return decide(risk is not AiActRiskClass.PROHIBITED, f"{role.value}, {risk.value}", threshold, good, bad)


@criterion("G0-10")
def pilot_limits(facts: Facts, policy: Policy) -> Outcome:
    """The pilot is limited in time and money and has a success measure."""
    longest = policy.span("POL-01", "max")
    gaps = rules.pilot_gaps(facts.pilot.values if facts.pilot else None, longest)
    good = "Der Pilot ist begrenzt und messbar."
    threshold = f"höchstens {longest.days} Tage (POL-01), Budget, Umfang, Erfolgsmaß"
    value = "vollständig" if not gaps else "unvollständig"
    bad = (
        f"Im Pilotrahmen fehlt: {_named(gaps)}."
        if facts.pilot
        else "Der Pilotrahmen ist noch nicht festgelegt."
    )
    return decide(not gaps, value, threshold, good, bad)
