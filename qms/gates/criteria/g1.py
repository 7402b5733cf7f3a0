"""G1 Klassifizierung: object classes, inheritance, place, access, retention, protection needs (spec 3.6)."""

from __future__ import annotations

from dataclasses import replace

from qms.gates.facts import Facts, ObjectClassFacts
from qms.gates.outcome import Cause, Outcome, criterion, decide, met, missing, not_met
from qms.gates.policy import Policy
from qms.workloads import plans
from qms.workloads.choices import LeavesEnvironment, Level, ObjectClass
from qms.workloads.inheritance import inheritance_problems

_VIEWED = (ObjectClass.LOGS_TELEMETRY, ObjectClass.CHECKPOINTS)


def _labels(classes: list[ObjectClass]) -> str:
    return ", ".join(_GERMAN[item] for item in classes)


# Stored texts stay German whatever language is active, so the labels are not taken from the translated enum.
_GERMAN = {
    ObjectClass.INPUT_DATA: "Eingabedaten",
    ObjectClass.TRAINING_DATA: "Trainingsdaten",
    ObjectClass.CHECKPOINTS: "Checkpoints",
    ObjectClass.MODEL_WEIGHTS: "Modellgewichte",
    ObjectClass.LOGS_TELEMETRY: "Protokolle und Telemetrie",
    ObjectClass.OUTPUTS: "Ausgaben",
    ObjectClass.METADATA: "Metadaten",
}


def _confirmed(item: ObjectClassFacts) -> bool:
    return item.confirmed_by is not None and item.confirmed_by != item.classified_by


@criterion("G1-1")
def all_classes(facts: Facts, policy: Policy) -> Outcome:
    """All seven classes are classified and confirmed by another person."""
    done = {item.object_class for item in facts.classification.classes if _confirmed(item)}
    lacking = [item for item in ObjectClass if item not in done]
    good = "Datenklassifizierung bestätigt: 7 von 7 Objektklassen (G1-1)."
    bad = "Datenklassifizierung unvollständig (G1-1)."
    rest = f", offen: {_labels(lacking)}" if lacking else ""
    value = f"{len(done)} von {len(ObjectClass)} Objektklassen{rest}"
    return decide(not lacking, value, "7 von 7, von einer anderen Person bestätigt", good, bad)


@criterion("G1-2")
def inheritance(facts: Facts, policy: Policy) -> Outcome:
    """The rules of 4.1 and 4.3 hold."""
    threshold = "Regeln 4.1 und 4.3 eingehalten"
    values = facts.classification.values()
    if len(values) < len(ObjectClass):
        return missing(
            threshold, "Die Vererbung lässt sich erst prüfen, wenn alle Objektklassen eingestuft sind."
        )
    inherited = [item.message_de for item in inheritance_problems(values, facts.classification.log_content)]
    of_file = _file_problem(facts.workload.model_file_level, values[ObjectClass.MODEL_WEIGHTS].level)
    problems = inherited + of_file
    if not problems:
        return met("eingehalten", threshold, "Die Einstufungen folgen den Vererbungsregeln.")
    value = "1 Verstoß" if len(problems) == 1 else f"{len(problems)} Verstöße"
    return replace(
        not_met(value, threshold, problems[0]), cause=None if inherited else Cause.MODEL_FILE_LEVEL
    )


def _file_problem(stated: Level | None, classified: Level) -> list[str]:
    """Return the sentence where the file of the model carries another level than the class it belongs to."""
    if stated is None or stated is classified:
        return []
    sentence = (
        f"Die Aufzeichnung des Modells ist als {stated.value} angegeben, die Modellgewichte sind als "
        f"{classified.value} eingestuft."
    )
    return [sentence]


@criterion("G1-3")
def leaves_environment(facts: Facts, policy: Policy) -> Outcome:
    """The question is answered, and a place is named if data leave."""
    location = facts.classification.location
    threshold = "ja oder nein; bei ja Anbieter, Region und Land"
    if location.leaves_own_env is None:
        return not_met(
            "nicht beantwortet", threshold, "Es ist offen, ob Daten die eigene Umgebung verlassen."
        )
    if location.leaves_own_env is LeavesEnvironment.NO:
        return decide(True, "nein", threshold, "Daten verlassen die eigene Umgebung nicht.", "")
    named = all((location.provider.strip(), location.region.strip(), location.country.strip()))
    good, bad = "Der Verarbeitungsort ist benannt.", "Anbieter, Region oder Land fehlt."
    return decide(named, "ja", threshold, good, bad)


@criterion("G1-4")
def viewers(facts: Facts, policy: Policy) -> Outcome:
    """Logs and checkpoints have an access plan without wildcard."""
    plan = {entry.object_class: entry for entry in facts.classification.access}
    lacking = [
        item
        for item in _VIEWED
        if item not in plan
        or not plan[item].principals
        or any("*" in name or not name.strip() for name in plan[item].principals)
        or not plan[item].provider_answered
    ]
    good = "Für Protokolle und Checkpoints ist festgelegt, wer sie sieht."
    bad = f"Ohne gültigen Zugriffsplan: {_labels(lacking)}."
    value = f"{len(_VIEWED) - len(lacking)} von {len(_VIEWED)}"
    return decide(not lacking, value, "beide ohne Platzhalter, Anbieterrollen benannt", good, bad)


@criterion("G1-5")
def retention(facts: Facts, policy: Policy) -> Outcome:
    """Every class has a period within its retention class."""
    content = facts.classification.log_content
    threshold = "Frist je Objektklasse innerhalb der Aufbewahrungsklasse (3.16, 4.2)"
    if content is None:
        return missing(threshold, "Es ist offen, ob Protokolle Inhalte enthalten.")
    plan = {entry.object_class: entry for entry in facts.classification.retention}
    levels = {item.object_class: item.level for item in facts.classification.classes}
    bad_ones = [
        item
        for item in ObjectClass
        if item not in plan
        or item not in levels
        or not 0 < plan[item].period_days <= plans.max_days(item, levels[item], content)
    ]
    good = "Jede Objektklasse hat eine zulässige Frist."
    bad = f"Frist fehlt oder ist zu lang: {_labels(bad_ones)}."
    value = f"{len(ObjectClass) - len(bad_ones)} von {len(ObjectClass)}"
    return decide(not bad_ones, value, threshold, good, bad)


@criterion("G1-12")
def protection_needs(facts: Facts, policy: Policy) -> Outcome:
    """C, I and A are set and confirmed for every class."""
    done = {
        item.object_class
        for item in facts.classification.classes
        if _confirmed(item) and item.protection_c and item.protection_i and item.protection_a
    }
    lacking = [item for item in ObjectClass if item not in done]
    good = "Der Schutzbedarf ist je Objektklasse bestätigt."
    bad = f"Schutzbedarf nicht bestätigt: {_labels(lacking)}."
    return decide(not lacking, f"{len(done)} von {len(ObjectClass)}", "7 von 7 bestätigt", good, bad)
