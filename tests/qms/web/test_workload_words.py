from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from qms.gates.choices import ApprovalType, CriterionKind, Due
from qms.gates.rule_sets import load
from qms.web.workload_changes import comparator_words, field_name, section_name, sections, touches
from qms.web.workload_fields import NumberField
from qms.web.workload_steps import STEPS, Progress, current, views
from tests.qms.web.workload_world import URLCONF

ALL = {f"G0-{number}": True for number in range(1, 11)} | {f"G1-{number}": True for number in range(1, 14)}


@pytest.fixture(autouse=True)
def _addresses(settings: Any) -> None:
    settings.ROOT_URLCONF = URLCONF


def states(**changes: Any) -> list[str]:
    values: dict[str, Any] = {
        "passes": ALL,
        "answered": True,
        "confirmed": True,
        "evidence": frozenset(),
        "requested": False,
    }
    return [step.state for step in views(uuid.uuid4(), Progress(**(values | changes)))]


def test_steps_of_a_new_workload() -> None:
    passes = dict.fromkeys(ALL, False)
    found = states(passes=passes, answered=False, confirmed=False)
    assert found == ["current", "open", "open", "open", "waiting", "open"]


def test_every_criterion_of_the_request_is_closed_in_one_step() -> None:
    kind = {
        row.id: row.kinds[ApprovalType.PRELIMINARY] for row in load("kompakt").criteria if row.gate == "G0"
    }
    due = [row.id for row in load("kompakt").criteria if row.gate == "G0" and row.due == Due.SUBMISSION]
    assert sorted(id for id in due if kind[id] == CriterionKind.NON_WAIVABLE) == sorted(
        row for step in STEPS for row in step.criteria
    )


def test_unconfirmed_data_wait_while_the_owner_goes_on() -> None:
    passes = ALL | {"G1-1": False, "G0-6": False}
    found = states(passes=passes, confirmed=False)
    assert found == ["done", "waiting", "current", "open", "waiting", "open"]


def test_target_run_waits_for_the_confirmation_alone() -> None:
    passes = ALL | {"G1-1": False}
    baseline = frozenset({"EV-02"})
    assert states(passes=passes, confirmed=False, evidence=baseline)[4] == "waiting"
    assert states(evidence=baseline)[4] == "current"


def test_all_done_has_no_current_step() -> None:
    steps = views(uuid.uuid4(), Progress(ALL, True, True, frozenset({"EV-02", "EV-04"}), True))
    assert {step.state for step in steps} == {"done"}
    assert current(steps) is None


def test_missing_deputy_keeps_no_step_open() -> None:
    assert states(passes=ALL | {"G0-2": False})[0] == "done"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("title", "Titel"),
        ("classification[EINGABEDATEN].level", "Eingabedaten: Stufe"),
        ("classification[MODELLGEWICHTE].protection.c", "Modellgewichte: Schutzbedarf, Vertraulichkeit"),
        ("criteria.quality_targets[QZ-1].threshold", "Qualitätsziel QZ-1: Schwelle"),
        ("criteria.abort_criteria[3].text", "Abbruchkriterium 3: Regel"),
        ("criteria.fallback.rto_min", "Ausweichpfad: Rückkehrzeit in Minuten"),
        ("pilot.end", "Pilotrahmen: Ende"),
        ("model.text", "Modell"),
    ],
)
def test_paths_have_names(path: str, name: str) -> None:
    assert field_name(path) == name


def test_parts_are_named_once_and_followers_are_silent() -> None:
    paths = [
        "model.facts.params",
        "classification[METADATEN].level",
        "classification[METADATEN].object_class",
        "title",
    ]
    assert sections(paths) == ["Datenklassifizierung", "Titel"]
    assert section_name("criteria.abort_criteria[1].text") == "Abbruchkriterien"


def test_touched_criteria() -> None:
    assert touches("criteria.quality_targets[QZ-1].metric") == "G0-6, G4-3"
    assert touches("title") == ""


def test_threshold_in_words() -> None:
    assert comparator_words("GE", Decimal("0.99900000"), "ratio") == "mindestens\u00a00,999"
    assert comparator_words("LE", Decimal("50.0"), "ms") == "höchstens\u00a050\u00a0ms"
    assert comparator_words("EQ", Decimal(0), "n") == "gleich\u00a00"


@pytest.mark.parametrize(
    ("typed", "money", "value"),
    [
        ("20.000", True, Decimal(20000)),
        ("20.000,50 €", True, Decimal("20000.50")),
        ("1.234.567", True, Decimal(1234567)),
        ("300.000.000", False, Decimal(300_000_000)),
        ("12.500,5", False, Decimal("12500.5")),
        ("0,999", False, Decimal("0.999")),
        ("0.999", False, Decimal("0.999")),
        ("1,200", False, Decimal("1.200")),
        ("12.5", True, Decimal("12.5")),
    ],
)
def test_numbers_are_read_as_written(typed: str, money: bool, value: Decimal) -> None:
    assert NumberField(money=money).clean(typed) == value


@pytest.mark.parametrize(
    "typed", ["1.200", "viel", "1,2,3", "1,234.56", "1.2,5", "300,000,000", "NaN", "Infinity"]
)
def test_numbers_that_could_be_two_are_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        NumberField().clean(typed)


def test_stored_number_is_shown_with_comma() -> None:
    assert NumberField().prepare_value(Decimal("0.99900000")) == "0,999"
    assert NumberField().prepare_value(Decimal("20000.00")) == "20000"
