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
from pilots.graph.errors import GraphError
from pilots.graph.evaluate import evaluate
from pilots.graph.ir import DType, rounded
from pilots.graph.mlp import input_samples, mlp_from_text
from qms.core import canonical
from tests.pilots.graph.captures import CAPTURES
from tests.pilots.graph.samples import SAMPLES, numbers, single


def clock(*steps: int) -> Callable[[], int]:
    """A clock whose timed sections take the given nanoseconds, again and again."""
    ticks = itertools.chain.from_iterable((0, step) for step in itertools.cycle(steps))
    return lambda: next(ticks)


def run(text: str = "4-6-2", **options: Any) -> Any:
    graph, weights = mlp_from_text(text)
    batch = options.get("batch", 8)
    inputs = {"x": input_samples(graph, inputs_seed=7, batch=batch)}
    defaults: dict[str, Any] = {"inputs": inputs, "batch": batch, "clock_ns": clock(1_000_000)}
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
    result = run(clock_ns=clock(*range(1_000_000, 2_000_000 + 1_000 * command.WARM_UP, 1_000)))
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
    x = input_samples(graph, inputs_seed=7, batch=8)
    expected = np.maximum(x @ weights["w0"] + weights["b0"], 0) @ weights["w1"] + weights["b1"]
    (outputs,) = result.outputs.values()
    assert np.allclose(outputs, expected, rtol=1e-6)
    assert outputs.dtype == np.float32


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
        assert (min(seen), max(seen)) == (done * 200, 1000)
        assert seen == sorted(seen)


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


class Cancelled(Exception):
    pass


@pytest.mark.parametrize("times", [1, command.WARM_UP - 1, command.WARM_UP])
def test_cancel_is_asked_while_warming_up_and_before_every_twenty_requests(times: int) -> None:
    states: list[dict[str, Any]] = []
    left = itertools.count(times, -1)

    def cancel() -> None:
        if next(left) == 1:
            raise Cancelled

    with pytest.raises(Cancelled):
        run(check_cancelled=cancel, on_checkpoint=states.append)
    assert states == []


@pytest.mark.parametrize(("nanoseconds", "refused"), [(14_400_000_000, False), (14_400_000_001, True)])
def test_a_measurement_of_more_than_four_hours_is_refused_before_it_begins(
    nanoseconds: int, refused: bool
) -> None:
    states: list[dict[str, Any]] = []
    if refused:
        with pytest.raises(MeasureError) as caught:
            run(clock_ns=clock(nanoseconds), on_checkpoint=states.append)
        assert "1000 Anfragen würden etwa 4 Stunden dauern" in caught.value.message_de
        assert states == []
    else:
        assert run(clock_ns=clock(nanoseconds)).iterations == 200


def test_warming_up_ends_after_a_minute() -> None:
    asked = itertools.count()
    steps = clock(20_000_000_000)
    with pytest.raises(MeasureError):
        run(clock_ns=lambda: (next(asked), steps())[1])
    assert next(asked) == 2 * 5


@pytest.mark.parametrize("change", [{"batch": 0}, {"repetitions": 0}, {"iterations": 100_001}])
def test_counts_outside_the_limits_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(MeasureError):
        run(**change)


def test_not_finite_outputs_count_as_failed_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"y": np.ones((8, 2)), "z": np.full((8, 2), np.nan)}
    monkeypatch.setattr(numpy_run, "forward", lambda prepared, inputs: found)
    result = run(repetitions=1, iterations=10)
    assert result.failed_requests == 10
    assert metrics(result)["error_rate", None].value == 1


@pytest.mark.parametrize("op", sorted(SAMPLES))
def test_every_op_runs_in_plain_numpy_as_the_reference_says(op: str) -> None:
    inputs, attrs = SAMPLES[op]
    graph = single(op, inputs, attrs)
    values = numbers(graph, 1)
    weights = {item.name: values[item.name] for item in graph.constants}
    given = {name: values[name] for name, _tensor in graph.inputs}
    found = numpy_run.forward(numpy_run.prepare(graph, weights), given)
    types = graph.tensors()
    for name, expected in evaluate(graph, values).items():
        assert found[name].dtype == types[name].dtype.little_endian
        assert found[name] == pytest.approx(rounded(expected, types[name].dtype), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", CAPTURES)
def test_captures_run_in_plain_numpy_as_their_framework_did(name: str) -> None:
    made = CAPTURES[name]()
    assert made.example is not None
    found = numpy_run.forward(numpy_run.prepare(made.graph, made.weights), made.example.inputs)
    for output, expected in made.example.outputs.items():
        assert found[output] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_an_index_outside_its_table_is_refused() -> None:
    made = CAPTURES["decoder"]()
    ids = np.full(8, 11, dtype=np.int32)
    with pytest.raises(GraphError, match="INDEX"):
        numpy_run.forward(numpy_run.prepare(made.graph, made.weights), {"ids": ids})


@pytest.mark.parametrize(("dtype", "step"), [("float16", 2.0**-10), ("bfloat16", 2.0**-7)])
def test_sixteen_bits_are_rounded_after_every_operation_but_products(dtype: str, step: float) -> None:
    kind = DType(dtype)
    builder = GraphBuilder()
    x = builder.input("x", (None, 1), kind)
    one = builder.constant("one", rounded(np.ones((1, 1)), kind), kind)
    small = builder.constant("small", rounded(np.full((1,), step / 4), kind), kind)
    product = builder.op("matmul", builder.op("add", builder.op("add", x, small), small), one)
    twice = builder.op("add", builder.op("matmul", builder.op("sub", x, x), one), small)
    graph, weights = builder.build(product, twice)
    found = numpy_run.forward(numpy_run.prepare(graph, weights), {"x": rounded(np.ones((2, 1)), kind)})
    assert found[product].tolist() == [[1.0], [1.0]]  # each quarter of a step is rounded away
    assert found[twice].tolist() == [[step / 4], [step / 4]]
    assert {array.dtype for array in found.values()} == {kind.little_endian}


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
