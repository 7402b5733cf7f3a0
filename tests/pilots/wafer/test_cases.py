from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import Any

import pytest

from pilots.graph.ir import DType
from pilots.graph.known_models import find
from pilots.wafer.cases import (
    BACKWARD,
    DECODE_KERNELS,
    HANDLERS,
    PREFILL_KERNELS,
    Bench,
    CannotPredict,
    _Model,
    compiled,
    predict_cycles,
)
from pilots.wafer.costs import collectives
from pilots.wafer.costs.constants import PRIOR, calibrated
from pilots.wafer.machine import WSE_1, WSE_2, WSE_3
from pilots.wafer.predict import program_terms
from pilots.wafer.program import PRODUCTS, Kernel, Mode
from pilots.wafer.workloads import (
    Case,
    Collective,
    Decode,
    EndToEnd,
    Family,
    Fft,
    Gemm,
    Gemv,
    LocalProduct,
    Prefill,
    Quantity,
    Stencil,
    Training,
    Workload,
)

F32, F16 = DType.FLOAT32, DType.FLOAT16
LLAMA = find("LLaMA3-8B")
SMALL = replace(LLAMA, layers=2)
JACOBI = Stencil("JACOBI", 7, 700, 900, 200, 0, mixed_precision=False)
WORKLOADS: dict[str, Workload] = {
    "summa": Gemm("SUMMA", 512, 512, 512, 32, F32),
    "mesh": Gemm("MESH_GEMM", 2048, 2048, 2048, 0, F16),
    "cannon": Gemm("CANNON", 100, 200, 300, 8, F16),
    "loop": LocalProduct("LOOP", 4, 5, 6, 3, F32),
    "map": LocalProduct("MAP", 4, 5, 6, 3, F32),
    "gemv": Gemv(4096, 4096, 0, F16),
    "broadcast": Collective("broadcast", "", 512, 1, 64),
    "reduce": Collective("reduce", "tree", 512, 1, 64),
    "allreduce": Collective("allreduce", "", 512, 512, 64),
    "all_to_all": Collective("all_to_all", "", 512, 1, 512),
    "jacobi": JACOBI,
    "wave": replace(JACOBI, method="WAVE", points=25),
    "bicgstab": replace(JACOBI, method="BICGSTAB", mixed_precision=True),
    "fft": Fft(512),
    "decode": Decode(SMALL, 4096, 1, 420),
    "decode free": Decode(SMALL, 100, 2, 0),
    "prefill": Prefill(SMALL, 4096, 1, 600),
    "end to end": EndToEnd(SMALL, 2048, 128, 660, 360),
    "training": Training(SMALL, 4, 2048, forward_only=False),
}


def cycles(work: Any, machine_id: str = "wse-2", systems: int = 1) -> float:
    case = Case(Family.GEMM, work, machine_id, 0, systems, Quantity.CYCLES)
    return predict_cycles(case, calibrated()).cycles


def refused(work: Any, machine_id: str = "wse-2") -> str:
    with pytest.raises(CannotPredict) as caught:
        cycles(work, machine_id)
    assert caught.value.message_de.endswith(".")
    return caught.value.message_de


@pytest.mark.parametrize("machine_id", [WSE_1.id, WSE_2.id, WSE_3.id])
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_kind_of_workload_is_predicted(name: str, machine_id: str) -> None:
    if machine_id != "wse-1" or not name.startswith(("prefill", "end")):
        found = predict_cycles(
            Case(Family.GEMM, WORKLOADS[name], machine_id, 0, 1, Quantity.CYCLES), calibrated()
        )
        assert found.cycles == found.terms.cycles > 0
        assert found.grid >= 1


def test_every_kind_has_a_handler() -> None:
    assert {type(item) for item in WORKLOADS.values()} == set(HANDLERS)


@pytest.mark.parametrize(
    ("work", "machine_id", "words"),
    [
        (JACOBI, "wse-9", "Für die Maschine wse-9 gibt es keine Beschreibung."),
        ("a text", "wse-2", "Für diese Art von Workload gibt es kein Modell."),
        (replace(JACOBI, method="FEM"), "wse-2", "Für das Verfahren FEM gibt es kein Modell."),
        (Gemm("STRASSEN", 8, 8, 8, 2, F32), "wse-2", "Für das Verfahren STRASSEN gibt es kein Modell."),
        (Gemm("NORM", 8, 8, 8, 2, F32), "wse-2", "Für das Verfahren NORM gibt es kein Modell."),
        (LocalProduct("BLAS", 4, 5, 6, 3, F32), "wse-2", "Für das Verfahren BLAS gibt es kein Modell."),
        (Collective("scan", "", 8, 8, 1), "wse-2", "Die kollektive Operation scan ist nicht bekannt."),
        (Collective("reduce", "guess", 8, 8, 1), "wse-2", "Das Verfahren guess ist nicht bekannt."),
        (Collective("allreduce", "guess", 8, 8, 1), "wse-2", "Das Verfahren guess ist nicht bekannt."),
    ],
)
def test_what_has_no_model_is_refused_in_one_sentence(work: Any, machine_id: str, words: str) -> None:
    assert refused(work, machine_id) == words


def test_summa_is_one_call_timed_inside_the_elements() -> None:
    c = calibrated()
    receive = 2 * WSE_2.dsd_setup_cycles.value
    tile = 16**2 * (c.loop_element + 16 * c.loop_fma) + 2 * 16**2 + receive + c.step
    assert cycles(WORKLOADS["summa"]) == pytest.approx(32 * tile + c.launch)


