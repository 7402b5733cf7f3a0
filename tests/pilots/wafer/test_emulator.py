from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pilots.graph.mlp import input_samples, mlp_from_text
from pilots.wafer import emulator, functional
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.equivalence import compare
from pilots.wafer.errors import CheckpointError, RequestError
from pilots.wafer.facts import ev04, ev06, ev16
from pilots.wafer.machine import WSE_2, WSE_3
from pilots.wafer.plausibility import check
from pilots.wafer.predict import predict
from pilots.wafer.program import PRODUCTS, Kernel
from qms.core import canonical
from tests.pilots.wafer import update_golden

DEMO = update_golden.TEXT


def run(text: str = DEMO, *, batch: int = 32, machine: Any = WSE_2, model: Any = None, **options: Any) -> Any:
    graph, weights = mlp_from_text(text, **(model or {}))
    return emulator.run(graph, weights, inputs_seed=7, batch=batch, machine=machine, **options)


def output(result: Any) -> Any:
    """Return the only output of seeded samples."""
    (found,) = result.outputs.values()
    return found


def twin(text: str, batch: int, model: dict[str, Any]) -> Any:
    """Plain NumPy in double precision, sharing nothing with the emulator but weights and inputs."""
    graph, weights = mlp_from_text(text, **model)
    x = input_samples(graph, inputs_seed=7, batch=batch).astype(np.float64)
    last = len(weights) // 2 - 1
    functions = {
        "relu": lambda v: np.maximum(v, 0),
        "tanh": np.tanh,
        "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
        "gelu": lambda v: 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3))),
    }
    for index in range(last + 1):
        x = x @ weights[f"w{index}"].astype(np.float64) + weights[f"b{index}"].astype(np.float64)
        x = functions[model.get("activation", "relu")](x) if index < last else x
    if model.get("output_activation") == "softmax":
        x = np.exp(x - x.max(axis=1, keepdims=True))
        x /= x.sum(axis=1, keepdims=True)
    return x


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid", "gelu"])
@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-5), ("float16", 1e-2)])
def test_outputs_agree_with_the_plain_twin(activation: str, dtype: str, rtol: float) -> None:
    model = {"activation": activation, "dtype": dtype, "output_activation": "softmax"}
    result = run("24-33-17-5", batch=9, model=model)
    row = compare("y", output(result), twin("24-33-17-5", 9, model).astype(dtype), rtol=rtol)
    assert row.within, row


def products(result: emulator.EmulationResult) -> set[Kernel]:
    return {call.kernel for call in result.program.calls if call.op == "matmul"}


RESIDENT = [kernel for kernel in PRODUCTS if kernel is not Kernel.STREAMED]


@pytest.mark.parametrize("kernels", [*((kernel,) for kernel in RESIDENT), tuple(Kernel)], ids="-".join)
def test_every_kernel_computes_the_twin(kernels: tuple[Kernel, ...]) -> None:
    result = run("40-50-6", batch=8, kernels=kernels)
    assert products(result) <= set(kernels)
    assert compare("y", output(result), twin("40-50-6", 8, {}).astype("float32"), rtol=1e-5).within


def test_single_sample_runs_as_matrix_vector_product() -> None:
    result = run(batch=1)
    assert products(result) == {Kernel.GEMV}
    assert compare("y", output(result), twin(DEMO, 1, {}).astype("float32"), rtol=1e-5).within


def test_demo_run_matches_the_golden_file() -> None:
    """After a wanted change: `python -m tests.pilots.wafer.update_golden`."""
    assert update_golden.demo() == json.loads(update_golden.GOLDEN.read_text(encoding="utf-8"))


SCRIPT = """
from pilots.graph.mlp import input_samples, mlp_from_text
from pilots.wafer import emulator
from pilots.wafer.machine import WSE_2
import sys
graph, weights = mlp_from_text("64-256-256-8", activation="gelu", output_activation="softmax")
result = emulator.run(graph, weights, inputs_seed=7, batch=32, machine=WSE_2)
loaded = sorted(name for name in sys.modules if name.split(".")[0] in {"django", "celery"})
print(result.result_digest, result.manifest_sha256, loaded)
"""


@pytest.mark.parametrize(("hash_seed", "threads"), [("0", "1"), ("4242", "2"), ("random", "3")])
def test_digest_is_the_same_in_another_process_and_needs_no_django(hash_seed: str, threads: str) -> None:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    env = dict(os.environ) | {"PYTHONHASHSEED": hash_seed} | dict.fromkeys(names, threads)
    root = Path(emulator.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, cwd=root, capture_output=True, text=True, check=True
    )
    here = run(model={"activation": "gelu", "output_activation": "softmax"})
    assert done.stdout.split(" ", 2) == [here.result_digest, here.manifest_sha256, "[]\n"]


class Stop(Exception):
    """Stands for a killed worker."""


def interrupted(at: int) -> dict[str, Any]:
    """Return the checkpoint a run leaves when it is stopped before its step number `at`, through JSON and back."""
    states: list[dict[str, Any]] = []

    def cancel() -> None:
        if len(states) == at:
            raise Stop

    with pytest.raises(Stop):
        run("8-8-4", batch=300, check_cancelled=cancel, on_checkpoint=states.append)
    return json.loads(json.dumps(states[-1]))  # type: ignore[no-any-return]


