from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from qms.core import canonical
from qms.gates.board import MAX_WORDS
from qms.gates.case_facts import EvidencePeople
from qms.gates.choices import ApprovalType
from qms.gates.engine import evaluate_decision, evaluate_dossier
from qms.gates.report import Verdict
from qms.gates.rule_sets import load
from qms.workloads.choices import PlatformKind
from tests.qms.gates.compared_facts import (
    BOTH,
    answers,
    break_even,
    compared,
    compiled,
    costs,
    latency,
    levels,
    shares,
    side,
    tokens,
    with_changes,
)
from tests.qms.gates.complete_facts import LEAD, complete

RULES, V = load("kompakt"), ApprovalType.PRELIMINARY
MEASURED = {"target.emulated": False}


def verdict_of(changes: dict[str, Any]) -> Verdict:
    found = evaluate_dossier(RULES, V, with_changes(compared(), changes)).verdict
    assert found is not None
    return found


# The rows are tested in order, the first match counts: each case has the flaws of the rows below it too.
SLOW = {"target.metrics": (tokens("1100"), latency("5"))}
IDLE = SLOW | costs(units_per_month="26.4")
WEAK = IDLE | {"levels": levels(4, 4, 1)}
UNTESTED = WEAK | {"baseline.platform.topology": ""}
INCAPABLE = UNTESTED | {"capability": None}
TRIAL = INCAPABLE | answers(usage_kind="NOTEBOOK")
LOOSE = {"targets": tuple(replace(item, threshold=Decimal(500)) for item in compared().targets)}
CASES: list[tuple[dict[str, Any], str, str, str]] = [
    (
        TRIAL | {"workload.owner": None},
        "VF-01",
        "NICHT_ENTSCHEIDUNGSREIF",
        "Noch nicht entscheidungsreif – weil das Kriterium Verantwortliche Person (G0-1) nicht erfüllt ist (VF-01).",
    ),
    (
        TRIAL,
        "VF-02",
        "NICHT_GEEIGNET",
        "Nein, nicht geeignet – weil der Einsatz ein Notebook ist; besser: GPU optimieren (VF-02).",
    ),
    (
        INCAPABLE,
        "VF-03",
        "NICHT_EMPFOHLEN",
        "Nicht empfohlen – weil das Kriterium Betriebsfähigkeit (G2-4) offen ist (VF-03).",
    ),
    (
        UNTESTED,
        "VF-04",
        "NACHBESSERN",
        (
            "Noch keine Empfehlung, bitte nachbessern – weil das Kriterium Aufbau der Vergleichsbasis (G3-9) nicht "
            "erfüllt ist (VF-04)."
        ),
    ),
    (
        WEAK,
        "VF-05",
        "NACHBESSERN",
        (
            "Noch keine Empfehlung, bitte nachbessern – weil die Ebene Liefermodell mit Note 1 unter der Mindestnote 2 "
            "liegt (VF-05)."
        ),
    ),
    (
        IDLE,
        "VF-06",
        "GPU_BEIBEHALTEN_ODER_OPTIMIEREN",
        "Nein, GPU behalten – weil die erwartete Auslastung von 22\u00a0% die nötigen 29,3\u00a0% nicht erreicht (VF-06).",
    ),
    (
        SLOW,
        "VF-07",
        "GPU_BEIBEHALTEN_ODER_OPTIMIEREN",
        "Nein, GPU behalten – weil Durchsatz in Token je Sekunde 10\u00a0% besser statt 20\u00a0% besser ist (VF-07).",
    ),
    (
        {},
        "VF-08",
        "VORFREIGABE_EMPFOHLEN",
        (
            "Ja, Vorfreigabe empfohlen – emuliert: Durchsatz in Token je Sekunde 20\u00a0% besser, 1.433,33\u00a0€ statt "
            "2.000,00\u00a0€ je Lauf; nächster Schritt: begrenzter Pilot auf der echten Plattform (VF-08)."
        ),
    ),
    (
        MEASURED,
        "VF-09",
        "BEDINGTE_FREIGABE_EMPFOHLEN",
        "Ja, bedingte Freigabe empfohlen, sobald G4-10 erledigt ist (VF-09).",
    ),
]


@pytest.mark.parametrize(("changes", "row", "code", "sentence"), CASES, ids=[case[1] for case in CASES])
def test_first_matching_row_decides(changes: dict[str, Any], row: str, code: str, sentence: str) -> None:
    found = verdict_of(changes)
    assert (found.id, found.code) == (row, code)
    assert found.sentence_de == sentence
    assert len(found.sentence_de.split()) <= MAX_WORDS


