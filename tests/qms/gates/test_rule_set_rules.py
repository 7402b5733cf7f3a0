from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from qms.core.errors import CriterionNotMet, WrongState
from qms.gates import rule_sets
from qms.gates.choices import ApprovalType, CriterionKind, Due, ScopeGap
from qms.gates.coverage import run_refusal, submission_refusal, uncovered
from qms.gates.engine import check_registry
from qms.gates.errors import RuleSetError
from qms.gates.facts import Facts
from qms.gates.outcome import registered
from qms.gates.policy import Policy
from qms.gates.rule_sets import load, load_all
from qms.gates.votes import required_votes
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.workloads.choices import AiActRiskClass, Flag, Level
from tests.qms.gates.compared_facts import compared
from tests.qms.gates.complete_facts import changed, complete

V = ApprovalType.PRELIMINARY
KOMPAKT, STANDARD = load("kompakt"), load("standard")


@pytest.mark.parametrize("rule_set", load_all(), ids=lambda item: item.label)
def test_every_row_has_a_function_and_every_function_a_row(rule_set: rule_sets.RuleSet) -> None:
    check_registry(rule_set)
    assert {row.id for row in rule_set.criteria} == set(registered())


@pytest.mark.parametrize("rule_set", load_all(), ids=lambda item: item.label)
def test_preliminary_approval_checks_60_of_76_criteria_44_without_a_comparison(
    rule_set: rule_sets.RuleSet,
) -> None:
    assert rule_set.counts(V) == (60, 76)
    assert {rule_set.counts(V, gap) for gap in ScopeGap} == {(44, 76)}


def test_not_checked_criteria_all_have_a_german_reason() -> None:
    for gap in (None, *ScopeGap):
        checked, total = KOMPAKT.counts(V, gap)
        rows = {row.id: row for row in KOMPAKT.not_checked_for(V, gap)}
        assert len(rows) == total - checked
        assert all(
            row.reason_de.endswith(".") and row.row["reason_en"].endswith(".") for row in rows.values()
        )
        assert list(rows) == sorted(rows, key=lambda one: (one[:2], int(one[3:])))


def test_what_needs_a_comparison_is_not_checked_on_a_development_machine() -> None:
    rows = {row.id: row.reason_de for row in KOMPAKT.not_checked_for(V, ScopeGap.DEVELOPMENT_MACHINE)}
    assert rows["G6-8"] == (
        "Kein Vergleich, solange die Vergleichsbasis von einem Entwicklungsrechner stammt (EM-12)."
    )
    rows = {row.id: row.reason_de for row in KOMPAKT.not_checked_for(V, ScopeGap.NO_BASELINE)}
    assert rows["G2-1"] == "Kein Vergleich, solange es keine Vergleichsbasis gibt."
    assert "G2-1" not in {row.id for row in KOMPAKT.not_checked_for(V)}


def test_both_rule_sets_have_the_same_criteria_and_policy() -> None:
    assert KOMPAKT.criteria == STANDARD.criteria
    assert KOMPAKT.policy == STANDARD.policy
    assert KOMPAKT.digest != STANDARD.digest


def test_texts_of_a_row_explain_the_criterion() -> None:
    row = KOMPAKT.criterion("G1-1")
    assert (row.gate, row.kinds[V], row.due) == ("G1", CriterionKind.NON_WAIVABLE, Due.DECISION)
    assert all((row.title_de, row.question_de, row.why_de, row.how_de, row.check))
    assert KOMPAKT.mapped(row.who) is Role.REVIEWER
    assert STANDARD.mapped(row.who) is Role.SECURITY
    assert KOMPAKT.role_name_de(Role.REVIEWER) == "Prüfer(in)"


class _Recording(Policy):
    """Remembers which parameters a criterion reads."""

    read: set[str]

    def raw(self, pol: str, name: str) -> Any:
        self.read.add(pol)
        return super().raw(pol, name)


