"""G6 without money: three levels, exit, environment, offer (spec 3.6). Mostly recorded once at the platform (3.7.5)."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from zoneinfo import ZoneInfo

from qms.gates.business_facts import OfferFacts
from qms.gates.facts import Facts
from qms.gates.outcome import Outcome, criterion, decide, met, missing, not_met
from qms.gates.policy import Policy

LEVELS_DE: Final = {"HARDWARE": "Hardware", "SOFTWARE": "Software", "LIEFERUNG": "Liefermodell"}
_ENVIRONMENT: Final = {
    "BESCHAFFUNG": "Beschaffung",
    "NETZWERK": "Netzwerk",
    "KUEHLUNG": "Kühlung",
    "RZ_BETRIEB": "Rechenzentrumsbetrieb",
    "ANBIETERVERTRAG": "Anbietervertrag",
}
_MODELS: Final = frozenset({"INDIVIDUALANGEBOT", "SYSTEMKAUF", "PROVIDER"})
_PLACE: Final = ZoneInfo("Europe/Berlin")  # the day of an offer is a day of the organisation (spec 3.13)


def _elsewhere(facts: Facts, threshold: str, what: str, criterion_id: str) -> Outcome | None:
    """Return why evidence of the pilot's platform says nothing of the one that was run on, None where they are one."""
    if facts.platforms_differ is None:
        return None
    used, planned = facts.platforms_differ
    return missing(
        threshold,
        f"{what} gehört zur Plattform des Pilots ({planned}), der Ziellauf lief auf {used}; bitte beide angleichen "
        f"({criterion_id}).",
    )


@criterion("G6-1")
def three_levels(facts: Facts, policy: Policy) -> Outcome:
    """Each level reaches the minimum on evidence of its own; no mean is formed."""
    least = policy.integer("POL-28", "min")
    threshold = f"jede Ebene mindestens {least} von 4, je eigener Beleg (POL-28)"
    if facts.levels is None:
        return missing(threshold, "Die Dreiebenenbewertung der Plattform (EV-19) fehlt.")
    if elsewhere := _elsewhere(facts, threshold, "Die Dreiebenenbewertung (EV-19)", "G6-1"):
        return elsewhere
    found = facts.levels.levels
    lacking = [
        LEVELS_DE[item.name] for item in found if item.score is None or not item.evidence or not item.assessor
    ]
    if lacking:
        return missing(threshold, f"Note, bewertende Person oder Beleg fehlt: {', '.join(lacking)} (G6-1).")
    value = ", ".join(f"{LEVELS_DE[item.name]} {item.score}" for item in found)
    weak = [item for item in found if item.score is not None and item.score < least]
    if weak:
        names = ", ".join(f"{LEVELS_DE[item.name]} {item.score}" for item in weak)
        return not_met(value, threshold, f"Unter der Mindestnote {least}: {names} (G6-1).")
    different = len({item.evidence.casefold() for item in found}) == len(found)
    good = "Jede der drei Ebenen erreicht die Mindestnote."
    return decide(different, value, threshold, good, "Zwei Ebenen beruhen auf demselben Beleg (G6-1).")


@criterion("G6-6")
def exit_and_lock_in(facts: Facts, policy: Policy) -> Outcome:
    """Term, notice, transition, return of data, format, exit cost and switching charges are answered."""
    threshold = "7 Angaben zu Bindung und Ausstieg, eine Null mit Begründung"
    if facts.offer is None:
        return missing(threshold, "Angebot und Ausstieg der Plattform (EV-20) fehlen.")
    if elsewhere := _elsewhere(facts, threshold, "Das Angebot (EV-20)", "G6-6"):
        return elsewhere
    parts = _exit_answers(facts.offer)
    gaps = [name for name, answered in parts.items() if not answered]
    value = f"{len(parts) - len(gaps)} von {len(parts)} Angaben"
    good = "Bindung und Ausstieg sind geklärt."
    return decide(not gaps, value, threshold, good, f"Zum Ausstieg fehlt: {', '.join(gaps)} (G6-6).")


def _exit_answers(offer: OfferFacts) -> dict[str, bool]:
    return {
        "Laufzeit": offer.term_months is not None,
        "Kündigungsfrist": offer.notice_months is not None,
        "Übergang": bool(offer.transition),
        "Rückgabe der Daten": bool(offer.data_return),
        "Exportformat": bool(offer.export_format),
        "Kosten des Ausstiegs": _costed(offer.exit_cost_eur, offer.exit_cost_reason),
        "Wechselentgelte": _costed(offer.switching_charges_eur, offer.switching_reason),
    }


def _costed(amount: object, reason: str) -> bool:
    return amount is not None and (amount != 0 or bool(reason))


@criterion("G6-7")
def environment(facts: Facts, policy: Policy) -> Outcome:
    """Every row is settled by somebody or does not apply for a reason."""
    threshold = f"{len(_ENVIRONMENT)} von {len(_ENVIRONMENT)} Punkten geklärt"
    if facts.environment is None:
        return missing(threshold, "Die Umfeld-Checkliste der Plattform (EV-26) fehlt.")
    if elsewhere := _elsewhere(facts, threshold, "Die Umfeld-Checkliste (EV-26)", "G6-7"):
        return elsewhere
    done = {
        item.item
        for item in facts.environment.items
        if (item.status == "GEKLAERT" and item.responsible) or (item.status == "ENTFAELLT" and item.note)
    }
    lacking = [name for key, name in _ENVIRONMENT.items() if key not in done]
    value = f"{len(_ENVIRONMENT) - len(lacking)} von {len(_ENVIRONMENT)} Punkten"
    good = "Das Umfeld der Plattform ist geklärt."
    return decide(not lacking, value, threshold, good, f"Noch offen: {', '.join(lacking)} (G6-7).")


@criterion("G6-9")
def offer_current(facts: Facts, policy: Policy) -> Outcome:
    """The offer names its commercial model and is not older than the policy allows."""
    longest = policy.span("POL-24", "max")
    threshold = f"Vertragsmodell angegeben, Angebot höchstens {longest.days} Tage alt (POL-24)"
    offer = facts.offer
    if offer is None or offer.offered_at is None:
        return missing(threshold, "Ein Angebot mit Datum (EV-20) fehlt.")
    if elsewhere := _elsewhere(facts, threshold, "Das Angebot (EV-20)", "G6-9"):
        return elsewhere
    age = facts.now.astimezone(_PLACE).date() - offer.offered_at
    value = f"Angebot vom {offer.offered_at:%d.%m.%Y}"
    if offer.commercial_model not in _MODELS:
        return not_met(value, threshold, "Das Vertragsmodell des Angebots fehlt (G6-9).")
    if age < timedelta(0):
        return not_met(value, threshold, "Das Datum des Angebots liegt in der Zukunft (G6-9).")
    if age > longest:
        return not_met(value, threshold, f"Das Angebot ist {age.days} Tage alt (G6-9).")
    return met(value, threshold, "Das Angebot ist aktuell.")
