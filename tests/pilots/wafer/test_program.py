from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from pilots.graph.builder import GraphBuilder
from pilots.graph.ir import DType
from pilots.graph.mlp import mlp_from_text
from pilots.wafer.compiler import compile_graph, unsupported
from pilots.wafer.emulator import pe_maps
from pilots.wafer.errors import DoesNotFit, ProgramError, RequestError, UnsupportedOps
from pilots.wafer.kernels import PER_ELEMENT, PER_FMA, PER_STEP, chain_cycles, stage_cost
from pilots.wafer.listing import listing
from pilots.wafer.machine import WSE_2, WSE_3, lab_mesh
from pilots.wafer.predict import predict
from pilots.wafer.program import Kernel, Program, Rect, Stage, pe_bytes, resident_bytes, verify

DEMO = "64-256-256-8"


def demo() -> Program:
    return compile_graph(mlp_from_text(DEMO)[0], WSE_2, batch=32)


def summa(tile: int, grid: int) -> Stage:
    size = tile * grid
    return Stage(0, Kernel.SUMMA, Rect(0, 0, grid, grid), size, size, size, tile, tile, tile, "w", (), ())


@pytest.mark.parametrize(
    "text", [DEMO, "1-1", "8192-4096-2048", "1024-2048-2048-1024-64", "-".join(["100"] * 32)]
)
@pytest.mark.parametrize("batch", [1, 2, 33, 512])
def test_compiled_program_is_legal(text: str, batch: int) -> None:
    program = compile_graph(mlp_from_text(text)[0], WSE_2, batch=batch)
    verify(program, WSE_2)
    assert all(stage.tile_k >= 4 and stage.tile_n >= 4 for stage in program.stages)


def test_compiler_is_deterministic() -> None:
    assert demo().digest() == demo().digest()


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("INSIDE_MESH", {"rect": Rect(700, 0, 64, 16)}),
        ("INSIDE_MESH", {"rect": Rect(-1, 0, 64, 16)}),
        ("DISJOINT", {"rect": Rect(64, 0, 64, 16)}),
        ("TILES_COVER", {"tile_k": 3}),
        ("TILES_COVER", {"tile_m": 31}),
        ("TILES_COVER", {"kernel": Kernel.SUMMA}),
        ("SRAM_BUDGET", {"tile_k": 4000}),
        ("COLORS", {"colors": (("a", 1), ("b", 1))}),
        ("COLORS", {"colors": (("a", 21),)}),
        ("CONNECTED", {"n": 255}),
        ("CONNECTED", {"m": 16}),
        ("CONNECTED", {"index": 5}),
    ],
)
def test_verify_names_the_rule_when_a_stage_breaks_it(rule: str, change: dict[str, object]) -> None:
    program = demo()
    broken = (replace(program.stages[0], **change), *program.stages[1:])  # type: ignore[arg-type]
    with pytest.raises(ProgramError) as caught:
        verify(replace(program, stages=broken), WSE_2)
    assert caught.value.rule == rule


def test_verify_refuses_another_machine_and_an_empty_program() -> None:
    with pytest.raises(ProgramError, match="MACHINE"):
        verify(demo(), WSE_3)
    with pytest.raises(ProgramError, match="CONNECTED"):
        verify(replace(demo(), stages=()), WSE_2)


def test_sram_budget_holds_to_the_byte() -> None:
    stage = demo().stages[0]
    program = replace(demo(), stages=(stage,))
    used = pe_bytes(stage, program, WSE_2)
    assert used == 4 * 4 * 4 + 32 * 4 * 4 + 2 * 32 * 4 * 4 + 4 * 4 + 32 * 4 * 0 + 4176 + 4096
    tight = replace(WSE_2, sram_bytes_per_pe=replace(WSE_2.sram_bytes_per_pe, value=used))
    verify(replace(program, machine_sha256=tight.sha256()), tight)
    less = replace(WSE_2, sram_bytes_per_pe=replace(WSE_2.sram_bytes_per_pe, value=used - 1))
    with pytest.raises(ProgramError, match="SRAM_BUDGET"):
        verify(replace(program, machine_sha256=less.sha256()), less)


def test_compiler_names_the_exact_shortfall() -> None:
    graph, _ = mlp_from_text("4096-4096-8")
    with pytest.raises(DoesNotFit) as caught:
        compile_graph(graph, lab_mesh(8, 8), batch=4)
    error = caught.value
    assert error.shortfall_bytes == error.needed_bytes - error.available_bytes > 0
    assert error.needed_bytes == error.needed_pes * 49152
    assert str(error.shortfall_bytes) in error.message_de


