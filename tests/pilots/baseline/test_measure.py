from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pilots.baseline import measure as command
from pilots.baseline import numpy_run, stats
from pilots.baseline.environment import environment, environment_digest, one_blas_thread
from pilots.baseline.facts import ev02
from pilots.baseline.measure import MeasureError, measure
from pilots.graph.builder import GraphBuilder
from pilots.graph.ir import DType
from pilots.graph.mlp import mlp_from_text
from qms.core import canonical


def clock(*steps: int) -> Callable[[], int]:
    """A clock whose timed sections take the given nanoseconds, again and again."""
    ticks = itertools.chain.from_iterable((0, step) for step in itertools.cycle(steps))
    return lambda: next(ticks)


def run(text: str = "4-6-2", **options: Any) -> Any:
    graph, weights = mlp_from_text(text)
    defaults: dict[str, Any] = {"inputs_seed": 7, "batch": 8, "clock_ns": clock(1_000_000)}
    return measure(graph, weights, **(defaults | options))


def metrics(result: Any) -> dict[tuple[str, str | None], Any]:
    return {(item.key, item.percentile): item for item in result.metrics}


def test_counts_percentiles_and_rates_are_exact_under_a_given_clock() -> None:
    result = run(clock_ns=clock(*range(1_000_000, 201_000_000, 1_000_000)))
    found = metrics(result)
    assert (result.repetitions, result.iterations, result.failed_requests) == (5, 200, 0)
    assert [len(row) for row in result.durations_ns] == [200] * 5
    values = [str(found["e2e_latency_ms", name].value) for name in ("p50", "p95", "p99")]
    assert [float(value) for value in values] == [100, 190, 198]
    assert float(found["throughput_samples_s", None].value) == pytest.approx(8 / 0.1005, rel=1e-5)
    assert found["error_rate", None].value == 0
    assert found["e2e_latency_ms", "p99"].n == 1000
    assert all(item.axes.provenance.value == "GEMESSEN" for item in result.metrics)


def test_equal_requests_have_no_spread() -> None:
    assert run().throughput_cv == 0


def test_drift_of_the_machine_does_not_read_as_spread_of_the_repetitions() -> None:
    """Requests that get slower and slower: one after the other the last repetition would be nearly twice as slow."""
    result = run(clock_ns=clock(*range(1_000_000, 2_000_000, 1_000)))
    assert len({len(row) for row in result.durations_ns}) == 1
    assert result.throughput_cv < 0.02


@pytest.mark.parametrize(("repetitions", "reliable"), [(5, True), (4, False)])
def test_p99_needs_a_thousand_requests(repetitions: int, reliable: bool) -> None:
    assert metrics(run(repetitions=repetitions))["e2e_latency_ms", "p99"].reliable is reliable


@pytest.mark.parametrize(("name", "enough"), [("p50", 20), ("p95", 200), ("p99", 1000)])
def test_sample_size_rule_at_its_boundary(name: str, enough: int) -> None:
    assert stats.is_reliable(enough, stats.PERCENTILES[name])
    assert not stats.is_reliable(enough - 1, stats.PERCENTILES[name])


def test_percentile_is_the_nearest_rank() -> None:
    assert stats.percentile([3, 1, 2, 4], Fraction(1, 2)) == 2
    assert stats.percentile([5], Fraction(99, 100)) == 5
    with pytest.raises(ValueError, match="at least one"):
        stats.percentile([], Fraction(1, 2))


def test_variation_is_the_sample_deviation_over_the_mean() -> None:
    assert stats.variation([1.0, 3.0]) == pytest.approx(2**0.5 / 2)
    assert stats.variation([1.0]) == 0


def test_outputs_are_those_of_plain_numpy() -> None:
    graph, weights = mlp_from_text("4-6-2")
    result = run()
    x = command.input_samples(graph, inputs_seed=7, batch=8)
    expected = np.maximum(x @ weights["w0"] + weights["b0"], 0) @ weights["w1"] + weights["b1"]
    assert np.allclose(result.outputs, expected, rtol=1e-6)
    assert result.outputs.dtype == np.float32


