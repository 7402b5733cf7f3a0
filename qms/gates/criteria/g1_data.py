"""G1 where flags apply: personal data, transfer, special categories, state secrets, employees (spec 3.6)."""

from __future__ import annotations

from qms.gates.facts import Facts
from qms.gates.outcome import Outcome, criterion, decide, met, missing, not_applicable, not_met
from qms.gates.policy import Policy
from qms.workloads.choices import Flag, LeavesEnvironment, Level, ObjectClass

_UNCLASSIFIED = "Es sind noch nicht alle Objektklassen eingestuft."


def _classified(facts: Facts) -> bool:
    return len(facts.classification.classes) == len(ObjectClass)


@criterion("G1-8")
def personal_data(facts: Facts, policy: Policy) -> Outcome:
    """Personal data have legal basis, register entry, DPIA decision, opinion and agreement."""
    threshold = "Rechtsgrundlage, VVT, DSFA-Entscheidung, Stellungnahme, AVV bei Anbieter"
    if not facts.classification.has(Flag.PERSONAL_DATA):
        if not _classified(facts):
            return missing(threshold, _UNCLASSIFIED)
        return not_applicable("keine Objektklasse personenbezogene Daten enthält")
    found = facts.classification.personal
    gaps = [] if found.legal_basis.strip() else ["Rechtsgrundlage"]
    gaps += [] if found.vvt_id.strip() else ["VVT-Eintrag"]
    gaps += ["DSFA-Entscheidung"] if found.dpia_required is None else []
    gaps += ["DSFA"] if found.dpia_required and not found.dpia_done else []
    gaps += [] if found.ds_opinion else ["Stellungnahme"]
    provider = facts.classification.location.leaves_own_env is LeavesEnvironment.YES
    agreed = found.agreement_valid_until is not None and found.agreement_valid_until >= facts.now
    gaps += ["AVV"] if provider and not agreed else []
    value = "vollständig" if not gaps else "unvollständig"
    good = "Die Grundlagen der Verarbeitung liegen vor."
    return decide(not gaps, value, threshold, good, f"Es fehlt: {', '.join(gaps)} (G1-8).")


@criterion("G1-9")
def transfer(facts: Facts, policy: Policy) -> Outcome:
    """A third-country transfer is allowed for the class and secured."""
    location = facts.classification.location
    threshold = "kein Drittland, oder gültiges Instrument, TIA und Stellungnahme"
    if location.leaves_own_env is LeavesEnvironment.NO:
        return not_applicable("keine Daten die eigene Umgebung verlassen")
    if location.leaves_own_env is None or location.third_country is None:
        return missing(threshold, "Es ist offen, ob Daten in ein Drittland gelangen.")
    if not location.third_country:
        return not_applicable("der Verarbeitungsort in keinem Drittland liegt")
    top = any(item.level is Level.STRICTLY_CONFIDENTIAL for item in facts.classification.classes)
    if top or facts.classification.has(Flag.SPECIAL_CATEGORIES):
        reason = "K3/besondere Kategorien dürfen nicht in ein Drittland (G1-9)."
        return not_met("Drittland", threshold, reason)
    until = location.transfer_tool_valid_until
    gaps = [] if location.transfer_assessment else ["TIA"]
    gaps += [] if until is not None and until >= facts.now else ["gültiges Transferinstrument"]
    gaps += [] if facts.classification.personal.ds_opinion else ["Stellungnahme"]
    if gaps:
        return not_met("Drittland", threshold, f"Transfer unvollständig, es fehlt: {', '.join(gaps)} (G1-9).")
    return met("Drittland", threshold, "Transfer zulässig: Instrument und TIA gültig (G1-9).")


@criterion("G1-10")
def special_categories(facts: Facts, policy: Policy) -> Outcome:
    """Special categories are K3 and have a ground."""
    threshold = "K3 und Grund nach Art. 9 Abs. 2 DSGVO"
    marked = [item for item in facts.classification.classes if Flag.SPECIAL_CATEGORIES in item.flags]
    if not marked:
        if not _classified(facts):
            return missing(threshold, _UNCLASSIFIED)
        return not_applicable("keine Objektklasse besondere Kategorien enthält")
    high = all(item.level is Level.STRICTLY_CONFIDENTIAL for item in marked)
    ground = bool(facts.classification.personal.special_category_ground.strip())
    good = "Besondere Kategorien sind als K3 eingestuft und begründet."
    bad = "Einstufung als K3 oder Grund nach Art. 9 Abs. 2 DSGVO fehlt (G1-10)."
    return decide(high and ground, "K3" if high else "unter K3", threshold, good, bad)


@criterion("G1-11")
def state_secrets(facts: Facts, policy: Policy) -> Outcome:
    """State secrets need an accredited environment."""
    threshold = "Zulassung der Umgebung"
    if not facts.classification.has(Flag.STATE_CLASSIFIED):
        if not _classified(facts):
            return missing(threshold, _UNCLASSIFIED)
        return not_applicable("keine Verschlusssachen verarbeitet werden")
    accredited = bool(facts.classification.personal.secrets_accreditation.strip())
    value = "zugelassen" if accredited else "keine Zulassung"
    bad = "Verschlusssachen ohne Zulassung der Umgebung sind ausgeschlossen (G1-11)."
    return decide(accredited, value, threshold, "Die Umgebung ist zugelassen.", bad)


@criterion("G1-13")
def works_council(facts: Facts, policy: Policy) -> Outcome:
    """Employee data have a works council status."""
    threshold = "Stand der Beteiligung angegeben"
    if not facts.classification.has(Flag.EMPLOYEE_DATA):
        if not _classified(facts):
            return missing(threshold, _UNCLASSIFIED)
        return not_applicable("keine Beschäftigtendaten verarbeitet werden")
    status = facts.classification.personal.works_council_status.strip()
    bad = "Der Stand der Beteiligung des Betriebsrats fehlt."
    return decide(
        bool(status), status or "keiner", threshold, "Der Stand der Beteiligung ist angegeben.", bad
    )