def test_products_inside_one_element() -> None:
    c = calibrated()
    assert cycles(WORKLOADS["loop"]) == pytest.approx(3 * 30 * (c.loop_element + 4 * c.loop_fma))
    assert cycles(WORKLOADS["map"]) == pytest.approx(3 * (5 * (c.map_column + 24) + c.map_call))


@pytest.mark.parametrize(
    ("size", "machine_id", "side"),
    [
        (1, "wse-2", 1),
        (2, "wse-2", 2),
        (3, "wse-2", 2),
        (511, "wse-2", 256),
        (512, "wse-2", 512),
        (9999, "wse-2", 512),
    ],
)
def test_runs_without_a_grid_take_the_largest_power_of_two(size: int, machine_id: str, side: int) -> None:
    case = Case(Family.GEMV, Gemv(size, 1, 0, F16), machine_id, 0, 1, Quantity.CYCLES)
    assert predict_cycles(case, calibrated()).grid == side
    assert Bench(WSE_2, 1, PRIOR).largest_side(size) == side


@pytest.mark.parametrize("machine", [WSE_2, WSE_3], ids=lambda item: item.id)
def test_collectives_are_sums_over_both_directions(machine: Any) -> None:
    at = machine.id
    line, column = (collectives.chain(64, pes, machine) for pes in (30, 20))
    assert cycles(Collective("reduce", "chain", 30, 1, 64), at) == line
    assert cycles(Collective("reduce", "chain", 1, 20, 64), at) == column
    assert cycles(Collective("reduce", "chain", 30, 20, 64), at) == line + column
    assert cycles(Collective("reduce", "snake", 30, 20, 64), at) == collectives.chain(64, 600, machine)
    spread = collectives.broadcast_2d(64, 30, 20, machine)
    assert cycles(Collective("broadcast", "", 30, 20, 64), at) == spread
    assert cycles(Collective("broadcast", "", 30, 1, 64), at) == collectives.broadcast(64, 30, machine)
    assert cycles(Collective("allreduce", "chain", 30, 20, 64), at) == line + column + spread
    ring = collectives.ring(64, 30, machine)
    assert cycles(Collective("allreduce", "ring", 30, 1, 64), at) == ring
    assert cycles(Collective("reduce", "", 30, 1, 64), at) <= line
    assert cycles(Collective("all_to_all", "", 512, 1, 1024), at) == 131_072


@pytest.mark.parametrize("kind", ["broadcast", "reduce", "allreduce", "all_to_all"])
def test_a_collective_of_one_element_moves_next_to_nothing(kind: str) -> None:
    assert cycles(Collective(kind, "", 1, 1, 8)) <= 8


def test_transform_is_three_passes_of_butterflies_and_exchanges_there_and_back() -> None:
    arithmetic = 3 * 256 * log2(512) * 10 * calibrated().stencil_point
    assert cycles(Fft(512)) == pytest.approx(arithmetic + 2 * 2 * 131_072)


def test_stencils_do_not_depend_on_how_many_elements_share_the_work() -> None:
    assert cycles(replace(JACOBI, nx=10)) == cycles(JACOBI)
    assert cycles(replace(JACOBI, nz=400)) > 1.8 * cycles(JACOBI)
    assert cycles(replace(JACOBI, points=25)) > cycles(JACOBI)
    bicgstab = replace(JACOBI, method="BICGSTAB")
    assert cycles(replace(bicgstab, nx=100)) < cycles(bicgstab)  # its sums travel over the whole grid


@pytest.mark.parametrize(("phase", "work"), [("decode", "decode"), ("prefill", "prefill")])
def test_a_phase_is_the_compiled_program(phase: str, work: str) -> None:
    item: Any = WORKLOADS[work]
    model = _Model(item.config, phase, 1, 4096, item.grid)
    made = compiled(model, "wse-2", 1)
    setting = Bench(WSE_2, 1, calibrated()).setting(F16)
    assert cycles(item) == program_terms(made, setting).cycles
    products = {call.kernel for call in made.calls if call.kernel in PRODUCTS}
    assert products <= set(DECODE_KERNELS if phase == "decode" else PREFILL_KERNELS)
    assert made.dtype is F16


def test_an_answer_is_its_prompt_and_every_token() -> None:
    first = cycles(Prefill(SMALL, 2048, 1, 660))
    token = cycles(Decode(SMALL, 2048 + 64, 1, 360))
    assert cycles(WORKLOADS["end to end"]) == pytest.approx(first + 128 * token)


def test_a_step_is_three_passes_and_systems_share_its_batch() -> None:
    forward = cycles(Training(SMALL, 4, 2048, forward_only=True))
    assert cycles(WORKLOADS["training"]) == pytest.approx((1 + BACKWARD) * forward)
    shared = cycles(Training(SMALL, 8, 2048, forward_only=True), systems=2)
    assert shared == pytest.approx(forward)
    rounded_up = cycles(Training(SMALL, 7, 2048, forward_only=True), systems=2)
    assert rounded_up == pytest.approx(forward)


def test_training_streams_its_weights() -> None:
    made = compiled(_Model(SMALL, "prefill", 4, 2048, 0, Mode.WEIGHT_STREAMING), "wse-2", 1)
    assert {item.bytes_per_pe for item in made.residents} == {0}
    assert Kernel.STATIONARY not in {call.kernel for call in made.calls}


def test_layers_that_do_not_fit_are_placed_all_the_same() -> None:
    assert cycles(Decode(find("LLaMA3-70B"), 4096, 1, 420)) > cycles(Decode(LLAMA, 4096, 1, 420))
