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

from pilots.graph.evaluate import evaluate
from pilots.graph.ir import DType, rounded
from pilots.graph.twins import TWINS
from pilots.wafer import functional
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.errors import CheckpointError, RequestError, UnsupportedOps
from pilots.wafer.functional import samples
from pilots.wafer.lowering import PRODUCT_OPS
from pilots.wafer.machine import WSE_2
from pilots.wafer.program import PRODUCTS, Kernel, Program
from qms.core import canonical
from tests.pilots.graph.samples import SAMPLES, single
from tests.pilots.graph.samples import numbers as graph_numbers
from tests.pilots.wafer.hand_built import call, numbers, perceptron, program

WIDTHS = (7, 11, 5)


def run(batch: int = 150, **options: Any) -> functional.FunctionalResult:
    made, weights = perceptron(*WIDTHS)
    return functional.run(made, weights, numbers("x", batch, WIDTHS[0]), **options)


def sha256(array: Any) -> str:
    return canonical.sha256_hex(array.tobytes())


@pytest.mark.parametrize(
    ("dtype", "bound"), [(DType.FLOAT32, 1e-5), (DType.FLOAT16, 1e-2), (DType.BFLOAT16, 1e-2)]
)
@pytest.mark.parametrize("batch", [1, 5, 67])
def test_outputs_agree_with_the_plain_twin(dtype: DType, bound: float, batch: int) -> None:
    made, weights = perceptron(*WIDTHS, dtype=dtype)
    x = rounded(numbers("x", batch, WIDTHS[0]), dtype)
    weights = {name: rounded(array, dtype) for name, array in weights.items()}
    result = functional.run(made, weights, x)
    twin = x.astype(np.float64)
    for name in sorted(weights):
        twin = TWINS["gelu"]([twin @ weights[name].astype(np.float64)], None)  # type: ignore[arg-type]
    assert np.max(np.abs(result.outputs - twin)) < bound * np.max(np.abs(twin))
    assert result.outputs.dtype == dtype.little_endian
    assert np.array_equal(result.outputs, rounded(result.outputs, dtype))
    assert (result.samples, result.non_finite_samples) == (batch, 0)


def test_values_are_rounded_after_every_call() -> None:
    made = program(
        call(Kernel.ELEMENTWISE, "add", ("x", "one"), "a"),
        call(Kernel.ELEMENTWISE, "sub", ("a", "one"), "y"),
        dtype=DType.BFLOAT16,
    )
    x = np.full((1, 1), 2.0**-9, dtype=np.float32)
    assert functional.run(made, {"one": np.ones(1, dtype=np.float32)}, x).outputs.tolist() == [[0.0]]
    wide = replace(made, dtype=DType.FLOAT32)
    assert functional.run(wide, {"one": np.ones(1, dtype=np.float32)}, x).outputs.tolist() == [[2.0**-9]]


def test_counts_are_exact_and_per_call() -> None:
    made, weights = perceptron(*WIDTHS)
    counter = functional.MultiplyAdds()
    functional.execute(functional.load(made, weights), {"x": numbers("x", 5, 7)}, listener=counter)
    assert counter.by_call == {0: 5 * 7 * 11, 1: 0, 2: 5 * 11 * 5, 3: 0}
    assert run(150).multiply_adds == counter.total * 30


@pytest.mark.parametrize("op", sorted(SAMPLES))
def test_every_operation_runs_as_the_compiler_places_it(op: str) -> None:
    graph = single(op, *SAMPLES[op])
    given = graph_numbers(graph)
    (twin,) = evaluate(graph, given).values()
    kernels = (
        [(kernel,) for kernel in PRODUCTS if kernel is not Kernel.STREAMED]
        if op in PRODUCT_OPS
        else [PRODUCTS]
    )
    for allowed in kernels:
        for grid in (1, 3, 8):
            made = compile_graph(graph, WSE_2, Request(batch=1, grid=grid, kernels=allowed))
            outputs = functional.run(made, {}, given).outputs.astype(np.float64)
            bound = 1e-5 if op != "cast" else 1e-2
            assert np.max(np.abs(outputs - twin)) <= bound * np.max(np.abs(twin))


class Stop(Exception):
    """Stands for a killed worker."""


def interrupted(at: int) -> dict[str, Any]:
    """Return the state a run leaves when it is stopped before its step number `at`, through JSON and back."""
    saved: list[dict[str, Any]] = []

    def cancel() -> None:
        if len(saved) == at:
            raise Stop

    with pytest.raises(Stop):
        run(check_cancelled=cancel, on_checkpoint=saved.append)
    return canonical.loads(canonical.dumps(saved[-1]))  # type: ignore[no-any-return]