def test_nothing_open_on_measured_values_recommends_the_approval() -> None:
    facts = replace(with_changes(compared(), MEASURED), covered=frozenset({"G4-10"}))
    found = evaluate_dossier(RULES, V, facts).verdict
    assert found is not None
    assert (found.id, found.code, found.reasons_de) == ("VF-10", "FREIGABE_EMPFOHLEN", ())


@pytest.mark.parametrize(
    ("changes", "row", "words"),
    [
        (shares("0.18"), "VF-03", "(Kommunikationsanteil 18\u00a0%)"),
        (compiled(14, 100), "VF-02", "weil es für 14 von 100 Operationen (14\u00a0%) keinen Ersatz gibt"),
        (answers(params_b=Decimal("0.3"), planned_runs=1), "VF-02", "0,3 Mrd. Parameter, ein Lauf geplant"),
        (answers(usage_kind="PROTOTYP", alternatives=()), "VF-02", "besser: GPU oder Managed-API"),
        (costs(units_per_month="35.19"), "VF-06", "29,32\u00a0% die nötigen 29,33\u00a0% nicht"),
        (break_even(units=None, utilisation=None, reachable=False), "VF-06", "keine Auslastung die Kosten"),
        (costs(ratio="1.2"), "VF-06", "(Verhältnis 1,2) zu viel ist"),
        (
            BOTH | LOOSE | {"target.metrics": (tokens("1200"), latency("120"))},
            "VF-07",
            "Antwortzeit p95 20\u00a0% schlechter",
        ),
        ({"demand": None}, "VF-04", "Auslastung trägt die Kosten (G6-3) offen ist"),
        ({"costs": None}, "VF-04", ""),
        ({"target": None}, "VF-04", ""),
        ({"levels": None}, "VF-08", ", sobald G6-1 erledigt ist"),
        ({"target.outside_calibration": True}, "VF-08", ", sobald G6-8 erledigt ist"),
        ({"levels": None, "environment": None}, "VF-08", ", sobald G6-1, G6-7 erledigt sind"),
    ],
)
def test_sentence_names_the_figure_that_decided(changes: dict[str, Any], row: str, words: str) -> None:
    found = verdict_of(changes)
    assert found.id == row
    assert words in found.sentence_de


def test_longest_recommendation_stays_readable() -> None:
    found = verdict_of({"levels": None, "environment": None})
    assert "sobald G6-1, G6-7 erledigt sind – emuliert: Durchsatz" in found.sentence_de
    assert len(found.sentence_de.split()) <= MAX_WORDS


def test_recommendation_without_known_figures_names_none() -> None:
    found = verdict_of(
        {"target.outside_calibration": True}
        | costs(target=side("WSE-3", "RESERVIERT", "0") | {"unit_cost": None})
    )
    assert found.sentence_de == (
        "Ja, Vorfreigabe empfohlen, sobald G6-8 erledigt ist – nächster Schritt: begrenzter Pilot auf der echten "
        "Plattform (VF-08)."
    )


def test_a_review_still_to_come_does_not_hide_the_answer() -> None:
    waiting = {"evidence": (EvidencePeople("EV-02", LEAD, None), EvidencePeople("EV-17", LEAD, None))}
    assert verdict_of(waiting).id == "VF-08"
    assert verdict_of(waiting | IDLE).id == "VF-06"
    assert verdict_of({"evidence": (EvidencePeople("EV-02", LEAD, LEAD),)}).id == "VF-04"


def test_platform_in_use_is_named_by_its_kind() -> None:
    changes = IDLE | {"baseline.platform.kind": PlatformKind.CPU_SERVER}
    assert verdict_of(changes).sentence_de.startswith("Nein, bisherige Plattform behalten – weil")


def test_verdict_is_part_of_the_stored_report_with_its_reasons() -> None:
    stored = evaluate_dossier(RULES, V, with_changes(compared(), IDLE)).to_json()
    assert stored["verdict"]["id"] == "VF-06"
    assert stored["verdict"]["reasons"] == [
        "G6-3: Die erwartete Auslastung von 22\u00a0% erreicht die nötigen 29,3\u00a0% nicht (G6-3)."
    ]
    assert canonical.dumps(stored) == canonical.dumps(
        evaluate_dossier(RULES, V, with_changes(compared(), IDLE)).to_json()
    )


def test_decision_and_dossier_give_the_same_verdict() -> None:
    for changes in (IDLE, {}):
        facts = with_changes(compared(), changes)
        assert evaluate_decision(RULES, V, facts).verdict == evaluate_dossier(RULES, V, facts).verdict


def test_development_machine_has_no_verdict() -> None:
    assert evaluate_dossier(RULES, V, complete()).verdict is None
    report = evaluate_dossier(RULES, V, with_changes(compared(), {"baseline": None}))
    assert report.verdict is None
