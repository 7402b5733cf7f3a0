"""The door to the emulator: questions, scaling and its words, published runs, states."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from pilots import catalog, pages_beside, pages_blocks
from pilots.catalog.figures import State, emulated
from pilots.catalog.published import _groups
from pilots.wafer.costs.terms import Span
from pilots.wafer.machine import find
from pilots.wafer.scaling import ScalingRow
from qms.core.values import Calibration, Unit
from tests.pilots.test_emulator_pages import LLAMA_8B, LLAMA_70B, SMALL


def asked(config: Any = SMALL, **changes: Any) -> catalog.Asked:
    question = catalog.Asked(catalog.read_config(json.dumps(config)), "wse-2", 4096, 1, 1, "RESIDENT")
    return replace(question, **changes)


def test_a_question_travels_as_json() -> None:
    question = asked(LLAMA_8B, machine_id="wse-3@unconstrained", systems=4)
    assert catalog.asked_from_json(json.loads(json.dumps(question.to_json()))) == question


def test_machines_to_choose_from_are_those_that_are_served() -> None:
    ids = [item.id for item in catalog.choices()]
    assert ids[0] == "wse-2"
    assert {item.partition("@")[0] for item in ids} == {"wse-2", "wse-3"}
    assert [find(item.id).clock_hz.value for item in catalog.choices()] == [
        item.clock_hz for item in catalog.choices()
    ]


def test_an_unknown_machine_is_refused_in_german() -> None:
    with pytest.raises(catalog.NotAnswered, match="ist nicht bekannt"):
        catalog.answer(asked(machine_id="wse-9"))


# states: a value that rests on host or energy is never calibrated


def test_host_and_energy_are_never_calibrated() -> None:
    found = catalog.figures(catalog.answer(asked(LLAMA_8B)))
    for name in ("first_token", "energy"):
        assert found[name].state.code != "KALIBRIERT"
        assert "in keinem veröffentlichten Lauf gemessen" in found[name].state.reason_de


def test_outside_the_validity_is_no_calibration() -> None:
    figure = emulated("x", Span(1.0, 0.5, 2.0), Unit.SECONDS, State("AUSSERHALB_KALIBRIERUNG", "weil"))
    assert figure.metric.calibration is None
    assert emulated("x", Span(1.0, 1.0, 1.0), Unit.SECONDS, State("KALIBRIERT")).metric.calibration is (
        Calibration.CALIBRATED
    )


def test_every_state_has_its_badge() -> None:
    assert set(pages_blocks.STATES) == {*(item.value for item in Calibration), "AUSSERHALB_KALIBRIERUNG"}


# scaling


def grown(efficiency: Fraction, systems: int = 2) -> catalog.Grown:
    row = ScalingRow(systems, Fraction(1), efficiency * systems, efficiency, Calibration.EXTRAPOLATED)
    step = emulated("step_ms", Span(1.0, 1.0, 1.0), Unit.MILLISECONDS, State("EXTRAPOLIERT"))
    cut = Decimal(int(efficiency * 100)) / 100
    return catalog.Grown(systems, step, row, cut * systems, cut)


@pytest.mark.parametrize(
    ("efficiency", "word"),
    [
        (Fraction(95, 100), "linear (0,95)"),
        (Fraction(9499, 10_000), "sublinear (0,94)"),
        (Fraction(1), "linear (1,00)"),
        (Fraction(1001, 1000), "überlinear (1,00), bitte prüfen"),
        (Fraction(1, 2), "sublinear (0,50)"),
    ],
)
def test_the_word_linear_begins_at_its_limit(efficiency: Fraction, word: str) -> None:
    assert pages_beside._word(grown(efficiency)) == word


def test_the_reference_has_no_word_of_its_own() -> None:
    assert pages_beside._word(grown(Fraction(1), systems=1)) == "Bezug"


def test_one_row_alone_is_no_comparison() -> None:
    assert pages_beside.scaling((grown(Fraction(1), systems=1),)) is None
    assert pages_beside.scaling(()) is None


def test_several_systems_are_always_extrapolated() -> None:
    rows = catalog.over_systems(catalog.answer(asked(LLAMA_8B, batch=4)))
    assert [item.systems for item in rows] == [1, 2, 4, 8, 16]
    assert {item.step.state.code for item in rows[1:]} == {"EXTRAPOLIERT"}
    assert all("mehrere Systeme" in item.step.state.reason_de for item in rows[1:])


def test_a_model_too_large_for_one_system_is_compared_with_the_first_that_holds_it() -> None:
    rows = catalog.over_systems(catalog.answer(asked(LLAMA_70B, systems=16, machine_id="wse-3")))
    assert rows[0].is_reference
    assert rows[0].systems > 1
    assert not any(item.is_reference for item in rows[1:])


def test_claims_about_scaling_need_a_single_system_as_reference() -> None:
    found = catalog.answer(asked(LLAMA_70B, systems=16, machine_id="wse-3"))
    claims = {item.id: item for item in catalog.claims_about(found, catalog.over_systems(found))}
    assert claims["S018"].status == "OFFEN"
    assert claims["S020"].status == "NICHT_ANWENDBAR"


# published runs


def test_the_same_sizes_are_the_same_model_whatever_its_name() -> None:
    found = catalog.published_beside(asked(LLAMA_8B | {"_name_or_path": "anders"}).config)
    assert found is not None
    assert found.same
    assert len(found.rows) <= 12
    assert all(row.published and row.published.axes.origin.value == "VEROEFFENTLICHT" for row in found.rows)


def test_no_gpu_run_stands_beside_a_wafer() -> None:
    entries = [entry for _config, group in _groups().values() for entry in group]
    assert entries
    assert not [entry.id for entry in entries if "A100" in entry.system or "H100" in entry.system]


# how quantities are written


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0\u00a0FLOP"),
        (999, "999\u00a0FLOP"),
        (1000, "1,0\u00a0kFLOP"),
        (44_000_000_000, "44,0\u00a0GFLOP"),
        (10**21, "1.000,0\u00a0EFLOP"),
        (-1500, "−1,5\u00a0kFLOP"),
    ],
)
def test_quantities_come_in_decimal_steps(value: int, text: str) -> None:
    assert pages_blocks.si(value, "FLOP") == text


def test_bytes_come_in_binary_steps() -> None:
    assert pages_blocks.si(44_000_000_000, "B") == "41\u00a0GiB"


def test_no_time_at_all_has_no_largest_cause() -> None:
    nothing = emulated("x", Span(0.0, 0.0, 0.0), Unit.MILLISECONDS, State("KALIBRIERT")).metric
    assert pages_blocks.largest_cause({"compute": nothing}) == ""
    assert pages_blocks.causes_chart({"compute": nothing}, "t") is None
