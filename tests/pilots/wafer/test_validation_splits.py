"""What is left out is not seen; intervals come from other parts; verdicts; the whole assessment."""

from __future__ import annotations

import json
from math import exp, log
from types import SimpleNamespace

import pytest

from pilots.wafer.validation.assessment import IN_SAMPLE, LEFT_OUT, NEW, Split, assess
from pilots.wafer.validation.counted import Counted
from pilots.wafer.validation.families import Kind
from pilots.wafer.validation.intervals import coverage, covered, width_of
from pilots.wafer.validation.model import Model
from pilots.wafer.validation.output import summary_text, to_json
from pilots.wafer.validation.plot import Point, scatter
from pilots.wafer.validation.report import report
from pilots.wafer.validation.rows import fitted, rows_of
from pilots.wafer.validation.splits import by_family, by_group, by_system, leave_out, samples
from pilots.wafer.validation.statistics import Figures
from pilots.wafer.validation.verdicts import Guess, pairs
from pilots.wafer.workloads import Family
from tests.pilots.wafer.small_model import RECORD, SMALL, entry, reference_of, summa

# three tile sizes, off by known factors
NOTHING = Counted((), {})
FILE = [
    *(summa(f"s{tile}.{grid}", tile, grid, error) for tile, error in ((32, 1.0), (64, 1.1), (128, 0.9)) for grid in (16, 64)),
    entry(id="v", system="CS-2 WaferLLM", workload="MeshGEMV f16 [1,16K]x[16K,16K]", params={"cores": "64x64"}, unit="cycles", value=500_000.0),
]  # fmt: skip


def seen(*rows):
    return fitted(rows_of(reference_of(*(rows or FILE)), SMALL))


def test_entries_of_one_setting_share_the_weight_one():
    assert [item.weight for item in samples(seen())] == [0.5] * 6 + [1.0]


def test_the_fit_never_sees_what_is_left_out():
    fits = []

    def spy(given):
        fits.append({item.cycles for item in given})
        return SMALL.fit(given)

    held = leave_out(
        seen(), by_group, Model(spy, SMALL.cycles, SMALL.prior, SMALL.read), naive_in_family=True
    )
    assert len(fits) == 4
    for item in held:
        other = [cycles for cycles in fits if item.row.published_cycles not in cycles]
        assert len(other) == 1
        assert item.row not in item.rest


def test_left_out_error_is_what_the_others_say():
    rows = seen(*FILE[:6])
    held = {item.row.entry.id: item for item in leave_out(rows, by_group, SMALL, naive_in_family=True)}
    assert held["s32.16"].log_error == pytest.approx((log(1.1) + log(0.9)) / 2)
    assert list(held) == [row.entry.id for row in rows]


def test_family_and_system_are_left_out_whole():
    assert {item.part for item in leave_out(seen(), by_family, SMALL, naive_in_family=False)} == {
        "GEMM",
        "GEMV",
    }
    held = leave_out(seen(), by_system, SMALL, naive_in_family=False)
    assert {item.part for item in held} == {"1 x wse-2 SDK", "1 x wse-2 WaferLLM"}
    assert all(item.naive_cycles for item in held)


def test_the_naive_curve_has_no_figure_without_other_entries():
    held = leave_out(seen(), by_group, SMALL, naive_in_family=True)
    assert [item.naive_cycles is None for item in held] == [False] * 6 + [True]


def test_order_of_the_file_changes_no_figure():
    held = {
        item.row.entry.id: item.cycles for item in leave_out(seen(), by_group, SMALL, naive_in_family=True)
    }
    again = leave_out(seen(*reversed(FILE)), by_group, SMALL, naive_in_family=True)
    assert {item.row.entry.id: item.cycles for item in again} == pytest.approx(held)


def test_width_is_the_family_s_own_only_with_enough_independent_entries():
    held = leave_out(seen(), by_group, SMALL, naive_in_family=True)
    own = width_of(Family.GEMM, held)
    assert own.judged
    assert own.log_width == pytest.approx(
        max(abs(item.log_error) for item in held if item.row.family is Family.GEMM)
    )
    assert own.extrapolated == pytest.approx(own.calibrated**1.5)
    other = width_of(Family.GEMV, held)
    assert not other.judged
    assert other.log_width == pytest.approx(max(abs(item.log_error) for item in held))
    assert width_of(Family.GEMV, []).calibrated == pytest.approx(4.0)