@pytest.mark.parametrize("row", KOMPAKT.criteria, ids=lambda row: row.id)
def test_criterion_reads_only_the_policy_its_row_names(row: rule_sets.Criterion) -> None:
    policy = _Recording(KOMPAKT.policy.values)
    object.__setattr__(policy, "read", set())
    for facts in (complete(), _real(complete()), compared(), _real(compared())):
        registered()[row.id](facts, policy)
    assert policy.read <= set(row.policy)


def _real(facts: Facts) -> Facts:
    return changed(facts, "approval_type", ApprovalType.PRODUCTION)


def test_matrix_of_both_rule_sets_is_complete() -> None:
    for rule_set in (KOMPAKT, STANDARD):
        assert set(rule_set.permissions) == set(Permission)
        assert all(set(row) == set(rule_set.roles) for row in rule_set.permissions.values())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in rule_sets._FOLDER.glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(rule_sets, "_FOLDER", tmp_path)
    return tmp_path


def broken(folder: Path, name: str, change: Any) -> str:
    document = json.loads((folder / name).read_text())
    change(document)
    (folder / name).write_text(json.dumps(document))
    rule_sets.load.cache_clear()
    try:
        with pytest.raises(RuleSetError) as caught:
            load("kompakt")
    finally:
        rule_sets.load.cache_clear()
    return str(caught.value)


RULES, CRITERIA = f"kompakt-{load('kompakt').version}.json", f"criteria-{load('kompakt').version}.json"


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        (RULES, lambda d: d.pop("votes"), "votes"),
        (RULES, lambda d: d["permissions"].pop("P01"), "permissions"),
        (RULES, lambda d: d["role_names"].pop(), "has no name"),
        (RULES, lambda d: d["role_map"].update(WO="PL"), "foreign role"),
        (RULES, lambda d: d["covers"]["flags"].append("F-XX"), "F-XX"),
        (RULES, lambda d: d["covers"].pop("risk_classes"), "risk_classes"),
        (RULES, lambda d: d["covers"]["risk_classes"].append("VERBOTEN"), "VERBOTEN"),
        (CRITERIA, lambda d: d["criteria"].append(d["criteria"][0]), "stands twice"),
        (CRITERIA, lambda d: d["criteria"][0].update(policy=["POL-99"]), "unknown POL-99"),
        (CRITERIA, lambda d: d["criteria"][0].update(gate="G1"), "wrong gate"),
        (CRITERIA, lambda d: d["not_checked"][0].update(reason_de=" "), "no reason"),
        (CRITERIA, lambda d: d["criteria"][0].pop("how_de"), "how_de"),
        (CRITERIA, lambda d: d["criteria"][0].update(scope="IMMER"), "scope"),
        (CRITERIA, lambda d: d["scope_gaps"].pop("ENTWICKLUNGSRECHNER"), "has no reason"),
        (CRITERIA, lambda d: d["verdicts"][1]["conditions"][0]["criteria"].append("G2-9"), "unknown G2-9"),
        (CRITERIA, lambda d: d["verdicts"][0].pop("code"), "code"),
        (CRITERIA, lambda d: d["verdicts"][-1].update(otherwise=False), "decides nothing"),
        (
            CRITERIA,
            lambda d: d["verdicts"][5].update(sentence_de="Nein, {was}"),
            "VF-06 has an unknown field",
        ),
    ],
)
def test_malformed_file_is_refused_naming_the_place(folder: Path, name: str, change: Any, told: str) -> None:
    assert told in broken(folder, name, change)


def test_missing_file_is_refused(folder: Path) -> None:
    with pytest.raises(RuleSetError, match=r"kompakt-9\.9\.9"):
        load("kompakt", "9.9.9")


def test_row_without_function_is_refused_at_start(folder: Path) -> None:
    document = json.loads((folder / CRITERIA).read_text())
    spare = document["not_checked"].pop(0)
    document["criteria"].append({**document["criteria"][0], "id": spare["id"], "gate": spare["gate"]})
    (folder / CRITERIA).write_text(json.dumps(document))
    rule_sets.load.cache_clear()
    with pytest.raises(RuleSetError, match=spare["id"]):
        check_registry(load("kompakt"))
    rule_sets.load.cache_clear()


