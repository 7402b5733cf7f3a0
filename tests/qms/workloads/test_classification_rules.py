from __future__ import annotations

import pytest

from qms.core.errors import CriterionNotMet
from qms.workloads import levels, plans, questions
from qms.workloads.choices import (
    Flag,
    LeavesEnvironment,
    Level,
    LogContent,
    Mode,
    ObjectClass,
    ProtectionNeed,
)
from qms.workloads.classification import Proposal, propose
from qms.workloads.inheritance import (
    ClassValue,
    check_inheritance,
    check_reason,
    inheritance_problems,
    workload_flags,
    workload_level,
)

K0, K1, K2, K3 = Level
PB, BK, MG, GA, BD, GG, DL, EX, VS = Flag
OC = ObjectClass


def answers(one: str = "a", two: str = "b", three: str = "a", four: str = "a") -> dict[str, frozenset[str]]:
    found = {"KF-1": one, "KF-2": two, "KF-3": three, "KF-4": four}
    return {key: frozenset(value) for key, value in found.items() if value}


def proposal(*codes: str, mode: Mode = Mode.INFERENCE, own_training: bool = False) -> Proposal:
    return propose(answers(*codes), mode=mode, own_training=own_training)


def level_of(found: Proposal, key: ObjectClass) -> Level:
    return found.rows[key].level


def test_example_of_the_specification_is_seven_times_k1() -> None:
    found = proposal("a", "b", "a", "a")
    assert [row.level for row in found.rows.values()] == [K1] * 7
    assert all(row.flags == () for row in found.rows.values())
    assert found.leaves_own_env is LeavesEnvironment.NO
    assert found.log_content is LogContent.TELEMETRY
    assert found.complete
    assert found.version == "0.1.0"
    assert all(row.reason_de.startswith("K1: ") for row in found.rows.values())


@pytest.mark.parametrize(
    ("codes", "level", "flags"),
    [
        (("a", "a", "a", "a"), K0, ()),
        (("b", "b", "a", "a"), K2, (PB,)),
        (("c", "a", "a", "a"), K2, (PB,)),
        (("d", "b", "a", "a"), K2, (PB, BD)),
        (("e", "b", "a", "a"), K3, (PB, BK)),
        (("de", "b", "a", "a"), K3, (PB, BK, BD)),
        (("a", "c", "a", "a"), K2, (GG,)),
        (("a", "d", "a", "a"), K3, ()),
        (("a", "a", "ac", "a"), K1, (DL,)),
        (("a", "b", "ad", "a"), K2, (EX,)),
    ],
)
def test_base_is_the_highest_level_named(
    codes: tuple[str, ...], level: Level, flags: tuple[Flag, ...]
) -> None:
    row = proposal(*codes).rows[OC.INPUT_DATA]
    assert (row.level, row.flags) == (level, flags)


def test_inference_without_own_training_lowers_training_data_to_k1() -> None:
    found = proposal("c", "c", "a", "a")
    assert level_of(found, OC.TRAINING_DATA) is K1
    assert level_of(found, OC.MODEL_WEIGHTS) is K1
    assert level_of(found, OC.OUTPUTS) is K2


def test_inference_without_own_training_keeps_export_control_at_k2() -> None:
    row = proposal("a", "b", "ad", "a").rows[OC.TRAINING_DATA]
    assert (row.level, row.flags) == (K2, (EX,))


@pytest.mark.parametrize(
    ("mode", "own"), [(Mode.TRAINING, False), (Mode.FINE_TUNING, False), (Mode.INFERENCE, True)]
)
def test_own_training_passes_level_and_flags_to_weights_and_checkpoints(mode: Mode, own: bool) -> None:
    found = proposal("d", "c", "a", "a", mode=mode, own_training=own)
    for key in (OC.MODEL_WEIGHTS, OC.CHECKPOINTS):
        assert (found.rows[key].level, found.rows[key].flags) == (K2, (PB, BD, GG))


def test_protected_weights_are_at_least_k2() -> None:
    row = proposal("a", "be", "a", "a").rows[OC.MODEL_WEIGHTS]
    assert (row.level, row.flags) == (K2, (MG,))


def test_revealing_outputs_take_the_higher_of_inputs_and_weights() -> None:
    row = proposal("a", "be", "a", "c").rows[OC.OUTPUTS]
    assert (row.level, row.flags) == (K2, (GA,))
    assert proposal("a", "be", "a", "a").rows[OC.OUTPUTS].level is K1


