"""Rules a confirmed classification obeys: inheritance (spec 4.3) and lowest levels of the flags (4.1). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from qms.core.errors import CriterionNotMet
from qms.workloads import levels
from qms.workloads.choices import Flag, Level, LogContent, ObjectClass
from qms.workloads.classification import TO_WEIGHTS, ClassProposal


@dataclass(frozen=True, slots=True)
class ClassValue:
    """Level and flags of one object class as entered or confirmed.

    downgrade_evidence: EV id and digest of the assessment that allows a level below the inherited one, "" if none;
    contact_data_only: the data protection officer confirmed business contact data only (K1 with F-PB, 4.1).
    """

    level: Level
    flags: tuple[Flag, ...] = ()
    downgrade_evidence: str = ""
    contact_data_only: bool = False


@dataclass(frozen=True, slots=True)
class InheritanceProblem:
    """One violated rule with the class it concerns and the German sentence (G1-2)."""

    object_class: ObjectClass
    message_de: str


# "dürfen nicht niedriger eingestuft sein als …" needs the noun in the plural nominative of both sides.
_NAMES: Final[dict[ObjectClass, str]] = {
    ObjectClass.INPUT_DATA: "die Eingabedaten",
    ObjectClass.TRAINING_DATA: "die Trainingsdaten",
    ObjectClass.CHECKPOINTS: "die Checkpoints",
    ObjectClass.MODEL_WEIGHTS: "die Modellgewichte",
    ObjectClass.LOGS_TELEMETRY: "die Protokolle",
    ObjectClass.OUTPUTS: "die Ausgaben",
    ObjectClass.METADATA: "die Metadaten",
}
_DOWNGRADE: Final[dict[ObjectClass, str]] = {
    ObjectClass.CHECKPOINTS: "Herabstufung nur mit EV-21b.",
    ObjectClass.MODEL_WEIGHTS: "Herabstufung nur mit EV-21b.",
    ObjectClass.LOGS_TELEMETRY: "Herabstufung nur mit Schwärzungsbericht.",
    ObjectClass.OUTPUTS: "Herabstufung nur mit Schwärzungsbericht.",
}

Values = Mapping[ObjectClass, ClassValue]


def inheritance_problems(values: Values, log_content: LogContent | None) -> tuple[InheritanceProblem, ...]:
    """Return every violated rule of 4.1 and 4.3 among the classes given; absent classes are not judged."""
    found = [_level_problem(values, low, high) for low, high in _pairs(values, log_content)]
    found += [
        _flag_problem(values, target) for target in (ObjectClass.CHECKPOINTS, ObjectClass.MODEL_WEIGHTS)
    ]
    found += [_minimum_problem(key, value) for key, value in values.items()]
    return tuple(problem for problem in found if problem is not None)


def check_inheritance(values: Values, log_content: LogContent | None) -> None:
    """Raise CriterionNotMet (G1-2) with the sentence of the first violated rule."""
    for problem in inheritance_problems(values, log_content):
        step = "Stufe und Kennzeichen der Objektklasse anheben."
        facts = {"object_class": problem.object_class.value}
        raise CriterionNotMet(problem.message_de, id="G1-2", next_step=step, facts=facts)


def workload_level(values: Values) -> Level | None:
    """Return the level of the workload: the highest of its classes (4.3 rule 4), None without classes."""
    return levels.highest(value.level for value in values.values())


def workload_flags(values: Values) -> tuple[Flag, ...]:
    """Return every flag of any class in catalogue order."""
    return levels.ordered(flag for value in values.values() for flag in value.flags)


def below_proposal(proposal: ClassProposal | None, value: ClassValue) -> bool:
    """Return whether `value` is lower than the proposal or drops one of its flags."""
    if proposal is None:
        return False
    return levels.rank(value.level) < levels.rank(proposal.level) or bool(
        set(proposal.flags) - set(value.flags)
    )


def check_reason(
    object_class: ObjectClass, proposal: ClassProposal | None, value: ClassValue, reason: str
) -> None:
    """Raise CriterionNotMet (G1-1) if a value below the proposal has no reason (spec 4.5)."""
    if below_proposal(proposal, value) and not reason.strip():
        name = object_class.label
        raise CriterionNotMet(
            f"{name}: Eine Einstufung unter dem Vorschlag braucht eine Begründung (G1-1).",
            id="G1-1",
            next_step="Begründung eintragen oder dem Vorschlag folgen.",
            facts={"object_class": object_class.value},
        )


def _pairs(values: Values, log_content: LogContent | None) -> list[tuple[ObjectClass, ObjectClass]]:
    pairs = [
        (ObjectClass.CHECKPOINTS, ObjectClass.TRAINING_DATA),
        (ObjectClass.MODEL_WEIGHTS, ObjectClass.TRAINING_DATA),
        (ObjectClass.OUTPUTS, ObjectClass.INPUT_DATA),
    ]
    weights = values.get(ObjectClass.MODEL_WEIGHTS)
    if weights is not None and Flag.PERSONAL_DATA in weights.flags:
        pairs.append((ObjectClass.OUTPUTS, ObjectClass.MODEL_WEIGHTS))
    if log_content is LogContent.PAYLOAD:
        pairs.append((ObjectClass.LOGS_TELEMETRY, ObjectClass.INPUT_DATA))
    return pairs


def _level_problem(values: Values, lower: ObjectClass, upper: ObjectClass) -> InheritanceProblem | None:
    value, against = values.get(lower), values.get(upper)
    if value is None or against is None or levels.rank(value.level) >= levels.rank(against.level):
        return None
    if value.downgrade_evidence and not _below_floor(value, against):
        return None
    name = _NAMES[lower].removeprefix("die ")
    text = f"{name} dürfen nicht niedriger eingestuft sein als {_NAMES[upper]} (G1-2). {_DOWNGRADE[lower]}"
    return InheritanceProblem(lower, text)


def _below_floor(value: ClassValue, against: ClassValue) -> bool:
    # 4.3 rule 5: never below K1 for weights trained on personal data.
    return Flag.PERSONAL_DATA in against.flags and value.level is Level.PUBLIC


def _flag_problem(values: Values, target: ObjectClass) -> InheritanceProblem | None:
    value, training = values.get(target), values.get(ObjectClass.TRAINING_DATA)
    if value is None or training is None or value.downgrade_evidence:
        return None
    missing = levels.ordered(set(training.flags) & TO_WEIGHTS - set(value.flags))
    if not missing:
        return None
    names = ", ".join(missing)
    name = _NAMES[target].removeprefix("die ")
    text = f"{name} übernehmen die Kennzeichen der Trainingsdaten: {names} fehlt (G1-2)."
    return InheritanceProblem(target, text)


def _minimum_problem(object_class: ObjectClass, value: ClassValue) -> InheritanceProblem | None:
    flags = [flag for flag in value.flags if not (flag is Flag.PERSONAL_DATA and value.contact_data_only)]
    minimum = levels.minimum_for(flags)
    if minimum is None or levels.rank(value.level) >= levels.rank(minimum) or value.downgrade_evidence:
        return None
    text = f"{object_class.label}: {', '.join(flags)} verlangt mindestens {minimum.value} (G1-2)."
    return InheritanceProblem(object_class, text)