def test_run_resumed_at_every_state_gives_the_same_bits_and_counts() -> None:
    whole = run()
    assert -(-150 // functional.step_samples(perceptron(*WIDTHS)[0])) == 3
    for at in (1, 2):
        seen: list[tuple[int, int]] = []
        resumed = run(checkpoint=interrupted(at), on_progress=lambda *pair, seen=seen: seen.append(pair))
        assert sha256(resumed.outputs) == sha256(whole.outputs)
        assert resumed.multiply_adds == whole.multiply_adds
        assert seen == [(64, 150), (128, 150), (150, 150)][at:]


def test_finished_state_resumes_without_a_step() -> None:
    saved: list[dict[str, Any]] = []
    whole = run(on_checkpoint=saved.append)
    again = run(checkpoint=saved[-1], on_progress=lambda *_: pytest.fail("there is nothing left to do"))
    assert sha256(again.outputs) == sha256(whole.outputs)
    assert again.multiply_adds == whole.multiply_adds


@pytest.mark.parametrize(("size", "steps"), [(1, 38), (3, 38), (9, 19), (64, 3), (1000, 1)])
def test_result_does_not_depend_on_the_step(size: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step takes whole micro-batches of four: the order of a rotated product depends on the place of a sample."""
    whole = run()
    seen: list[int] = []
    monkeypatch.setattr(samples, "STEP_SAMPLES", size)
    again = run(on_progress=lambda done, _total: seen.append(done))
    assert len(seen) == steps
    assert (sha256(again.outputs), again.multiply_adds) == (sha256(whole.outputs), whole.multiply_adds)


CHANGES: list[dict[str, Any]] = [
    {"outputs": None},
    {"outputs": "@@@"},
    {"outputs": {"type": "<f4", "shape": [128, 5], "data": "@@@"}},
    {"outputs": {"type": "<f8", "shape": [0], "data": ""}},
    {"outputs": {"type": "<f4", "shape": [-1, 5], "data": ""}},
    {"outputs": {"type": "<f4", "shape": [128], "data": ""}},
    {"outputs": {"type": "<f4", "shape": [1] * 9, "data": "AAAAAA=="}},
    {"outputs": {"type": "<f4", "shape": [], "data": "AAAAAA=="}},
    {"outputs": {"type": ["<f4"], "shape": 7, "data": 1}},
    {"samples_done": 151},
    {"samples_done": -1},
    {"samples_done": 0, "outputs": {"type": "<f4", "shape": [0, 5], "data": ""}},
    {"samples_done": 1, "outputs": {"type": "<f4", "shape": [1, 1], "data": "AAAAAA=="}},
    {"samples_done": 1, "outputs": {"type": "<i4", "shape": [1, 1], "data": "AAAAAA=="}},
    {"samples_done": True},
    {"samples_done": "64"},
    {"samples_done": 64},
    {"multiply_adds": None},
    {"multiply_adds": -1},
    {"run_key": "0" * 64},
    {"format": "other"},
]


@pytest.mark.parametrize("resealed", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_state_is_refused_when_changed(change: dict[str, Any], resealed: bool) -> None:
    state = interrupted(2) | change
    if resealed:
        content = {name: value for name, value in state.items() if name != "sha256"}
        state = content | {"sha256": canonical.digest(content)}
    with pytest.raises(CheckpointError) as caught:
        run(checkpoint=state)
    assert caught.value.message_de.endswith(".")


@pytest.mark.parametrize("state", [{}, {"sha256": "0" * 64}, {"samples_done": 1.5}, {"a": {1: 2}}])
def test_what_is_no_state_is_refused(state: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError):
        run(checkpoint=state)


def test_a_state_nested_too_deeply_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    with pytest.raises(CheckpointError):
        run(checkpoint=interrupted(1) | {"more": deep})


def test_state_of_another_run_is_refused() -> None:
    with pytest.raises(CheckpointError):
        run(149, checkpoint=interrupted(1))


def test_outputs_beyond_the_limit_are_refused() -> None:
    made, weights = perceptron(1, 8192)
    limit = samples.MAX_OUTPUT_BYTES // (8192 * 4)
    assert functional.run(made, weights, numbers("x", limit, 1)).samples == limit
    with pytest.raises(RequestError, match="exceed"):
        functional.run(made, weights, numbers("x", limit + 1, 1))


def test_requests_that_cannot_be_run_are_refused_in_one_sentence() -> None:
    made, weights = perceptron(*WIDTHS)
    x = numbers("x", 2, 7)
    two = replace(made, inputs=("x", "z"))
    cases: list[tuple[Program, dict[str, Any], Any]] = [
        (made, {}, x),
        (made, weights, {"other": x}),
        (made, weights, x[:0]),
        (made, weights, numbers("x", 2, 8)),
        (two, weights, x),
        (replace(made, inputs=()), weights, {}),
    ]
    for wrong, given, inputs in cases:
        with pytest.raises(RequestError) as caught:
            functional.run(wrong, given, inputs)
        assert caught.value.message_de.endswith(".")
    with pytest.raises(UnsupportedOps):
        functional.run(program(call(Kernel.MOVE, "matmul")), {}, x)


def test_overflow_counts_as_a_failed_sample_and_not_as_a_crash() -> None:
    made, weights = perceptron(4, 4, dtype=DType.FLOAT16)
    x = np.ones((3, 4), dtype=np.float16)
    x[1] = 60000
    huge = {name: np.full_like(array, 200) for name, array in weights.items()}
    result = functional.run(made, huge, x)
    assert (result.samples, result.non_finite_samples) == (3, 1)
    assert result.outputs.dtype == np.float16


def test_every_nan_is_stored_with_the_same_bits() -> None:
    bits = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF], dtype=np.uint32)
    for dtype in (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16):
        stored = functional.stored(bits.view(np.float32), dtype)
        assert len({item.tobytes() for item in stored}) == 1
        assert np.isnan(stored).all()


def test_inputs_by_name_run_in_one_piece() -> None:
    made = program(
        call(Kernel.ELEMENTWISE, "add", ("x", "z"), "s"),
        call(Kernel.REDUCE, "argmax", ("s",), "best"),
        inputs=("x", "z"),
        outputs=("s", "best", "x"),
        dtype=DType.FLOAT16,
    )
    x, z = numbers("x", 3, 4), numbers("z", 3, 4)
    seen: list[tuple[int, int]] = []
    result = functional.run(made, {}, {"x": x, "z": z}, on_progress=lambda *pair: seen.append(pair))
    assert seen == [(1, 2), (2, 2)]  # calls
    assert set(result.values) == {"s", "best", "x"}
    assert (result.values["s"].dtype, result.values["best"].dtype) == (np.float16, np.int32)
    assert np.array_equal(result.values["best"][:, 0], result.outputs.argmax(axis=1))
    with pytest.raises(CheckpointError):
        functional.run(made, {}, {"x": x, "z": z}, checkpoint={})
    with pytest.raises(Stop):
        functional.run(made, {}, {"x": x, "z": z}, check_cancelled=lambda: (_ for _ in ()).throw(Stop))


def test_values_are_dropped_after_their_last_use_but_kept_on_request() -> None:
    made, weights = perceptron(*WIDTHS)
    loaded, inputs = functional.load(made, weights), {"x": numbers("x", 2, 7)}
    assert list(functional.execute(loaded, inputs)) == ["v1"]
    for keep in (["p0", "x"], ["x", "p0"], ["x", "v1", "p0", "x"]):
        ordered = ["v1", *(name for name in dict.fromkeys(keep) if name != "v1")]
        assert list(functional.execute(loaded, inputs, keep=keep)) == ordered


ROOT = Path(samples.__file__).parents[3]
SCRIPT = """
import sys
from pilots.wafer import functional
from qms.core import canonical
from tests.pilots.graph.samples import SAMPLES, single
from tests.pilots.graph.samples import numbers as graph_numbers
from tests.pilots.wafer.hand_built import numbers, perceptron
made, weights = perceptron(7, 11, 5)
outputs = functional.run(made, weights, numbers("x", 150, 7)).outputs
heavy = {"django", "celery", "guardian"} & {name.split(".")[0] for name in sys.modules}
print(canonical.sha256_hex(outputs.tobytes()), sorted(heavy))
"""


@pytest.mark.parametrize(
    ("hash_seed", "threads", "without"),
    [("0", "1", ""), ("4242", "2", "X86_V4 AVX512_ICL"), ("random", "3", "X86_V3 X86_V4 AVX512_ICL")],
)
def test_digest_is_the_same_in_another_process_and_on_an_older_processor(
    hash_seed: str, threads: str, without: str
) -> None:
    env = dict(os.environ) | {"PYTHONHASHSEED": hash_seed, "NPY_DISABLE_CPU_FEATURES": without}
    env |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == f"{sha256(run().outputs)} []\n"


def test_a_hundred_repetitions_give_one_digest() -> None:
    assert len({sha256(run(3).outputs) for _ in range(100)}) == 1


def perceptron_digests() -> dict[str, str]:
    found = {}
    for dtype in (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16):
        for activation in ("gelu", "silu", "tanh", "sigmoid", "sin"):
            made, weights = perceptron(13, 37, 29, 11, dtype=dtype, activation=activation)
            result = functional.run(made, weights, numbers("x", 6, 13))
            found[f"{activation} {dtype}"] = sha256(result.outputs)
    return found


def test_digest_is_the_recorded_one() -> None:
    """Bits never change by accident: another order, polynomial or rounding shows here."""
    recorded = json.loads((Path(__file__).parent / "golden_functional.json").read_text(encoding="utf-8"))
    assert perceptron_digests() == recorded["perceptrons"]
