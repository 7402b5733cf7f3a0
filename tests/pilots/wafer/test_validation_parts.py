"""Statistics, the naive curve, ranges and trust, families and rows."""

from __future__ import annotations

from math import e, exp, log

import pytest

from pilots.wafer.costs.uncertainty import CALIBRATED, EXTRAPOLATED, OUTSIDE
from pilots.wafer.reading.inputs import Refused
from pilots.wafer.reference import question_of
from pilots.wafer.validation import naive
from pilots.wafer.validation.families import DECLARED, Kind, group_of, is_noise, kind_of, system_of
from pilots.wafer.validation.rows import NOISE_DE, fitted, is_listed_noise, rows_of, silicon
from pilots.wafer.validation.statistics import figures, median, upper_bound
from pilots.wafer.validity import inside, range_of, trust
from pilots.wafer.workloads import Family
from tests.pilots.wafer.small_model import SMALL, entry, one, reference_of, summa


def case(**changes):
    found = question_of(one(**changes))
    assert not isinstance(found, Refused), found.reason_de
    return found.case


def sums(grid: int, tile: int, **changes):
    return case(params={"P": grid, "tile": tile}, **changes)


def test_error_is_the_same_for_twice_and_half():
    assert figures([log(2)]).median == pytest.approx(1.0)
    assert figures([log(0.5)]).median == pytest.approx(1.0)
    assert figures([log(0.5)]).bias == pytest.approx(-0.5)
    assert figures([]) is None


@pytest.mark.parametrize(("count", "rank"), [(1, 1), (9, 9), (10, 9), (11, 10), (20, 18), (99, 90)])
def test_ninetieth_percentile_is_the_maximum_below_ten(count, rank):
    assert upper_bound(range(1, count + 1)) == rank
    assert figures([0.1] * count).p90_is_maximum is (count < 10)


def test_median_of_even_and_odd_counts():
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2.5


def test_naive_curve_finds_a_power_law_and_predicts_it():
    cases = [sums(grid, tile) for grid in (4, 8, 16, 32) for tile in (2, 4, 8, 16)]
    law = (2.0, 0.9, 0.2, -0.7)
    cycles = [naive.predict(item, law) for item in cases]
    found = naive.fit(cases, cycles)
    assert [naive.predict(item, found) for item in cases] == pytest.approx(cycles, rel=1e-3)


def test_naive_curve_through_one_case_is_its_value_and_through_none_is_none():
    assert naive.predict(sums(4, 4), naive.fit([sums(4, 8)], [70.0])) == pytest.approx(70.0)
    assert naive.fit([], []) is None


def test_naive_curve_stays_finite():
    assert naive.predict(sums(4, 8), (1e9, 0, 0, 0)) == pytest.approx(1e30)


def test_range_holds_labels_features_and_sizes():
    span = range_of([sums(4, 8), sums(16, 2)])
    assert (span["grid"], span["tile"], span["item_bytes"]) == ([4, 16], [2, 8], [4])
    assert span["labels"] == ["wse-2 one Gemm SUMMA float32"]
    assert span["pes"] == ["16", "256"]
    assert range_of([]) == {}


@pytest.mark.parametrize(
    ("grid", "tile", "expected"),
    [(4, 8, True), (16, 2, True), (8, 4, True), (16, 16, False), (32, 2, False), (8, 1, False)],
)
def test_inside_is_within_every_end(grid, tile, expected):
    span = range_of([sums(4, 8), sums(16, 2), sums(16, 8), sums(4, 2)])
    assert inside(sums(grid, tile), span) is expected


def test_another_kernel_type_machine_or_number_of_systems_is_not_inside():
    span = range_of([sums(4, 8)])
    for other in (
        {"workload": "Cannon GEMM fp32"},
        {"workload": "SUMMA GEMM f16"},
        {"system": "CS-3"},
        {"system": "2x CS-2"},
    ):
        assert not inside(sums(4, 8, **other), span)


RECORD = {
    "factors": {"generation": "2", "unknown": "4"},
    "families": {
        "GEMM": {
            "factor_calibrated": "1.1",
            "factor_extrapolated": "1.3",
            "judged": True,
            "range": range_of([sums(4, 8), sums(64, 8)]),
        },
        "GEMV": {"factor_calibrated": "1.1", "factor_extrapolated": "1.2", "judged": False, "range": {}},
    },
}


@pytest.mark.parametrize(
    ("found", "state", "factor"),
    [
        (sums(16, 8), CALIBRATED, 1.1),
        (sums(128, 8), EXTRAPOLATED, 1.3),
        (sums(16, 8, system="CS-3"), EXTRAPOLATED, 2.6),
        (sums(750, 80), OUTSIDE, 4.0),
        (sums(1000, 1), OUTSIDE, 4.0),
        (case(workload="MeshGEMV [1,1K]x[1K,1K]", params={"cores": "32x32"}), EXTRAPOLATED, 1.2),
        (case(workload="MeshGEMV [1,1K]x[1K,1K]", params={}), OUTSIDE, 4.0),
        (case(workload="reduce chain P=4 B=4", params={}), EXTRAPOLATED, 4.0),
    ],
)
def test_trust_is_calibrated_extrapolated_or_outside(found, state, factor):
    given = trust(found, RECORD)
    assert (given.state, given.factor) == (state, pytest.approx(factor))
    assert (given.reason == "") is (state == CALIBRATED)