@pytest.mark.parametrize(
    ("levels", "flags", "codes"),
    [
        ([Level.PUBLIC, Level.INTERNAL], [], []),
        ([Level.CONFIDENTIAL], [], ["K2"]),
        (
            [Level.STRICTLY_CONFIDENTIAL, Level.CONFIDENTIAL],
            [Flag.TRADE_SECRET, Flag.PERSONAL_DATA],
            ["K2", "K3", "F-PB", "F-GG"],
        ),
        ([Level.INTERNAL], [Flag.THIRD_PARTY_LICENCE], ["F-DL"]),
    ],
)
def test_classes_and_flags_without_criteria_are_refused(
    levels: list[Level], flags: list[Flag], codes: list[str]
) -> None:
    assert [item.code for item in uncovered(KOMPAKT, levels, flags)] == codes


@pytest.mark.parametrize("flag", list(Flag))
def test_version_refuses_every_flag(flag: Flag) -> None:
    assert uncovered(KOMPAKT, [], [flag])


@pytest.mark.parametrize("rule_set", load_all(), ids=lambda item: item.label)
@pytest.mark.parametrize(
    ("risk_class", "codes"),
    [
        (None, []),
        (AiActRiskClass.MINIMAL, []),
        (AiActRiskClass.TRANSPARENCY, []),
        (AiActRiskClass.HIGH_RISK_ANNEX_I, ["HOCHRISIKO_ANHANG_I"]),
        (AiActRiskClass.HIGH_RISK_ANNEX_III, ["HOCHRISIKO_ANHANG_III"]),
        (AiActRiskClass.PROHIBITED, ["VERBOTEN"]),
    ],
)
def test_risk_classes_without_criteria_are_refused(
    rule_set: rule_sets.RuleSet, risk_class: AiActRiskClass | None, codes: list[str]
) -> None:
    found = uncovered(rule_set, [Level.PUBLIC], [], V, risk_class)
    assert [item.code for item in found] == codes


@pytest.mark.parametrize("rule_set", load_all(), ids=lambda item: item.label)
@pytest.mark.parametrize("risk_class", list(AiActRiskClass))
def test_no_covered_risk_class_asks_for_an_opinion(
    rule_set: rule_sets.RuleSet, risk_class: AiActRiskClass
) -> None:
    """No command hands in an opinion yet, so a class that needs one could never be approved."""
    asked = needs(rule_set, V, Level.PUBLIC, risk_class=risk_class).votes
    covered = risk_class in rule_set.covers.risk_classes
    assert not (covered and any(item.opinion for item in asked))


def test_risk_class_refuses_with_its_own_next_step() -> None:
    high = uncovered(KOMPAKT, [], [], V, AiActRiskClass.HIGH_RISK_ANNEX_III)[0]
    assert high.message == (
        "Das Regelwerk kompakt 0.2.0 hat keine Kriterien für die Risikoklasse Hochrisiko nach Anhang III (EM-13)."
    )
    assert submission_refusal((high,)).next_step == run_refusal((high,)).next_step == high.next_step
    never = uncovered(KOMPAKT, [], [], V, AiActRiskClass.PROHIBITED)[0]
    assert "verbotene Praktik" in never.message
    assert "warten" not in never.next_step


def test_refusals_carry_em_13_and_their_events() -> None:
    found = uncovered(KOMPAKT, [Level.CONFIDENTIAL], [], ApprovalType.PILOT)
    assert [item.code for item in found] == ["PILOT", "K2"]
    submission, run = submission_refusal(found), run_refusal(found)
    assert isinstance(submission, CriterionNotMet)
    assert isinstance(run, WrongState)
    assert (submission.id, submission.code) == ("EM-13", "EINREICHUNG_VERWEIGERT")
    assert (run.id, run.code) == ("EM-13", "LAUF_VERWEIGERT")
    assert submission.next_step
    assert "EM-13" in found[0].message


