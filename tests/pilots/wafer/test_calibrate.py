from __future__ import annotations

import json
import re
from math import log

import pytest

from pilots.wafer import calibrate, reference
from pilots.wafer.costs.constants import PRIOR, record
from pilots.wafer.extract import FIELDS, MAX_QUOTE, extract
from tests.pilots.wafer.small_model import SMALL, reference_of, summa

DECIMAL = re.compile(r"-?\d+(\.\d+)?")
TILES = ((32, 1.0), (64, 1.1), (128, 0.9))
FILE = [summa(f"s{tile}.{grid}", tile, grid, error) for tile, error in TILES for grid in (16, 64)]


def test_stored_calibration_is_what_the_command_computes():
    assert_same(calibrate.calibrate(reference.published()), record())


def assert_same(fresh, stored, where=""):
    """Everything equal, decimals up to the last digits that a linear algebra library may change."""
    assert type(fresh) is type(stored), where
    if isinstance(stored, dict):
        assert set(fresh) == set(stored), where
        for name, value in stored.items():
            assert_same(fresh[name], value, f"{where}.{name}")
    elif isinstance(stored, list):
        assert len(fresh) == len(stored), where
        for index, value in enumerate(stored):
            assert_same(fresh[index], value, f"{where}[{index}]")
    elif isinstance(stored, str) and DECIMAL.fullmatch(stored):
        assert DECIMAL.fullmatch(fresh), where
        assert float(fresh) == pytest.approx(float(stored), rel=1e-4), where
    else:
        assert fresh == stored, where


@pytest.mark.parametrize("other", ["1.0002", "x", 1, None])
def test_a_record_that_differs_is_noticed(other):
    assert_same({"a": ["1.00009"]}, {"a": ["1"]})
    for stored in ({"a": ["1"]}, {"b": ["1"]}, {"a": ["1", "1"]}):
        with pytest.raises(AssertionError):
            assert_same({"a": [other]}, stored)


def test_only_silicon_without_outliers_is_fitted():
    found = record()
    assert found["excluded"] == ["summa.cs2.P750.t6", "summa.cs2.P750.t10"]
    fitted = {name for item in found["families"].values() for name in item["fitted_on"]}
    by_id = {item.id: item for item in reference.published().entries}
    assert {by_id[name].confidence for name in fitted} == {"measured"}
    assert not any("simulator" in by_id[name].system for name in fitted)
    assert not fitted & set(found["excluded"])


def test_every_constant_has_a_starting_value_and_says_how_far_one_setting_moves_it():
    assert set(record()["constants"]) == set(PRIOR.to_json()) == set(record()["stability"])


def test_stability_is_the_largest_move_without_one_setting():
    found = calibrate.calibrate(reference_of(*FILE), SMALL)["stability"]["value"]
    assert found["without"] == "SUMMA 128x128x128"
    assert float(found["factor"]) == pytest.approx((1.1 / 0.9**2) ** (1 / 6), rel=1e-4)


def test_factors_come_from_held_out_errors():
    found = calibrate.calibrate(reference_of(*FILE), SMALL)["families"]["GEMM"]
    worst = max(abs(float(item["error"])) for item in found["held_out"])
    assert log(float(found["factor_calibrated"])) == pytest.approx(worst, rel=1e-4)
    assert log(float(found["factor_extrapolated"])) == pytest.approx(1.5 * worst, rel=1e-4)
    assert [item["left_out"] for item in found["held_out"]] == sorted(f"SUMMA {t}x{t}x{t}" for t, _ in TILES)
    assert found["judged"] is True
    assert found["fitted_on"] == [item["id"] for item in FILE]


def test_a_family_without_entries_is_unknown_and_never_calibrated():
    found = calibrate.calibrate(reference_of(*FILE), SMALL)["families"]
    assert found["DECODE"]["judged"] is False
    assert found["DECODE"]["range"] == {}
    assert (found["DECODE"]["factor_calibrated"], found["DECODE"]["factor_extrapolated"]) == ("4", "8")


def test_the_record_is_the_same_for_any_order_of_the_file():
    forward = calibrate.calibrate(reference_of(*FILE), SMALL)
    backward = calibrate.calibrate(reference_of(*reversed(FILE)), SMALL)
    assert forward["families"]["GEMM"]["held_out"] == backward["families"]["GEMM"]["held_out"]
    assert forward["constants"]["value"] == pytest.approx(backward["constants"]["value"])


def test_values_of_simulator_claims_and_back_solved_entries_move_nothing():
    def others(value: float):
        return [
            summa("sim", 32, 32) | {"system": "SDK simulator", "value": value},
            summa("claim", 32, 32) | {"confidence": "vendor-claim", "value": value},
            summa("back", 32, 32) | {"confidence": "derived", "value": value},
        ]

    first, second = (calibrate.calibrate(reference_of(*FILE, *others(value)), SMALL) for value in (1.0, 1e9))
    assert first == second | {"excluded": first["excluded"]}


def test_extract_keeps_values_and_cuts_quotations():
    full = {
        "meta": {"note": "x"},
        "formulas": [{"id": "f", "formula": "T", "source": "s", "extra": 1}],
        "hardware": [{"id": "h", "value": 1, "quote": "long"}],
        "measured": [{"id": "m", "value": 2, "quote": "q" * 200, "params": {"cycles": 3}}],
    }
    found = extract(full)
    assert found["formulas"] == [{"id": "f", "formula": "T", "source": "s"}]
    assert found["hardware"] == [{"id": "h", "value": 1}]
    assert found["measured"][0]["params"] == {"cycles": 3}
    assert len(found["measured"][0]["quote"]) == MAX_QUOTE


def test_extract_of_an_extract_is_itself():
    stored = json.loads(reference.OWN.read_text(encoding="utf-8"))
    assert extract(stored) == stored
    assert set(FIELDS) < set(stored)


def test_command_prints_the_record_or_the_extract(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(calibrate, "calibrate", lambda _: {"constants": {"ü": "1"}})
    assert calibrate.main([]) == 0
    assert json.loads(capsys.readouterr().out) == {"constants": {"ü": "1"}}
    assert calibrate.main(["--extract", str(reference.OWN)]) == 0
    assert capsys.readouterr().out == reference.OWN.read_text(encoding="utf-8")
    assert calibrate.main(["--wrong"]) == 2
    assert "Aufruf" in capsys.readouterr().err