def test_logs_with_contents_take_levels_and_flags_of_inputs_and_outputs() -> None:
    row = proposal("c", "c", "a", "bc").rows[OC.LOGS_TELEMETRY]
    assert (row.level, row.flags) == (K2, (PB, GA, GG))
    assert proposal("c", "c", "a", "c").rows[OC.LOGS_TELEMETRY].level is K1


def test_metadata_are_k2_beside_k3() -> None:
    assert level_of(proposal("a", "d", "a", "a"), OC.METADATA) is K2
    assert level_of(proposal("a", "c", "a", "a"), OC.METADATA) is K1


def test_state_secrets_stop_hard_without_proposal() -> None:
    found = proposal("a", "bf", "a", "a")
    assert found.hard_stop
    assert found.rows == {}


@pytest.mark.parametrize(
    ("codes", "present"),
    [
        (("a", "b", "a", ""), {OC.INPUT_DATA, OC.TRAINING_DATA, OC.CHECKPOINTS, OC.MODEL_WEIGHTS}),
        (("", "b", "a", "a"), {OC.LOGS_TELEMETRY}),
        (("a", "", "a", "b"), set()),
        (("ab", "b", "a", "a"), {OC.LOGS_TELEMETRY}),
    ],
)
def test_unanswered_question_leaves_its_classes_open(
    codes: tuple[str, ...], present: set[ObjectClass]
) -> None:
    assert set(proposal(*codes).rows) == present


@pytest.mark.parametrize(
    ("codes", "question"),
    [
        (("", "b", "a", "a"), "KF-1"),
        (("ab", "b", "a", "a"), "KF-1"),
        (("a", "ab", "a", "a"), "KF-2"),
        (("a", "e", "a", "a"), "KF-2"),
        (("a", "b", "c", "a"), "KF-3"),
        (("a", "b", "ab", "a"), "KF-3"),
        (("a", "b", "a", "ab"), "KF-4"),
        (("a", "b", "a", "z"), "KF-4"),
    ],
)
def test_wrong_combination_names_its_question(codes: tuple[str, ...], question: str) -> None:
    assert [problem.question for problem in questions.problems(answers(*codes))] == [question]
    with pytest.raises(CriterionNotMet) as caught:
        questions.check_answers(answers(*codes))
    assert caught.value.id == "G1-1"
    assert caught.value.message.startswith(question)


@pytest.mark.parametrize("codes", [("bcde", "aef", "acd", "bc"), ("a", "d", "bd", "a")])
def test_allowed_combination_is_accepted(codes: tuple[str, ...]) -> None:
    questions.check_answers(answers(*codes))


def test_protection_needs_follow_level_and_criticality() -> None:
    row = propose(answers("c"), mode=Mode.INFERENCE, business_critical=True).rows[OC.INPUT_DATA]
    needs = (row.protection_c, row.protection_i, row.protection_a)
    assert needs == (ProtectionNeed.HIGH, ProtectionNeed.NORMAL, ProtectionNeed.HIGH)


def values(**changes: ClassValue) -> dict[ObjectClass, ClassValue]:
    found = {key: ClassValue(K1) for key in OC}
    return found | {OC[name]: value for name, value in changes.items()}


def test_weights_below_training_data_are_refused_with_the_text_of_sz_16_1() -> None:
    with pytest.raises(CriterionNotMet) as caught:
        check_inheritance(
            values(TRAINING_DATA=ClassValue(K2, (PB,)), CHECKPOINTS=ClassValue(K2, (PB,))), None
        )
    assert caught.value.id == "G1-2"
    assert caught.value.message == (
        "Modellgewichte dürfen nicht niedriger eingestuft sein als die Trainingsdaten (G1-2). "
        "Herabstufung nur mit EV-21b."
    )


def test_downgrade_with_evidence_is_allowed_down_to_k1() -> None:
    down = ClassValue(K1, (), downgrade_evidence="EV-21b")
    base = values(TRAINING_DATA=ClassValue(K2, (PB,)), CHECKPOINTS=down, MODEL_WEIGHTS=down)
    assert inheritance_problems(base, None) == ()
    low = ClassValue(K0, (), downgrade_evidence="EV-21b")
    assert [item.object_class for item in inheritance_problems(base | {OC.MODEL_WEIGHTS: low}, None)] == [
        OC.MODEL_WEIGHTS
    ]


