"""From four answers to a proposal for seven object classes (spec 4.5), and the rules that hold for it (4.3). Pure.

The proposal is never a classification: another person confirms it (G1-1). Reasons are stored with it and
printed in the document, so they are German whatever language the screen has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from qms.workloads import levels, questions
from qms.workloads.choices import (
    Flag,
    LeavesEnvironment,
    Level,
    LogContent,
    Mode,
    ObjectClass,
    ProtectionNeed,
)
from qms.workloads.questions import Answer, Answers

AS_ANSWERED: Final = frozenset(
    {
        Flag.TRADE_SECRET,
        Flag.PERSONAL_DATA,
        Flag.EMPLOYEE_DATA,
        Flag.SPECIAL_CATEGORIES,
        Flag.THIRD_PARTY_LICENCE,
        Flag.EXPORT_CONTROLLED,
    }
)
TO_WEIGHTS: Final = frozenset(
    {Flag.PERSONAL_DATA, Flag.SPECIAL_CATEGORIES, Flag.EMPLOYEE_DATA, Flag.TRADE_SECRET}
)
_TO_OUTPUTS: Final = frozenset({Flag.PERSONAL_DATA, Flag.EMPLOYEE_DATA, Flag.SPECIAL_CATEGORIES})
_WITHOUT_TRAINING: Final = frozenset({Flag.THIRD_PARTY_LICENCE, Flag.EXPORT_CONTROLLED})


@dataclass(frozen=True, slots=True)
class ClassProposal:
    """Proposed level and flags of one object class with the German reason."""

    object_class: ObjectClass
    level: Level
    flags: tuple[Flag, ...]
    reason_de: str
    protection_c: ProtectionNeed
    protection_i: ProtectionNeed
    protection_a: ProtectionNeed


@dataclass(frozen=True, slots=True)
class Proposal:
    """The proposal for all classes.

    version: of questions and table; rows: a class without proposal is absent (4.3 rule 6); hard_stop: state
    secrets, no proposal and no approval (G1-11).
    """

    version: str
    rows: Mapping[ObjectClass, ClassProposal]
    leaves_own_env: LeavesEnvironment | None
    log_content: LogContent | None
    hard_stop: bool

    @property
    def complete(self) -> bool:
        """Whether every class has a proposal."""
        return len(self.rows) == len(ObjectClass)


@dataclass(frozen=True, slots=True)
class _Draft:
    level: Level
    flags: tuple[Flag, ...]
    reason_de: str


def propose(
    answers: Answers,
    *,
    mode: Mode,
    own_training: bool = False,
    business_critical: bool = False,
) -> Proposal:
    """Return the proposal for `answers`; questions without a usable answer leave their classes open."""
    by_id = {question.id: question for question in questions.questions()}
    chosen = {
        key: question.chosen(answers) if questions.answered(question, answers) else ()
        for key, question in by_id.items()
    }
    hard_stop = "f" in answers.get("KF-2", frozenset())
    leaves = next((answer.leaves for answer in chosen["KF-3"] if answer.leaves), None)
    logs = _log_content(chosen["KF-4"])
    drafts = {} if hard_stop else _drafts(chosen, mode, own_training, logs)
    rows = {key: _row(key, drafts[key], business_critical) for key in ObjectClass if key in drafts}
    return Proposal(questions.version(), rows, leaves, logs, hard_stop)


def _log_content(chosen: tuple[Answer, ...]) -> LogContent | None:
    found = {answer.logs for answer in chosen if answer.logs}
    if not found:
        return None
    return LogContent.PAYLOAD if LogContent.PAYLOAD in found else LogContent.TELEMETRY


def _row(object_class: ObjectClass, draft: _Draft, business_critical: bool) -> ClassProposal:
    available = ProtectionNeed.HIGH if business_critical else ProtectionNeed.NORMAL
    return ClassProposal(
        object_class,
        draft.level,
        draft.flags,
        draft.reason_de,
        levels.PROTECTION_C[draft.level],
        ProtectionNeed.NORMAL,
        available,
    )


def _drafts(
    chosen: Mapping[str, tuple[Answer, ...]], mode: Mode, own_training: bool, logs: LogContent | None
) -> dict[ObjectClass, _Draft]:
    drafts: dict[ObjectClass, _Draft] = {}
    if logs is LogContent.TELEMETRY:
        drafts[ObjectClass.LOGS_TELEMETRY] = _Draft(
            Level.INTERNAL, (), "K1: Die Protokolle halten nur technische Werte."
        )
    if not all(chosen[key] for key in ("KF-1", "KF-2", "KF-3")):
        return drafts
    answers = [answer for key in sorted(chosen) for answer in chosen[key]]
    flags = levels.ordered(flag for answer in answers for flag in answer.flags)
    base = _base([answer for answer in answers if answer.base])
    drafts[ObjectClass.INPUT_DATA] = _Draft(
        base.level, tuple(flag for flag in flags if flag in AS_ANSWERED), base.reason_de
    )
    drafts[ObjectClass.TRAINING_DATA] = _training(drafts[ObjectClass.INPUT_DATA], mode, own_training)
    drafts[ObjectClass.MODEL_WEIGHTS] = _weights(drafts[ObjectClass.TRAINING_DATA], flags)
    weights = drafts[ObjectClass.MODEL_WEIGHTS]
    drafts[ObjectClass.CHECKPOINTS] = _Draft(
        weights.level, weights.flags, f"{weights.level}: wie die Modellgewichte, aus denen sie bestehen."
    )
    if logs is not None:
        _add_outputs_and_logs(drafts, flags, logs)
        drafts[ObjectClass.METADATA] = _metadata(drafts)
    return drafts


def _base(answers: list[Answer]) -> _Draft:
    level = levels.highest(answer.base for answer in answers if answer.base)
    assert level is not None  # every main answer of KF-2 names a level
    reasons = [answer.text_de for answer in answers if answer.base is level]
    quoted = " und ".join(f"„{reason}“" for reason in reasons)
    return _Draft(level, (), f"{level}: folgt aus der Antwort {quoted}")


def _training(data: _Draft, mode: Mode, own_training: bool) -> _Draft:
    if mode is not Mode.INFERENCE or own_training:
        return _Draft(
            data.level, data.flags, f"{data.level}: wie die Eingabedaten, mit denen trainiert wird."
        )
    flags = tuple(flag for flag in data.flags if flag in _WITHOUT_TRAINING)
    level = levels.at_least(levels.lower_of(data.level, Level.INTERNAL), levels.minimum_for(flags))
    return _Draft(level, flags, f"{level}: kein eigenes Training, nur das bezogene Modell.")


def _weights(training: _Draft, flags: tuple[Flag, ...]) -> _Draft:
    inherited = [flag for flag in training.flags if flag in TO_WEIGHTS]
    if Flag.PROTECTED_WEIGHTS not in flags:
        reason = f"{training.level}: wie die Trainingsdaten, aus denen sie entstanden sind."
        return _Draft(training.level, levels.ordered(inherited), reason)
    level = levels.at_least(training.level, levels.FLAG_MINIMUM[Flag.PROTECTED_WEIGHTS])
    reason = f"{level}: Das Modell selbst enthält eigenes Wissen, daher mindestens K2."
    return _Draft(level, levels.ordered([Flag.PROTECTED_WEIGHTS, *inherited]), reason)


def _add_outputs_and_logs(
    drafts: dict[ObjectClass, _Draft], flags: tuple[Flag, ...], logs: LogContent
) -> None:
    data, weights = drafts[ObjectClass.INPUT_DATA], drafts[ObjectClass.MODEL_WEIGHTS]
    revealing = Flag.PROTECTED_OUTPUTS in flags
    carried = [flag for flag in data.flags if flag in _TO_OUTPUTS]
    kept = levels.ordered([*carried, *([Flag.PROTECTED_OUTPUTS] if revealing else [])])
    if revealing or Flag.PERSONAL_DATA in weights.flags:
        level = levels.at_least(data.level, weights.level)
        reason = (
            f"{level}: Die Ausgaben können Eingaben oder Modellwissen verraten, es gilt die höhere Stufe."
        )
    else:
        level, reason = data.level, f"{data.level}: wie die Eingabedaten, aus denen sie berechnet werden."
    drafts[ObjectClass.OUTPUTS] = outputs = _Draft(level, kept, reason)
    if logs is LogContent.PAYLOAD:
        level = levels.at_least(data.level, outputs.level)
        drafts[ObjectClass.LOGS_TELEMETRY] = _Draft(
            level,
            levels.ordered([*data.flags, *outputs.flags]),
            f"{level}: Die Protokolle enthalten Inhalte, es gilt die höhere Stufe von Eingaben und Ausgaben.",
        )


def _metadata(drafts: Mapping[ObjectClass, _Draft]) -> _Draft:
    if any(draft.level is Level.STRICTLY_CONFIDENTIAL for draft in drafts.values()):
        return _Draft(Level.CONFIDENTIAL, (), "K2: Eine andere Objektklasse ist K3.")
    return _Draft(Level.INTERNAL, (), "K1: Beschreibungen und Verzeichnisse für den internen Gebrauch.")