def test_compiler_names_every_op_without_a_kernel() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (None, 4), DType.FLOAT32)
    w = builder.constant("w", np.ones((4, 4), dtype=np.float32))
    y = builder.op("matmul", builder.op("relu", x), w)
    graph, _ = builder.build(builder.op("reduce_max", y))
    assert unsupported(graph) == (("relu", "node 0"), ("reduce_max", "node 2"))
    with pytest.raises(UnsupportedOps) as caught:
        compile_graph(graph, WSE_2, batch=1)
    assert caught.value.ops == (("relu", "node 0"), ("reduce_max", "node 2"))


@pytest.mark.parametrize("batch", [0, -1, 4097])
def test_compiler_refuses_a_batch_outside_its_limits(batch: int) -> None:
    with pytest.raises(RequestError):
        compile_graph(mlp_from_text("4-4")[0], WSE_2, batch=batch)


def test_summa_cost_is_the_fitted_formula() -> None:
    cost = stage_cost(summa(16, 32), WSE_2, DType.FLOAT32, hops_in=0)
    terms = dict(cost.terms)
    assert terms["compute"] == pytest.approx(32 * 256 * (PER_ELEMENT + 16 * PER_FMA), abs=1)
    assert terms["broadcast"] == 32 * 256
    assert terms["steps"] == pytest.approx(32 * PER_STEP, abs=1)
    assert terms["compute"] + terms["broadcast"] + terms["steps"] == pytest.approx(
        478344, rel=0.01
    )  # the silicon


@pytest.mark.parametrize(
    ("stage", "machine", "dtype", "state"),
    [
        (summa(4, 2), WSE_2, DType.FLOAT32, "KALIBRIERT"),
        (summa(46, 2), WSE_2, DType.FLOAT32, "KALIBRIERT"),
        (summa(47, 2), WSE_2, DType.FLOAT32, "EXTRAPOLIERT"),
        (replace(summa(16, 2), tile_n=17), WSE_2, DType.FLOAT32, "EXTRAPOLIERT"),
        (summa(16, 2), WSE_3, DType.FLOAT32, "EXTRAPOLIERT"),
        (summa(16, 2), WSE_2, DType.FLOAT16, "EXTRAPOLIERT"),
        (replace(summa(16, 2), kernel=Kernel.STATIONARY), WSE_2, DType.FLOAT32, "EXTRAPOLIERT"),
    ],
)
def test_calibration_state_at_its_boundaries(stage: Stage, machine: object, dtype: DType, state: str) -> None:
    cost = stage_cost(stage, machine, dtype, hops_in=0)  # type: ignore[arg-type]
    assert cost.calibration.value == state
    assert cost.lower_cycles < cost.cycles < cost.upper_cycles


def test_interval_outside_the_calibration_points_is_wider() -> None:
    inside = stage_cost(summa(46, 4), WSE_2, DType.FLOAT32, hops_in=0)
    outside = stage_cost(summa(47, 4), WSE_2, DType.FLOAT32, hops_in=0)
    assert outside.upper_cycles / outside.cycles > inside.upper_cycles / inside.cycles


def test_chain_formula_is_the_published_one() -> None:
    assert chain_cycles(64, 1, WSE_2) == 0
    assert chain_cycles(64, 10, WSE_2) == 64 + (2 * 2 + 2) * 9


def test_prediction_counts_bytes_exactly() -> None:
    program = demo()
    prediction = predict(program, WSE_2, batch=32)
    assert prediction.off_wafer_bytes == 32 * (64 + 8) * 4
    assert (
        prediction.resident_bytes
        == resident_bytes(program, WSE_2)
        == sum(stage.rect.pes * pe_bytes(stage, program, WSE_2) for stage in program.stages)
    )
    assert sum(cost.multiply_adds for cost in prediction.stages) == 32 * (64 * 256 + 256 * 256 + 256 * 8)


def test_request_time_grows_with_the_number_of_micro_batches() -> None:
    times = [predict(demo(), WSE_2, batch=size).request_seconds.value for size in (32, 33, 64, 65)]
    assert all(earlier < later for earlier, later in pairwise(times))


def test_maps_show_what_every_element_holds() -> None:
    program = demo()
    memory, busy = pe_maps(program, WSE_2)
    assert memory.shape == busy.shape == (994, 750)
    assert int(memory.sum(dtype=np.int64)) == resident_bytes(program, WSE_2)
    assert np.count_nonzero(busy) == sum(stage.rect.pes for stage in program.stages)
    assert 0 < busy.max() < 1


def test_listing_names_every_stage_and_is_stable() -> None:
    text = listing(demo(), WSE_2)
    assert text == listing(demo(), WSE_2)
    assert [f"stage {index}" in text for index in range(3)] == [True] * 3
    assert "then    add b0, relu" in text