def needs(rule_set: rule_sets.RuleSet, kind: ApprovalType, level: Level | None, **changes: Any) -> Any:
    values: dict[str, Any] = {
        "flags": (),
        "risk_class": AiActRiskClass.MINIMAL,
        "budget_eur": Decimal(25000),
        "gap": None,
    }
    return required_votes(rule_set, kind, level=level, **(values | changes))


def roles(found: Any) -> list[str]:
    return [item.role.value for item in found.votes]


def test_kompakt_asks_one_vote_with_the_subjects_that_have_criteria() -> None:
    found = needs(KOMPAKT, V, Level.INTERNAL)
    assert roles(found) == ["PR"]
    assert found.votes[0].subjects == ("QUALITAET", "INFORMATIONSSICHERHEIT", "BETRIEB", "KOSTEN")
    found = needs(KOMPAKT, V, Level.INTERNAL, gap=ScopeGap.DEVELOPMENT_MACHINE)
    assert found.votes[0].subjects == ("QUALITAET", "INFORMATIONSSICHERHEIT", "BETRIEB")
    assert found.approvers == 1


def test_standard_asks_its_roles() -> None:
    assert roles(needs(STANDARD, V, Level.INTERNAL)) == ["QM", "IS", "BT", "FC"]
    assert roles(needs(STANDARD, ApprovalType.PILOT, Level.INTERNAL)) == ["QM"]
    assert roles(needs(STANDARD, ApprovalType.PILOT, Level.INTERNAL, budget_eur=Decimal(25001))) == [
        "QM",
        "FC",
    ]
    assert roles(needs(STANDARD, ApprovalType.PILOT, Level.INTERNAL, budget_eur=None)) == ["QM", "FC"]


def test_personal_data_ask_for_the_opinion() -> None:
    found = needs(KOMPAKT, V, Level.CONFIDENTIAL, flags=(Flag.PERSONAL_DATA,))
    assert roles(found) == ["PR", "DS"]
    assert found.votes[1].opinion
    assert roles(needs(KOMPAKT, V, Level.INTERNAL, flags=(Flag.PERSONAL_DATA,))) == ["PR", "DS"]


@pytest.mark.parametrize(
    ("rule_set", "kind", "level", "changes", "approvers"),
    [
        (KOMPAKT, V, Level.CONFIDENTIAL, {}, 1),
        (KOMPAKT, V, Level.STRICTLY_CONFIDENTIAL, {}, 2),
        (KOMPAKT, V, None, {}, 2),
        (KOMPAKT, V, Level.CONFIDENTIAL, {"flags": (Flag.SPECIAL_CATEGORIES,)}, 2),
        (KOMPAKT, V, Level.INTERNAL, {"risk_class": AiActRiskClass.HIGH_RISK_ANNEX_III}, 2),
        (KOMPAKT, ApprovalType.PRODUCTION, Level.CONFIDENTIAL, {}, 1),
        (STANDARD, ApprovalType.PRODUCTION, Level.CONFIDENTIAL, {}, 2),
    ],
)
def test_number_of_approvers(
    rule_set: rule_sets.RuleSet,
    kind: ApprovalType,
    level: Level | None,
    changes: dict[str, Any],
    approvers: int,
) -> None:
    assert needs(rule_set, kind, level, **changes).approvers == approvers


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda p: p.number("POL-98", "max"), "POL-98"),
        (lambda p: p.number("POL-56", "formula"), "not a number"),
        (lambda p: p.integer("POL-08", "min"), "whole"),
        (lambda p: p.share("POL-01", "max"), "percentage"),
        (lambda p: p.span("POL-03", "max"), "time span"),
    ],
)
def test_policy_refuses_what_does_not_fit(read: Any, message: str) -> None:
    with pytest.raises(RuleSetError, match=message):
        read(KOMPAKT.policy)


def test_policy_reads_typed_values() -> None:
    policy = KOMPAKT.policy
    assert policy.share("POL-03", "max") == Decimal("0.05")
    assert policy.span("POL-35", "max").total_seconds() == 300
    assert policy.text("POL-59", "VORFREIGABE") == "EINGEREICHT"