def errors_of(family, *errors, parts=2):
    return [
        SimpleNamespace(row=SimpleNamespace(family=family), part=f"{family} {index % parts}", log_error=error)
        for index, error in enumerate(errors)
    ]


def test_a_family_nobody_measured_is_unknown_however_well_others_are_known():
    found = width_of(Family.DECODE, errors_of(Family.GEMM, *[0.01] * 20))
    assert not found.judged
    assert (found.calibrated, found.extrapolated) == (pytest.approx(4), pytest.approx(8))


@pytest.mark.parametrize(("own", "width"), [(-0.9, 0.9), (0.2, 0.2), (0.05, 0.1)])
def test_a_family_with_too_few_entries_is_never_narrower_than_its_own_error(own, width):
    held = errors_of(Family.GEMM, *[0.1] * 20) + errors_of(Family.GEMV, own, 0.0)
    assert width_of(Family.GEMV, held).log_width == pytest.approx(width)


@pytest.mark.parametrize(("count", "parts", "judged"), [(3, 2, True), (2, 2, False), (9, 1, False)])
def test_three_entries_of_two_settings_judge_a_family(count, parts, judged):
    held = errors_of(Family.GEMM, *[0.5] * 20) + errors_of(Family.GEMV, *[0.1] * count, parts=parts)
    found = width_of(Family.GEMV, held)
    assert (found.judged, found.log_width) == (judged, 0.1 if judged else 0.5)


def test_interval_of_a_held_out_row_is_made_without_it():
    held = leave_out(seen(*FILE[:6]), by_group, SMALL, naive_in_family=True)
    found = {item.held.row.entry.id: item for item in covered(held)}
    others = [abs(item.log_error) for item in held if item.part != "SUMMA 64x64x64"]
    assert found["s64.16"].calibrated
    assert found["s64.16"].factor == pytest.approx(exp(max(others)))
    assert not found["s32.16"].calibrated
    assert coverage(list(found.values())).n == 6
    assert coverage([]) is None


def test_verdict_is_right_order_and_factor():
    gpu = entry(
        id="g",
        system="A100x8",
        workload=FILE[0]["workload"].upper(),
        metric="cycles",
        unit="cycles",
        value=200_000.0,
    )
    wafer = summa("w", 32, 16) | {"value": 100_000.0}
    rows = rows_of(reference_of(wafer, gpu), SMALL)

    def pair(cycles: float, factor: float = 1.01):
        return pairs(rows, {"w": Guess(cycles, factor)})[0]

    assert (pair(100_000).published, pair(100_000).predicted) == (2.0, 2.0)
    assert pair(100_000 * 1.49).factor_right
    assert not pair(100_000 * 1.51).factor_right
    assert pair(100_000 / 1.49).factor_right
    assert pair(199_000).order_right
    assert not pair(201_000).order_right
    assert pair(150_000, 1.34).undecidable
    assert not pair(150_000, 1.33).undecidable
    assert pairs(rows, {}) == ()


def test_gpu_times_inside_params_make_pairs_and_are_never_seen():
    row = entry(id="v", system="CS-2 WaferLLM", workload="MeshGEMV [1,16K]x[16K,16K]", unit="ms", value=0.001,
                params={"A100_ms": {"1": 0.4, "8": 0.2, "x": "no"}, "A100_share": {"1": 1}})  # fmt: skip
    rows = rows_of(reference_of(row), SMALL)
    found = pairs(rows, {"v": Guess(1100.0, 1.1)})
    assert [(item.gpu, round(item.published), round(item.predicted)) for item in found] == [
        ("A100x1", 400, 400),
        ("A100x8", 200, 200),
    ]


def test_split_is_earned_at_exactly_twice_as_good():
    def figure(median: float) -> Figures:
        return Figures(3, 0.0, median, median)

    assert Split({}, figure(0.1), figure(0.2)).earned
    assert not Split({}, figure(0.1), figure(0.199)).earned
    assert not Split({}, figure(0.1), None).earned