def test_run_resumed_at_every_checkpoint_gives_the_same_digest() -> None:
    whole = run("8-8-4", batch=300)
    steps = -(-300 // functional.step_samples(whole.program))
    assert steps == 5
    for at in range(1, steps):
        seen: list[int] = []
        resumed = run(
            "8-8-4",
            batch=300,
            checkpoint=interrupted(at),
            on_progress=lambda done, total, seen=seen: seen.append(done),
        )
        assert resumed.manifest == whole.manifest
        assert np.array_equal(output(resumed), output(whole))
        assert len(seen) == steps - at


def test_result_does_not_depend_on_the_step_size(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run("8-8-4", batch=70)
    monkeypatch.setattr(functional.samples, "STEP_SAMPLES", 3)
    assert run("8-8-4", batch=70).result_digest == whole.result_digest


@pytest.mark.parametrize(
    "change",
    [
        {"outputs": "@@@"},
        {"outputs": ""},
        {"samples_done": 301},
        {"samples_done": -1},
        {"samples_done": True},
        {"samples_done": "64"},
        {"run_key": "0" * 64},
        {"sha256": "0" * 64},
        {"outputs": None},
    ],
)
def test_checkpoint_is_refused_when_changed(change: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError):
        run("8-8-4", batch=300, checkpoint=interrupted(2) | change)


def test_checkpoint_of_another_run_is_refused() -> None:
    with pytest.raises(CheckpointError):
        run("8-8-4", batch=299, checkpoint=interrupted(1))
    with pytest.raises(CheckpointError):
        run("8-8-4", batch=300, checkpoint={"format": "other"})


def test_run_refuses_outputs_beyond_the_limit() -> None:
    with pytest.raises(RequestError):
        run("1-8192", batch=4096)


def test_counts_are_exact() -> None:
    graph, weights = mlp_from_text(DEMO)
    program = run().program
    computed = functional.run(program, weights, input_samples(graph, inputs_seed=7, batch=5))
    assert computed.multiply_adds == 5 * (64 * 256 + 256 * 256 + 256 * 8)
    assert (computed.samples, computed.non_finite_samples) == (5, 0)


def test_metrics_carry_axes_interval_and_state() -> None:
    result = run()
    by_key = {item.key: item for item in result.metrics}
    assert set(by_key) == {
        "throughput_samples_s",
        "e2e_latency_ms",
        "peak_memory_bytes",
        "error_rate",
        "energy_joules_per_sample",
    }
    for item in result.metrics:
        assert item.axes.to_json() == {
            "provenance": "EMULIERT",
            "assurance": "EINGEREICHT",
            "origin": "EIGEN",
        }
        assert item.calibration is not None
        assert item.interval is not None
        assert item.interval.lower <= item.value <= item.interval.upper
    assert [item.percentile for item in result.metrics if item.key == "e2e_latency_ms"] == [
        "p50",
        "p95",
        "p99",
    ]
    assert by_key["peak_memory_bytes"].value == result.prediction.resident_bytes


def test_half_precision_overflow_counts_as_error_and_not_as_a_crash() -> None:
    graph, weights = mlp_from_text("4-4", dtype="float16")
    program = compile_graph(graph, WSE_2, Request(batch=2))
    huge = {name: np.full_like(array, 60000) for name, array in weights.items()}
    inputs = np.full((2, 4), 60000, dtype=np.float16)
    assert functional.run(program, huge, inputs).non_finite_samples == 2


def test_plausibility_holds_for_a_run_and_fails_for_an_impossible_one() -> None:
    result = run()
    assert result.validity == "GUELTIG"
    prediction = predict(result.program, WSE_2, batch=32)
    fast = replace(prediction, device_seconds=replace(prediction.device_seconds, value=1e-12))
    failed = {item.name for item in check(result.program, WSE_2, fast) if not item.holds}
    assert failed == {"effective FLOP/s", "effective SRAM bandwidth"}
    large = replace(prediction, resident_bytes=WSE_2.sram_bytes + 1)
    assert [item.name for item in check(result.program, WSE_2, large) if not item.holds] == ["resident bytes"]


def test_facts_have_the_agreed_keys_and_are_canonical() -> None:
    result = run()
    row = compare("y", output(result), output(result), rtol=1e-5)
    facts = ev04(
        result,
        WSE_2,
        run_id="r",
        platform={"kind": "WAFER_SCALE"},
        fingerprint="f",
        criteria_sha256="c",
        started_at="2026-01-01T00:00:00Z",
        replay={"digest": result.result_digest, "equal": True},
    )
    agreed = (
        "type run_id role source platform fingerprint model_digest metrics mode peak_sram_bytes sram_capacity_bytes "
        "off_wafer_bytes unsupported_ops op_coverage result_digest criteria_sha256 started_at machine_sha256 "
        "program_digest emulator_version calibration_note replay"
    )
    assert set(agreed.split()) <= set(facts)
    assert facts["unsupported_ops"] == []
    kernels = {item["op"]: item["kernel"] for item in facts["op_coverage"]}
    assert kernels["matmul"] in set(PRODUCTS)
    assert kernels | {"matmul": ""} == {"matmul": "", "add": "ELEMENTWISE", "relu": "ELEMENTWISE"}
    for data in (
        facts,
        ev06([row], run_id="r", reference="NumPy"),
        ev16(result, run_id="r", fingerprint="f", criteria_sha256="c"),
    ):
        assert canonical.loads(canonical.dumps(data)) == data
    assert ev06([row], run_id="r", reference="NumPy")["outputs"][0]["within"] is True


def test_other_generation_is_wider_than_the_calibrated_one() -> None:
    ours, other = run().prediction, run(machine=WSE_3).prediction
    assert (
        other.device_seconds.upper / other.device_seconds.value
        > ours.device_seconds.upper / ours.device_seconds.value
    )
