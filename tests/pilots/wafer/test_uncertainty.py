from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pilots.graph.ir import DType
from pilots.wafer.costs.constants import record
from pilots.wafer.costs.uncertainty import (
    FITTED_PRODUCTS,
    MAX_DECODE_BATCH,
    Trust,
    family_record,
    trust,
    trust_in,
)
from pilots.wafer.machine import WSE_2, WSE_3, Machine, lab_mesh
from pilots.wafer.program import Call, Kernel, Mode, Program, Rect, Region
from pilots.wafer.tiling import tile_of
from pilots.wafer.workloads import Family
from tests.pilots.graph.samples import SAMPLES, single
from tests.pilots.wafer.graphs import compiled, decoder, mlp

F32, F16, BF16 = DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16


def product(kernel: Kernel, tile: tuple[int, int, int], side: int, dtype: DType) -> Program:
    """Return a program of a single product."""
    rect = Rect(0, 0, side, side)
    shape = tuple(size * side for size in tile)
    call = Call(0, kernel, "matmul", ("x", "w"), "y", 0, rect, shape, tile)
    assert kernel is not Kernel.SUMMA or tile_of(kernel, shape, rect) == tile
    made = compiled(mlp("1-1"))
    return replace(made, dtype=dtype, calls=(call,), regions=(Region(0, rect),))


SQUARE_16 = (16, 16, 16)


@pytest.mark.parametrize(
    ("tile", "side", "dtype", "machine", "state"),
    [
        ((4, 4, 4), 32, F32, WSE_2, "KALIBRIERT"),
        ((46, 46, 46), 32, F32, WSE_2, "KALIBRIERT"),
        ((3, 3, 3), 32, F32, WSE_2, "EXTRAPOLIERT"),
        ((47, 47, 47), 32, F32, WSE_2, "EXTRAPOLIERT"),
        ((16, 16, 17), 32, F32, WSE_2, "EXTRAPOLIERT"),
        (SQUARE_16, 1, F32, WSE_2, "KALIBRIERT"),
        (SQUARE_16, 750, F32, WSE_2, "KALIBRIERT"),
        (SQUARE_16, 751, F32, WSE_2, "EXTRAPOLIERT"),
        (SQUARE_16, 32, F16, WSE_2, "EXTRAPOLIERT"),
        (SQUARE_16, 32, F32, WSE_3, "EXTRAPOLIERT"),
        (SQUARE_16, 32, F32, lab_mesh(64, 64), "EXTRAPOLIERT"),
    ],
)
def test_square_products_are_calibrated_where_they_were_measured(
    tile: tuple[int, int, int], side: int, dtype: DType, machine: Machine, state: str
) -> None:
    found = trust_in(product(Kernel.SUMMA, tile, side, dtype), machine)
    assert found.family is Family.GEMM
    assert found.state == state
    assert (found.reason == "") is (state == "KALIBRIERT")
    assert found.factor > 1


@pytest.mark.parametrize("kernel", [Kernel.CANNON, Kernel.STATIONARY, Kernel.GEMV, Kernel.CONVOLUTION])
@pytest.mark.parametrize("dtype", [F32, F16, BF16])
def test_what_no_run_used_is_never_calibrated(kernel: Kernel, dtype: DType) -> None:
    found = trust_in(product(kernel, SQUARE_16, 480, dtype), WSE_2)
    assert found.state != "KALIBRIERT"
    assert found.reason


def test_one_strange_product_spoils_a_calibrated_program() -> None:
    graph = decoder(phase="prefill", context=4096)
    made = compiled(graph, grid=480, capacity=False, kernels=(Kernel.MESH_GEMM, Kernel.GEMV))
    assert trust_in(made, WSE_2).state == "KALIBRIERT"
    for kernel in (Kernel.SUMMA, Kernel.CANNON, Kernel.CONVOLUTION, Kernel.EXPERTS):
        other = replace(made.calls[-1], kernel=kernel)
        found = trust_in(replace(made, calls=(*made.calls, other)), WSE_2)
        assert (found.state, found.reason) == ("EXTRAPOLIERT", f"nicht kalibriert: Kernel {kernel}")


@pytest.mark.parametrize(
    ("tile", "side", "dtype", "sentence"),
    [
        (
            SQUARE_16,
            751,
            F32,
            "Gitter von 751 Elementen Seitenlänge liegt außerhalb des kalibrierten Bereichs 1 bis 750",
        ),
        ((16, 16, 17), 32, F32, "Kachel 16 × 16 × 17 ist nicht kalibriert (nur quadratische von 4 bis 46)"),
        (SQUARE_16, 32, F16, "Zahlentyp float16 ist nicht kalibriert"),
    ],
)
def test_a_size_beyond_the_calibration_is_told_in_a_sentence(
    tile: tuple[int, int, int], side: int, dtype: DType, sentence: str
) -> None:
    assert trust_in(product(Kernel.SUMMA, tile, side, dtype), WSE_2).reason == sentence


@pytest.mark.parametrize("context", [4095, 4097])
def test_a_context_of_which_one_is_calibrated_is_told_in_a_sentence(context: int) -> None:
    graph = decoder(phase="prefill", context=context)
    made = compiled(graph, grid=480, capacity=False, kernels=(Kernel.MESH_GEMM, Kernel.GEMV))
    sentence = f"Kontext von 4.{context - 4000:03d} Token weicht vom einzigen kalibrierten Wert 4.096 ab"
    assert trust_in(made, WSE_2).reason == sentence


def test_products_alone_are_no_language_model() -> None:
    found = trust_in(product(Kernel.MESH_GEMM, SQUARE_16, 480, F16), WSE_2)
    assert (found.family, found.state) == (Family.PREFILL, "EXTRAPOLIERT")
    assert found.reason == "das Modell ist kein Sprachmodell"