def test_measurement_resumed_after_every_section_is_the_same() -> None:
    states: list[dict[str, Any]] = []
    whole = run(on_checkpoint=states.append)
    assert len(states) == 5
    for done, state in enumerate(states, start=1):
        seen: list[int] = []
        resumed = run(
            checkpoint=json.loads(json.dumps(state)),
            on_progress=lambda count, total, seen=seen: seen.append(count),
        )
        assert resumed.raw_sha256 == whole.raw_sha256
        assert seen == list(range(done + 1, 6))


@pytest.mark.parametrize(
    "change",
    [
        {"key": "x"},
        {"durations_ns": None},
        {"durations_ns": [[1, 2]]},
        {"durations_ns": [["1"] * 200]},
        {"durations_ns": [[-1] * 200]},
        {"durations_ns": [[1] * 200] * 6},
        {"failed": "0"},
    ],
)
def test_checkpoint_is_refused_when_changed(change: dict[str, Any]) -> None:
    states: list[dict[str, Any]] = []
    run(on_checkpoint=states.append)
    with pytest.raises(MeasureError):
        run(checkpoint=states[0] | change)
    with pytest.raises(MeasureError):
        run(checkpoint=states[0], batch=9)


def test_cancel_is_asked_before_every_section() -> None:
    class Cancelled(Exception):
        pass

    asked: list[int] = []

    def cancel() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        run(check_cancelled=cancel)


@pytest.mark.parametrize("change", [{"batch": 0}, {"repetitions": 0}, {"iterations": 100_001}])
def test_counts_outside_the_limits_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(MeasureError):
        run(**change)


def test_not_finite_outputs_count_as_failed_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_run, "forward", lambda graph, weights, inputs: np.full((8, 2), np.nan))
    result = run(repetitions=1, iterations=10)
    assert result.failed_requests == 10
    assert metrics(result)["error_rate", None].value == 1


def test_every_op_runs_in_plain_numpy() -> None:
    builder = GraphBuilder()
    x = builder.input("x", (None, 3), DType.FLOAT32)
    c = builder.constant("c", np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32))
    t = builder.op("transpose", builder.op("transpose", c))
    y = builder.op("softmax", builder.op("gelu", builder.op("matmul", x, t)))
    z = builder.op("mul", builder.op("sub", y, y), builder.op("add", y, y))
    row = builder.op("add", builder.op("reduce_sum", y), builder.op("reduce_max", z))
    graph, weights = builder.build(row)
    outputs = numpy_run.forward(graph, numpy_run.prepared(weights), np.ones((4, 3), dtype=np.float32))
    assert outputs == pytest.approx(np.ones((4, 1)))


def test_half_precision_is_rounded_after_every_operation() -> None:
    graph, weights = mlp_from_text("8-8-2", dtype="float16")
    x = command.input_samples(graph, inputs_seed=1, batch=3)
    assert numpy_run.forward(graph, numpy_run.prepared(weights), x).dtype == np.float16


def test_environment_is_canonical_and_names_what_decides_the_speed() -> None:
    data = environment()
    assert len(environment_digest(data)) == 64
    assert data["numpy"] == np.__version__
    assert data["logical_cores"] >= 1


def test_one_blas_thread_says_whether_it_could() -> None:
    with one_blas_thread() as threads:
        assert threads in {0, 1}


def test_facts_have_the_agreed_keys_and_are_canonical() -> None:
    facts = ev02(
        run(),
        run_id="r",
        platform={"kind": "ENTWICKLUNGSRECHNER"},
        fingerprint="f",
        measured_at="2026-01-01T00:00:00Z",
        environment=environment(),
    )
    agreed = (
        "type run_id role source platform fingerprint model_digest repetitions iterations throughput_cv metrics "
        "measured_at environment_digest tool failed_requests raw_sha256"
    )
    assert set(facts) == set(agreed.split())
    assert canonical.loads(canonical.dumps(facts)) == facts
