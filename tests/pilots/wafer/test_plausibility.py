from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pilots.graph.ir import DType, Graph
from pilots.wafer.errors import DoesNotFit
from pilots.wafer.machine import WSE_1, WSE_2, WSE_3, Machine, lab_mesh
from pilots.wafer.plausibility import Check, check
from pilots.wafer.predict import Prediction, predict
from pilots.wafer.program import Mode, Program
from qms.core import canonical
from tests.pilots.graph.samples import SAMPLES, single
from tests.pilots.wafer.graphs import compiled, decoder, mlp

NAMES = ["effective FLOP/s", "effective SRAM bandwidth", "resident bytes", "off-wafer bytes"]
MACHINES = [WSE_1, WSE_2, WSE_3, lab_mesh(9, 4)]


def demo(batch: int = 32) -> tuple[Program, Prediction]:
    made = compiled(mlp("64-256-256-8"), batch=batch)
    return made, predict(made, WSE_2, batch=batch)


def broken(made: Program, prediction: Prediction, machine: Machine = WSE_2) -> list[str]:
    return [item.name for item in check(made, machine, prediction) if not item.holds]


@pytest.mark.parametrize(("value", "holds"), [(9, True), (10, True), (11, False)])
def test_a_check_holds_up_to_its_limit(value: int, holds: bool) -> None:
    item = Check("n", value, 10, "B")
    assert item.holds is holds
    assert item.to_json() == {"name": "n", "value": str(value), "limit": "10", "unit": "B", "holds": holds}


@pytest.mark.parametrize("batch", [1, 4096])
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16])
@pytest.mark.parametrize("text", ["1-1", "64-256-256-8", "8192-8192", "8192-1"])
def test_no_perceptron_is_faster_than_the_machine(text: str, dtype: DType, mode: Mode, batch: int) -> None:
    for machine in MACHINES:
        try:
            made = compiled(mlp(text, dtype), machine, mode=mode, batch=batch)
        except DoesNotFit:
            continue
        checks = check(made, machine, predict(made, machine, batch=batch))
        assert [item.name for item in checks] == NAMES
        assert all(item.holds for item in checks)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    "graph",
    [
        *(decoder(batch=batch, context=context) for batch, context in ((1, 1), (1, 8192), (16, 512))),
        *(decoder(phase="prefill", context=context) for context in (1, 64, 1000, 8192)),
        decoder("Mixtral-8x7B", phase="prefill", context=256),
        decoder("GPT-2", phase="prefill", context=1024, batch=8),
    ],
)
def test_no_decoder_is_faster_than_the_machine(graph: Graph, mode: Mode) -> None:
    for machine in (WSE_2, WSE_3):
        made = compiled(graph, machine, mode=mode, systems=16)
        assert broken(made, predict(made, machine, batch=1), machine) == []


@pytest.mark.parametrize("op", sorted(SAMPLES))
def test_no_single_operation_is_faster_than_a_small_mesh(op: str) -> None:
    machine = lab_mesh(2, 2)
    made = compiled(single(op, *SAMPLES[op]), machine)
    assert broken(made, predict(made, machine, batch=1), machine) == []


@pytest.mark.parametrize("points", [7, 25])
def test_a_stencil_larger_than_the_mesh_takes_its_time(points: int) -> None:
    attrs: dict[str, Any] = {"points": points, "coefficients": " ".join(["1"] * points)}
    graph = single("stencil", [((1500, 1500, 10), DType.FLOAT32)], attrs)
    made = compiled(graph, WSE_2)
    assert made.regions[0].rect.pes > 1
    assert broken(made, predict(made, WSE_2, batch=1)) == []


def test_stated_bandwidth_of_a_wafer_is_never_reached() -> None:
    for machine, stated in ((WSE_2, 20e15), (WSE_3, 21e15)):
        limit = check(*_on(machine))[1].limit
        assert machine.stated_sram_bytes_per_second == stated
        assert limit == 24 * machine.pes * machine.clock_hz.value < stated


def _on(machine: Machine) -> tuple[Program, Machine, Prediction]:
    made = compiled(mlp("64-256-8"), machine)
    return made, machine, predict(made, machine, batch=1)


def test_limits_follow_from_the_machine_and_grow_with_the_systems() -> None:
    made, prediction = demo()
    flops, bandwidth, resident, _ = check(made, WSE_2, prediction)
    assert flops.limit == 2 * WSE_2.pes * 850_000_000
    assert flops.value == int(2 * prediction.multiply_adds / prediction.device_seconds.value)
    assert bandwidth.value == int(12 * prediction.multiply_adds / prediction.device_seconds.value)
    assert resident.limit == WSE_2.pes * 49_152
    for one, two in zip(
        check(made, WSE_2, prediction)[:3],
        check(replace(made, systems=2), WSE_2, prediction)[:3],
        strict=True,
    ):
        assert two.limit == 2 * one.limit
    half = check(replace(made, dtype=DType.FLOAT16), WSE_2, prediction)
    assert half[0].limit == 4 * flops.limit


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"multiply_adds": 10**18}, NAMES[:2]),
        ({"resident_bytes": WSE_2.sram_bytes}, []),
        ({"resident_bytes": WSE_2.sram_bytes + 1}, NAMES[2:3]),
        ({"off_wafer_bytes": 10**15}, NAMES[3:]),
    ],
)
def test_a_doctored_prediction_is_caught(change: dict[str, Any], names: list[str]) -> None:
    made, prediction = demo()
    assert broken(made, replace(prediction, **change)) == names


def test_a_prediction_that_is_too_fast_is_caught() -> None:
    made, prediction = demo()
    fast = replace(prediction, device_seconds=replace(prediction.device_seconds, value=1e-12))
    assert broken(made, fast) == NAMES[:2]


def test_weights_that_come_in_too_fast_are_caught() -> None:
    made = compiled(decoder(), mode=Mode.WEIGHT_STREAMING)
    prediction = predict(made, WSE_2, batch=1)
    assert broken(made, prediction) == []
    assert broken(made, replace(prediction, off_wafer_bytes=2 * prediction.off_wafer_bytes)) == NAMES[3:]


def test_numbers_beyond_json_are_texts() -> None:
    made, prediction = demo()
    data = [item.to_json() for item in check(made, WSE_2, prediction)]
    assert canonical.loads(canonical.dumps(data)) == data