def test_flags_are_inherited_to_weights_and_checkpoints() -> None:
    base = values(
        TRAINING_DATA=ClassValue(K2, (GG,)), CHECKPOINTS=ClassValue(K2, (GG,)), MODEL_WEIGHTS=ClassValue(K2)
    )
    (problem,) = inheritance_problems(base, None)
    assert problem.object_class is OC.MODEL_WEIGHTS
    assert "F-GG fehlt" in problem.message_de


def test_outputs_follow_inputs_and_weights_with_personal_data() -> None:
    assert inheritance_problems(values(INPUT_DATA=ClassValue(K2)), None)[0].object_class is OC.OUTPUTS
    weights = ClassValue(K2, (PB,))
    base = values(TRAINING_DATA=weights, CHECKPOINTS=weights, MODEL_WEIGHTS=weights)
    assert [item.object_class for item in inheritance_problems(base, None)] == [OC.OUTPUTS]


def test_logs_follow_inputs_only_if_they_hold_contents() -> None:
    base = values(INPUT_DATA=ClassValue(K2), OUTPUTS=ClassValue(K2))
    assert inheritance_problems(base, LogContent.TELEMETRY) == ()
    assert [item.object_class for item in inheritance_problems(base, LogContent.PAYLOAD)] == [
        OC.LOGS_TELEMETRY
    ]


@pytest.mark.parametrize(
    ("level", "flags", "fine"),
    [
        (K1, (PB,), False),
        (K2, (PB,), True),
        (K2, (BK,), False),
        (K3, (BK,), True),
        (K0, (DL,), False),
        (K1, (DL,), True),
    ],
)
def test_flag_demands_its_lowest_level(level: Level, flags: tuple[Flag, ...], fine: bool) -> None:
    assert (inheritance_problems({OC.METADATA: ClassValue(level, flags)}, None) == ()) is fine


def test_contact_data_may_stay_k1_if_data_protection_confirmed() -> None:
    found = {OC.METADATA: ClassValue(K1, (PB,), contact_data_only=True)}
    assert inheritance_problems(found, None) == ()


@pytest.mark.parametrize(
    ("value", "reason", "refused"),
    [
        (ClassValue(K1), "", False),
        (ClassValue(K2), "", False),
        (ClassValue(K0), "", True),
        (ClassValue(K0), "  ", True),
        (ClassValue(K0), "veröffentlicht", False),
    ],
)
def test_value_below_the_proposal_needs_a_reason(value: ClassValue, reason: str, refused: bool) -> None:
    row = proposal("a", "b", "a", "a").rows[OC.INPUT_DATA]
    if not refused:
        check_reason(OC.INPUT_DATA, row, value, reason)
        return
    with pytest.raises(CriterionNotMet):
        check_reason(OC.INPUT_DATA, row, value, reason)


def test_dropping_a_proposed_flag_needs_a_reason() -> None:
    row = proposal("a", "c", "a", "a").rows[OC.INPUT_DATA]
    with pytest.raises(CriterionNotMet):
        check_reason(OC.INPUT_DATA, row, ClassValue(K2), "")


def test_workload_takes_the_maximum_and_nothing_is_no_level() -> None:
    found = values(OUTPUTS=ClassValue(K3, (BK,)), METADATA=ClassValue(K1, (DL,)))
    assert workload_level(found) is K3
    assert workload_flags(found) == (BK, DL)
    assert workload_level({}) is None


def test_plans_are_prefilled_within_their_bounds() -> None:
    found = dict.fromkeys(OC, K1)
    entries = plans.retention_plan(found, LogContent.TELEMETRY)
    assert [entry.object_class for entry in entries] == list(OC)
    assert all(
        entry.period_days == plans.max_days(entry.object_class, K1, LogContent.TELEMETRY) for entry in entries
    )
    access = plans.access_plan(found)
    assert {entry.object_class for entry in access} >= {OC.LOGS_TELEMETRY, OC.CHECKPOINTS}
    assert all("*" not in name for entry in access for name in entry.principals)


def test_logs_with_contents_are_kept_shorter() -> None:
    assert plans.max_days(OC.LOGS_TELEMETRY, K1, LogContent.PAYLOAD) == 90
    assert plans.max_days(OC.LOGS_TELEMETRY, K1, LogContent.TELEMETRY) == 730


def test_levels_are_ordered() -> None:
    assert [levels.rank(level) for level in Level] == [0, 1, 2, 3]
    assert levels.at_least(K0, None) is K0