@pytest.fixture
def assessed():
    calibration = reference_of(*FILE)
    simulator = summa("sim", 32, 32) | {"system": "SDK simulator WSE-2", "confidence": "derived"}
    new = summa("new", 16, 32, 1.5)
    claim = summa("claim", 16, 32) | {"confidence": "vendor-claim"}
    refused = entry(id="r", workload="3D FFT 64^3")
    given = reference_of(*FILE[:4], simulator, new, claim, refused, summa("same case, other id", 32, 16, 1.2))
    return assess(given, calibration, RECORD, SMALL)


def test_results_tell_samples_and_kinds_apart(assessed):
    found = {(item.family, item.kind, item.sample): item.ours.n for item in assessed.results}
    assert found == {
        (Family.GEMM, Kind.SILICON, IN_SAMPLE): 5,
        (Family.GEMM, Kind.SILICON, LEFT_OUT): 6,
        (Family.GEMM, Kind.SILICON, NEW): 1,
        (Family.GEMM, Kind.SIMULATOR, "nie in der Kalibrierung"): 1,
        (Family.GEMM, Kind.CLAIM, "nie in der Kalibrierung"): 1,
        (Family.GEMV, Kind.SILICON, LEFT_OUT): 1,
    }


def test_json_has_every_entry_in_order_with_prediction_or_reason(assessed):
    found = json.loads(json.dumps(to_json(assessed), allow_nan=False))
    assert [item["id"] for item in found["entries"]][-3:] == ["claim", "r", "same case, other id"]
    first = found["entries"][0]
    assert first["lower"] < first["predicted"] < first["upper"]
    assert first["unit"] == "cycles"
    refused = found["entries"][-2]
    assert refused == {
        "id": "r",
        "family": "COLLECTIVES",
        "refused": "Das kleine Modell kennt keine Transformation.",
    }


def test_ends_of_a_rate_change_places():
    rate = entry(id="d", workload="LLaMA3-8B decode, 4K ctx", unit="tokens/s", params={}, value=1.0)
    found = to_json(assess(reference_of(rate), reference_of(*FILE), RECORD, SMALL))["entries"][0]
    assert found["lower"] < found["predicted"] < found["upper"]
    assert found["upper"] / found["predicted"] == pytest.approx(4.0, rel=1e-5)


def test_a_file_without_silicon_and_without_values_is_assessed():
    bare = {
        name: value
        for name, value in FILE[0].items()
        if name in {"id", "system", "workload", "params", "metric", "unit"}
    }
    nothing = reference_of()
    found = assess(reference_of(bare), nothing, RECORD, SMALL)
    assert found.results == ()
    assert to_json(found)["entries"][0]["predicted"] > 0
    assert "gibt es keine Schlagzeile" in report(found, RECORD, {}, NOTHING)
    assert summary_text(found)
    assert scatter([]).startswith("<svg")


def test_report_lists_everything_and_is_the_same_twice(assessed):
    text = report(assessed, RECORD, {"value": "1"}, NOTHING)
    assert text == report(assessed, RECORD, {"value": "1"}, NOTHING)
    for name in ("new", "claim", "sim", "r"):
        assert f"| {name} |" in text
    assert "Herstellersimulator" in text
    assert "Das kleine Modell kennt keine Transformation." in text
    assert "value, confidence, source, quote" in text


def test_a_name_cannot_break_a_table():
    odd = summa("a|b<c>\n", 32, 16)
    text = report(assess(reference_of(odd), reference_of(*FILE), RECORD, SMALL), RECORD, {}, NOTHING)
    assert "| a\\|b&lt;c> |" in text


def test_plot_names_points_and_escapes_them():
    text = scatter([Point("a<b>", 100.0, 120.0, None), Point("c", 1e6, 2e6, 3e6)])
    assert text.count("<circle") == 3
    assert "a&lt;b&gt;: Emulator" in text
    assert "c: naive Kurve" in text
    assert text.endswith("</svg>\n")


def test_an_unfitted_family_is_held_out_by_every_fit_and_counts_in_the_results():
    train = entry(id="t", workload="GPT-3 111M train", unit="samples/s", params={}, value=100.0)
    reference = reference_of(*FILE, train)
    found = assess(reference, reference, RECORD, SMALL)
    assert {item.sample for item in found.results if item.family is Family.TRAINING} == {LEFT_OUT}
    assert "t" in {item.held.row.entry.id for item in found.held}
    assert "TRAINING" in found.by_family.parts
