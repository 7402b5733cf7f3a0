from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from qms.core import canonical
from qms.gates.board import MAX_WORDS, approval_sentence, rejection_sentence
from qms.gates.choices import ApprovalType, CriterionKind, CriterionResult, Due, GateState
from qms.gates.engine import evaluate_decision, evaluate_dossier
from qms.gates.evidence_facts import (
    EvidenceFormatError,
    baseline_from,
    equivalence_from,
    manifest_from,
    target_from,
)
from qms.gates.rule_sets import load
from tests.qms.gates.complete_facts import changed, complete

RULES, V = load("kompakt"), ApprovalType.PRELIMINARY


def test_complete_facts_block_nothing() -> None:
    report = evaluate_decision(RULES, V, complete())
    assert report.open_ids() == []
    assert report.blocking_signature() == ()
    assert report.checked_de() == "geprüft: 44 von 76 Kriterien"
    assert {gate: report.state(gate) for gate in RULES.gates} == {
        "G0": GateState.MET,
        "G1": GateState.MET,
        "G2": GateState.NOT_CHECKED,
        "G3": GateState.MET,
        "G4": GateState.MET,
        "G5": GateState.NOT_CHECKED,
        "G6": GateState.NOT_CHECKED,
        "G7": GateState.MET,
    }


def test_dossier_report_holds_no_g7() -> None:
    report = evaluate_dossier(RULES, V, complete())
    assert "G7" not in report.gates
    assert all(item.row.gate != "G7" for item in report.criteria)


def test_votes_do_not_change_the_dossier_report() -> None:
    with_votes = evaluate_dossier(RULES, V, complete()).to_json()
    assert with_votes == evaluate_dossier(RULES, V, changed(complete(), "votes", ())).to_json()


def test_report_is_canonical_and_deterministic() -> None:
    first = canonical.dumps(evaluate_dossier(RULES, V, complete()).to_json())
    assert first == canonical.dumps(evaluate_dossier(RULES, V, complete()).to_json())


def test_not_met_colours_the_gate_before_open() -> None:
    facts = changed(complete(), "baseline.repetitions", 1)
    assert evaluate_dossier(RULES, V, facts).state("G3") is GateState.NOT_MET
    facts = changed(complete(), "baseline.throughput_cv", None)
    assert evaluate_dossier(RULES, V, facts).state("G3") is GateState.OPEN


def test_unconfirmed_class_makes_g1_red() -> None:
    facts = changed(complete(), "classification.classes", complete().classification.classes[:5])
    report = evaluate_dossier(RULES, V, facts)
    assert report.state("G1") is GateState.NOT_MET
    assert report.result("G1-1").kind is CriterionKind.NON_WAIVABLE
    assert report.gate_met("G0")


def test_missing_deputy_blocks_the_decision_but_not_the_submission() -> None:
    report = evaluate_decision(RULES, V, changed(complete(), "workload.deputy", None))
    assert report.blocking_submission() == ()
    assert {item.row.id for item in report.blocking_decision()} == {"G0-2", "G7-1"}


def test_covered_waivable_criterion_blocks_nothing() -> None:
    facts = changed(changed(complete(), "workload.deputy", None), "covered", frozenset({"G0-2"}))
    report = evaluate_decision(RULES, V, facts)
    assert report.blocking_decision() == ()
    assert report.result("G0-2").result is CriterionResult.NOT_MET


def test_non_waivable_criterion_cannot_be_covered() -> None:
    facts = changed(changed(complete(), "workload.owner", None), "covered", frozenset({"G0-1"}))
    assert "G0-1" in evaluate_decision(RULES, V, facts).open_ids("G0")


def test_signature_and_document_do_not_block_before_their_time() -> None:
    facts = changed(changed(complete(), "signer", None), "document.sealed", None)
    report = evaluate_decision(RULES, V, facts)
    assert report.blocking_decision() == ()
    assert [item.row.id for item in report.blocking_signature()] == ["G7-10"]
    assert [item.row.id for item in report.blocking([Due.AFTER_DECISION])] == ["G7-9"]


def test_result_says_who_can_close_it() -> None:
    assert evaluate_dossier(RULES, V, complete()).result("G1-1").who_de == "Prüfer(in)"
    with pytest.raises(KeyError):
        evaluate_dossier(RULES, V, complete()).result("G7-1")


