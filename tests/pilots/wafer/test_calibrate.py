from __future__ import annotations

import json
from math import log

import pytest

from pilots.wafer import calibrate
from pilots.wafer.kernels import CALIBRATION
from pilots.wafer.machine import MACHINES, WSE_2, Figure, lab_mesh

REFERENCE = json.loads((calibrate.DATA / "reference.json").read_text(encoding="utf-8"))


def test_stored_calibration_is_what_the_script_computes() -> None:
    fresh = calibrate.calibrate(REFERENCE)
    for family in ("GEMM", "GEMV"):
        for name, text in CALIBRATION["families"][family]["constants"].items():
            assert float(fresh["families"][family]["constants"][name]) == pytest.approx(float(text), rel=1e-4)
    assert fresh["families"]["GEMM"]["fitted_on"] == CALIBRATION["families"]["GEMM"]["fitted_on"]


def test_outliers_are_left_out_and_named() -> None:
    gemm = CALIBRATION["families"]["GEMM"]
    assert gemm["excluded"] == ["summa.cs2.P750.t6", "summa.cs2.P750.t10"]
    assert not set(gemm["excluded"]) & set(gemm["fitted_on"])
    assert gemm["n_entries"] == len(gemm["fitted_on"]) == 34


def test_fit_recovers_constants_of_synthetic_runs() -> None:
    runs = [(p, t, round(p * (t**2 * 11 + t**3 * 3 + 500))) for p in (1, 8, 64) for t in (4, 16, 46)]
    assert calibrate.fit_summa(runs) == pytest.approx([10, 3, 500], rel=0.02)


def test_interval_covers_every_judged_held_out_error() -> None:
    gemm = CALIBRATION["families"]["GEMM"]
    judged = [abs(float(item["error"])) for item in gemm["held_out"] if item["left_out"] != "tile 4"]
    assert log(float(gemm["factor_calibrated"])) == pytest.approx(max(judged), rel=1e-3)
    rectangular = [abs(float(error)) for error in gemm["held_out_rectangular"]["errors"]]
    assert log(float(gemm["factor_extrapolated"])) == pytest.approx(2 * max(judged + rectangular), rel=1e-3)


def test_prediction_does_not_see_the_answer() -> None:
    scrambled = json.loads(json.dumps(REFERENCE))
    for item in scrambled["measured"]:
        item["value"] = 1 if item["id"].startswith("spmmgemm.") else item["value"]
    fresh = calibrate.calibrate(scrambled)["families"]["GEMM"]["constants"]
    assert fresh == CALIBRATION["families"]["GEMM"]["constants"]


@pytest.mark.parametrize("machine", MACHINES.values(), ids=lambda item: item.id)
def test_every_figure_of_a_machine_names_a_known_source_or_a_reason(machine: object) -> None:
    known = {item["id"] for item in REFERENCE["hardware"]}
    for name in type(machine).__dataclass_fields__:  # type: ignore[attr-defined]
        value = getattr(machine, name)
        if isinstance(value, Figure) and value.provenance.value != "GESCHAETZT":
            words = value.source.replace(",", " ").replace(":", " ").split()
            assert any(word in known for word in words), (name, value.source)


def test_wse_2_figures_equal_their_sources() -> None:
    values = {item["id"]: item["value"] for item in REFERENCE["hardware"]}
    assert f"{WSE_2.width_pes.value}x{WSE_2.height_pes.value}" == values["wse2.usable"]
    assert WSE_2.sram_bytes_per_pe.value == values["pe.sram.exact"]
    assert WSE_2.clock_hz.value == values["wse2.clk.sdk"] * 1e9
    assert WSE_2.host_transaction_ns.value == values["io.tcp"] * 1000
    assert WSE_2.plumbing_bytes_per_pe.value == values["pe.sram.exact"] - values["pe.sram.limit"]
    assert WSE_2.code_bytes_per_pe.value == values["pe.sram.exact"] - values["pe.sram.user"]


def test_machine_digest_changes_with_any_figure() -> None:
    assert lab_mesh(8, 8).sha256() == lab_mesh(8, 8).sha256() != lab_mesh(8, 9).sha256()