@pytest.mark.parametrize(("width", "height"), [(32, 16), (16, 32), (32, 31)])
def test_a_region_that_is_no_square_is_never_calibrated(width: int, height: int) -> None:
    made = product(Kernel.SUMMA, SQUARE_16, 32, F32)
    found = trust_in(replace(made, regions=(*made.regions, Region(0, Rect(0, 0, width, height)))), WSE_2)
    assert (found.state, found.reason) == ("EXTRAPOLIERT", "eine Region ist nicht quadratisch")


@pytest.mark.parametrize(("systems", "copies"), [(2, 1), (1, 2), (16, 1)])
def test_several_systems_are_never_calibrated(systems: int, copies: int) -> None:
    made = product(Kernel.SUMMA, SQUARE_16, 32, F32)
    assert trust_in(made, WSE_2, copies=1).state == "KALIBRIERT"
    found = trust_in(replace(made, systems=systems), WSE_2, copies=copies)
    assert (found.state, found.reason) == ("EXTRAPOLIERT", "mehrere Systeme")


@pytest.mark.parametrize(
    ("context", "batch", "state"),
    [
        (2047, 1, "EXTRAPOLIERT"),
        (2048, 1, "KALIBRIERT"),
        (8192, 1, "KALIBRIERT"),
        (8193, 1, "EXTRAPOLIERT"),
        (2048, 2, "EXTRAPOLIERT"),
        (2048, MAX_DECODE_BATCH, "EXTRAPOLIERT"),
        (2048, MAX_DECODE_BATCH + 1, "AUSSERHALB_KALIBRIERUNG"),
    ],
)
def test_decode_is_calibrated_between_the_contexts_of_its_runs(context: int, batch: int, state: str) -> None:
    made = compiled(
        decoder("Llama-3.1-8B", context=context), grid=540, capacity=False, kernels=(Kernel.GEMV,)
    )
    calls = tuple(
        replace(call, shape=(batch, *call.shape[1:])) if call.kernel is Kernel.ATTENTION_CACHED else call
        for call in made.calls
    )
    found = trust_in(replace(made, calls=calls), WSE_2)
    assert found.family is Family.DECODE
    assert found.state == state


@pytest.mark.parametrize(("grid", "state"), [(359, "EXTRAPOLIERT"), (360, "KALIBRIERT"), (660, "KALIBRIERT")])
def test_decode_is_calibrated_between_the_grids_of_its_runs(grid: int, state: str) -> None:
    made = compiled(decoder(), grid=grid, capacity=False, kernels=(Kernel.GEMV,))
    assert trust_in(made, WSE_2).state == state


def test_weights_from_outside_are_judged_as_training_and_decode_of_them_is_outside() -> None:
    prefill = compiled(decoder(phase="prefill", context=1024), mode=Mode.WEIGHT_STREAMING)
    found = trust_in(prefill, WSE_2)
    assert found.family is Family.TRAINING
    assert found.state == "EXTRAPOLIERT"
    decode = trust_in(compiled(decoder(), mode=Mode.WEIGHT_STREAMING), WSE_2)
    assert decode.state == "AUSSERHALB_KALIBRIERUNG"


@pytest.mark.parametrize("op", sorted(SAMPLES))
def test_no_single_operation_is_calibrated_for_want_of_a_run(op: str) -> None:
    found = trust_in(compiled(single(op, *SAMPLES[op])), WSE_2)
    assert (found.state == "KALIBRIERT") is (found.reason == "")
    if found.state == "KALIBRIERT":
        assert family_record(found.family)["judged"]


def test_reasons_widen_the_interval_and_other_generations_widen_it_again() -> None:
    inside = trust_in(product(Kernel.SUMMA, SQUARE_16, 32, F32), WSE_2)
    beyond = trust_in(product(Kernel.SUMMA, (47, 47, 47), 32, F32), WSE_2)
    other = trust_in(product(Kernel.SUMMA, SQUARE_16, 32, F32), WSE_3)
    assert 1 < inside.factor < beyond.factor < other.factor
    assert other.factor == pytest.approx(beyond.factor * float(record()["factors"]["generation"]))


def test_a_family_nobody_measured_is_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Any] = record() | {"families": {}}
    monkeypatch.setattr("pilots.wafer.costs.uncertainty.record", lambda: known)
    found = trust_in(product(Kernel.SUMMA, SQUARE_16, 32, F32), WSE_2)
    assert (found.state, found.factor) == ("AUSSERHALB_KALIBRIERUNG", 4.0)


@pytest.mark.parametrize(
    ("extrapolated", "machine", "factor"),
    [("1.2", WSE_2, 4.0), ("4", WSE_2, 4.0), ("5", WSE_2, 5.0), ("1.9", WSE_3, 4.0), ("3", WSE_3, 6.0)],
)
def test_outside_is_never_narrower_than_unknown(
    extrapolated: str, machine: Machine, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[str, Any] = record() | {"families": {"GEMM": {"factor_extrapolated": extrapolated}}}
    monkeypatch.setattr("pilots.wafer.costs.uncertainty.record", lambda: known)
    found = trust(Family.GEMM, machine, [], outside=True)
    assert (found.state, found.factor) == ("AUSSERHALB_KALIBRIERUNG", pytest.approx(factor))


def test_interval_is_a_ratio_around_the_value() -> None:
    span = Trust(Family.GEMM, "KALIBRIERT", 1.25, "").span(10.0)
    assert (span.lower, span.value, span.upper) == (8.0, 10.0, 12.5)


def test_fitted_products_are_those_of_judged_families() -> None:
    judged = {name for name, item in record()["families"].items() if item["judged"]}
    assert {family.value for family in FITTED_PRODUCTS} >= judged - {"STENCIL"}