def test_board_sentence_of_a_preliminary_approval() -> None:
    report = evaluate_decision(RULES, V, complete())
    sentence = approval_sentence(
        report, title="Ausschussprognose", valid_until=date(2027, 4, 18), emulated=True
    )
    assert sentence == (
        "Vorfreigabe bis 18.04.2027 für ‚Ausschussprognose‘, weil alle geprüften Kriterien erfüllt sind; "  # noqa: RUF001 - German quotation marks
        "Zielplattform emuliert – keine Aussage unter realen Bedingungen."
    )


@pytest.mark.parametrize("title", ["Wort " * 60, "x", "{title} {0}"])
def test_board_sentence_has_at_most_40_words(title: str) -> None:
    report = evaluate_decision(RULES, V, complete())
    sentence = approval_sentence(report, title=title, valid_until=date(2027, 4, 18), emulated=True)
    assert len(sentence.split()) <= MAX_WORDS
    rejected = rejection_sentence(
        approval_type=V, title=title, alternative="GPU behalten", reason="Grund " * 80
    )
    assert len(rejected.split()) <= MAX_WORDS


def test_board_sentence_names_open_criteria() -> None:
    report = evaluate_dossier(RULES, V, changed(complete(), "workload.deputy", None))
    sentence = approval_sentence(report, title="A", valid_until=date(2027, 4, 18), emulated=True)
    assert sentence == "Noch keine Vorfreigabe für ‚A‘, weil ein Kriterium offen ist: Stellvertretung."  # noqa: RUF001 - German quotation marks


AXES = {"provenance": "GEMESSEN", "assurance": "EINGEREICHT", "origin": "EIGEN"}
METRIC = {"key": "error_rate", "value": "0", "unit": "ratio", "axes": AXES, "reliable": True}
PLATFORM = {
    "profile_id": "p",
    "kind": "ENTWICKLUNGSRECHNER",
    "bestand": False,
    "development_machine": True,
    "hardware_gen": "x",
    "system_release": "x",
    "framework_release": "x",
    "operating_model": "x",
    "devices": 1,
    "topology": "x",
    "memory_bytes": 1,
    "sharding": "keine",
    "software": {"numpy": "2"},
}
BASELINE: dict[str, Any] = {
    "platform": PLATFORM,
    "fingerprint": "f",
    "repetitions": 5,
    "iterations": 200,
    "throughput_cv": "0.012",
    "metrics": [METRIC],
    "measured_at": "2026-10-19T10:00:00.000000Z",
    "failed_requests": 0,
}
TARGET: dict[str, Any] = {
    "run_id": "r",
    "source": "EMULATOR",
    "platform": PLATFORM | {"kind": "WAFER_SCALE"},
    "fingerprint": "f",
    "metrics": [METRIC],
    "mode": "RESIDENT",
    "peak_sram_bytes": 1,
    "sram_capacity_bytes": 2,
    "off_wafer_bytes": 0,
    "unsupported_ops": [],
    "op_coverage": [{"op": "linear", "kernel": "gemv"}],
    "result_digest": "d",
    "criteria_sha256": "c",
    "started_at": "2026-10-19T11:00:00Z",
    "replay": {"digest": "d", "equal": True},
}


def test_evidence_files_become_facts() -> None:
    baseline, target = baseline_from(BASELINE), target_from(TARGET)
    assert baseline.measured_at == datetime(2026, 10, 19, 10, tzinfo=UTC)
    assert baseline.platform.development_machine
    assert (target.emulated, target.replay_equal, target.covered_ops) == (True, True, (("linear", "gemv"),))
    output = {"name": "y", "dtype": "fp32", "max_abs_delta": "0", "max_abs_reference": "1", "cosine": "1"}
    found = equivalence_from({"run_id": "r", "outputs": [output], "note": "n"})
    assert found.outputs[0].cosine == 1
    manifest = {"run_id": "r", "manifest_sha256": "m", "fingerprint": "f", "criteria_sha256": "c"}
    assert not manifest_from(manifest).demo


@pytest.mark.parametrize(
    "change",
    [
        {"measured_at": "2026-10-19T10:00:00"},
        {"measured_at": "gestern"},
        {"throughput_cv": "viel"},
        {"metrics": [{}]},
        {"metrics": None},
        {"platform": {"kind": "MAINFRAME"}},
        {"repetitions": None},
    ],
)
def test_malformed_evidence_is_one_named_error(change: dict[str, Any]) -> None:
    with pytest.raises(EvidenceFormatError, match="EV-02"):
        baseline_from(BASELINE | change)


def test_missing_field_of_a_target_is_named() -> None:
    with pytest.raises(EvidenceFormatError, match="criteria_sha256"):
        target_from({key: value for key, value in TARGET.items() if key != "criteria_sha256"})