def test_too_few_independent_entries_are_never_calibrated():
    record = {
        "factors": RECORD["factors"],
        "families": {"GEMM": RECORD["families"]["GEMM"] | {"judged": False}},
    }
    assert trust(sums(16, 8), record).state == EXTRAPOLATED


@pytest.mark.parametrize(
    ("system", "confidence", "kind"),
    [
        ("CS-2", "measured", Kind.SILICON),
        ("CS-3 service", "measured", Kind.SILICON),
        ("SDK simulator WSE-2", "derived", Kind.SIMULATOR),
        ("SDK simulator WSE-2", "measured", Kind.SIMULATOR),
        ("CS-2", "vendor-claim", Kind.CLAIM),
        ("CS-2", "derived", Kind.BACK_SOLVED),
        ("A100x8 SGLang", "measured", Kind.GPU),
        ("CS-2 vs A100", "measured", Kind.SILICON),
        ("CS-2", "", Kind.UNKNOWN),
    ],
)
def test_confidence_and_system_decide_the_kind(system, confidence, kind):
    assert kind_of(one(system=system, confidence=confidence)) is kind


def test_every_family_is_declared():
    assert list(DECLARED) == list(Family)


def test_settings_are_tile_model_or_system_and_method():
    def group(**changes):
        return group_of(question_of(one(**changes)))

    assert group(params={"P": 4, "tile": 8}) == group(params={"P": 9, "tile": 8}) == "SUMMA 8x8x8"
    names = (
        "LLaMA3-8B prefill, 2K tokens",
        "LLaMA3-8B decode, 4K ctx",
        "LLaMA3-8B end-to-end in/out 2048/128",
    )
    assert {group(workload=name, unit="tokens/s") for name in names} == {"LLaMA3-8B"}
    sizes = {group(workload=f"reduce chain P={count} B=4", params={}) for count in (4, 64)}
    assert sizes == {"1 x wse-2 SDK: wse-2 one Collective reduce chain"}


def test_system_is_machine_count_and_software():
    assert system_of(question_of(one(system="CS-2 WaferLLM"))) == "1 x wse-2 WaferLLM"
    assert system_of(question_of(one(system="CS-2 (WSE-2) WaferLLM"))) == "1 x wse-2 WaferLLM"


@pytest.mark.parametrize(
    ("grid", "cycles", "expected"), [(10, 5000, True), (11, 5000, False), (10, 5001, False)]
)
def test_noise_is_below_both_limits(grid, cycles, expected):
    assert is_noise(question_of(one(params={"P": grid, "tile": 1})), cycles) is expected


def test_rows_say_why_they_are_not_scored():
    outlier = entry(id="o", params={"P": 4, "tile": 99, "outlier": True})
    rows = rows_of(
        reference_of(
            summa("a", 32, 16),
            outlier,
            entry(id="n", params={"P": 2, "tile": 1}),
            entry(id="t", value="1/2", params={"P": 99, "tile": 9}),
            entry(id="v", value=None, params={"P": 99, "tile": 9}),
            entry(id="b", confidence="derived", params={"P": 99, "tile": 9}),
            entry(id="f", workload="3D FFT 64^3", params={}),
            entry(id="x", workload="7pt-Stencil run-to-run"),
        ),
        SMALL,
    )
    by_id = {row.entry.id: row for row in rows}
    assert [name for name, row in by_id.items() if row.scored] == ["a"]
    assert [row.entry.id for row in fitted(rows)] == [row.entry.id for row in silicon(rows)] == ["a"]
    assert "Ausreißer" in by_id["o"].unscored
    assert by_id["n"].unscored == NOISE_DE
    assert [name for name, row in by_id.items() if is_listed_noise(row)] == ["n", "x"]
    assert "einzelner Zahlenwert" in by_id["t"].unscored
    assert "ohne veröffentlichten Wert" in by_id["v"].unscored
    assert "nie gewertet" in by_id["b"].unscored
    assert by_id["f"].refused == "Das kleine Modell kennt keine Transformation."
    assert by_id["f"].family is Family.COLLECTIVES


def test_bias_of_a_factor_e_is_a_factor_e():
    assert figures([1.0, 1.0]).bias == pytest.approx(e - 1)
    assert figures([1.0, 1.0]).p90 == pytest.approx(exp(1) - 1)


def test_families_that_are_never_fitted_still_count_on_silicon():
    rows = rows_of(
        reference_of(
            summa("a", 32, 16), entry(id="t", workload="GPT-3 111M train", unit="samples/s", params={})
        ),
        SMALL,
    )
    assert [row.entry.id for row in fitted(rows)] == ["a"]
    assert [row.entry.id for row in silicon(rows)] == ["a", "t"]
