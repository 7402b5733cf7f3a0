"""The measuring command: the graph of a run on this machine, fixed counts, no retry until it looks good.

The clock is passed in; this module never reads one. Only the forward pass is timed, one request after the other.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pilots.baseline import numpy_run, stats
from pilots.baseline.environment import one_blas_thread
from pilots.graph.ir import Array, Graph, Weights, array_sha256, model_digest
from pilots.graph.mlp import input_samples
from pilots.graph.spec import verify
from qms.core import canonical
from qms.core.values import Assurance, Axes, Metric, Origin, Provenance, Unit, rounded

REPETITIONS: Final = 5  # POL-02
ITERATIONS: Final = 200  # POL-02
WARM_UP: Final = 20
ROUND: Final = 20  # requests of one repetition before the next takes its turn
SECTIONS: Final = 5  # checkpoints of a measurement
MAX_COUNT: Final = 100_000
AXES: Final = Axes(Provenance.MEASURED, Assurance.SUBMITTED, Origin.OWN)
MEMORY_NOTE: Final = "größter Arbeitsspeicher des Prozesses einschließlich Laufzeitumgebung"
LATENCY_NOTE: Final = "reine Rechenzeit eines Stapels im Prozess, ohne Netz"
TOOL: Final = "pilots.baseline.measure 0.1.0"

Clock = Callable[[], int]


class MeasureError(ValueError):
    """Counts or a checkpoint are not usable; `message_de` is for people."""

    def __init__(self, message: str, *, message_de: str) -> None:
        super().__init__(message)
        self.message_de = message_de


@dataclass(frozen=True, slots=True)
class BaselineResult:
    """A finished measurement. Durations are nanoseconds per request (one batch), one row per repetition.

    blas_threads: threads of the matrix library, 0 if it could not be set.
    """

    batch: int
    repetitions: int
    iterations: int
    durations_ns: tuple[tuple[int, ...], ...]
    failed_requests: int
    throughput_cv: float
    working_set_bytes: int
    peak_memory_bytes: int
    metrics: tuple[Metric, ...]
    outputs: Array
    model_digest: str
    inputs_sha256: str
    blas_threads: int
    raw_sha256: str

    def throughputs(self) -> list[float]:
        """Return samples per second of each repetition, over timed seconds only."""
        return [self.batch * len(row) * 1e9 / max(sum(row), 1) for row in self.durations_ns]


def measure(
    graph: Graph,
    weights: Weights,
    *,
    inputs_seed: int,
    batch: int,
    clock_ns: Clock,
    repetitions: int = REPETITIONS,
    iterations: int = ITERATIONS,
    checkpoint: Mapping[str, Any] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    on_checkpoint: Callable[[dict[str, Any]], None] | None = None,
    check_cancelled: Callable[[], None] | None = None,
) -> BaselineResult:
    """Measure `repetitions` x `iterations` requests of `batch` samples; clock_ns is a monotonic nanosecond clock.

    Repetitions take turns in rounds, so that each sees the same state of the machine (ADR 0102). A checkpoint is
    given after each fifth and continues there. A request fails if its output is not finite.
    BLAS runs on one thread where that can be set: on a shared machine its waiting threads would be measured instead.
    Raises GraphError, MeasureError, and whatever check_cancelled raises.
    """
    for name, value in (("repetitions", repetitions), ("iterations", iterations), ("batch", batch)):
        if not 1 <= value <= MAX_COUNT:
            sentence = f"Anzahl außerhalb von 1 bis {MAX_COUNT}: {value}."
            raise MeasureError(f"{name} {value} is outside 1..{MAX_COUNT}", message_de=sentence)
    verify(graph, weights)
    inputs = input_samples(graph, inputs_seed=inputs_seed, batch=batch)
    key = canonical.digest(
        {"model": model_digest(graph), "inputs": array_sha256(inputs), "counts": [repetitions, iterations]}
    )
    rows, failed, done = _restore(checkpoint, key, repetitions, iterations)
    ready = numpy_run.prepared(weights)
    with one_blas_thread() as blas_threads:
        for _ in range(WARM_UP):
            outputs = numpy_run.forward(graph, ready, inputs)
        for section in range(done, SECTIONS):
            if check_cancelled is not None:
                check_cancelled()
            failed += _section(
                graph, ready, inputs, rows, bounds=_bounds(iterations, section), clock_ns=clock_ns
            )
            if on_checkpoint is not None:
                on_checkpoint(_state(key, rows, failed))
            if on_progress is not None:
                on_progress(section + 1, SECTIONS)
    return _result(
        graph,
        rows,
        inputs=inputs,
        outputs=outputs,
        failed=failed,
        weight_bytes=sum(array.nbytes for array in ready.values()),
        threads=blas_threads,
    )


def _state(key: str, rows: list[list[int]], failed: int) -> dict[str, Any]:
    return {
        "format": "baseline-checkpoint-1",
        "key": key,
        "durations_ns": [list(row) for row in rows],
        "failed": failed,
    }


def _bounds(iterations: int, section: int) -> tuple[int, int]:
    return iterations * section // SECTIONS, iterations * (section + 1) // SECTIONS


def _section(
    graph: Graph,
    weights: Mapping[str, Array],
    inputs: Array,
    rows: list[list[int]],
    *,
    bounds: tuple[int, int],
    clock_ns: Clock,
) -> int:
    """Extend every repetition from bounds[0] to bounds[1] in rounds whose first repetition rotates (ADR 0102)."""
    failed = 0
    for turn, start in enumerate(range(bounds[0], bounds[1], ROUND)):
        count = min(ROUND, bounds[1] - start)
        for offset in range(len(rows)):
            row, bad = _requests(graph, weights, inputs, count, clock_ns)
            rows[(turn + offset) % len(rows)].extend(row)
            failed += bad
    return failed


def _requests(
    graph: Graph, weights: Mapping[str, Array], inputs: Array, count: int, clock_ns: Clock
) -> tuple[list[int], int]:
    row: list[int] = []
    failed = 0
    for _ in range(count):
        start = clock_ns()
        outputs = numpy_run.forward(graph, weights, inputs)
        row.append(clock_ns() - start)
        failed += not np.isfinite(outputs).all()
    return row, int(failed)


def _result(
    graph: Graph,
    rows: list[list[int]],
    *,
    inputs: Array,
    outputs: Array,
    failed: int,
    weight_bytes: int,
    threads: int,
) -> BaselineResult:
    batch, iterations = inputs.shape[0], len(rows[0])
    rates = [batch * iterations * 1e9 / max(sum(row), 1) for row in rows]
    peak = _peak_bytes()
    return BaselineResult(
        batch=batch,
        repetitions=len(rows),
        iterations=iterations,
        durations_ns=tuple(tuple(row) for row in rows),
        failed_requests=failed,
        throughput_cv=stats.variation(rates),
        working_set_bytes=weight_bytes + numpy_run.activation_bytes(graph, batch),
        peak_memory_bytes=peak,
        metrics=_metrics(rows, batch, failed, peak),
        outputs=outputs,
        model_digest=model_digest(graph),
        inputs_sha256=array_sha256(inputs),
        blas_threads=threads,
        raw_sha256=canonical.digest({"durations_ns": rows}),
    )


def _metrics(rows: list[list[int]], batch: int, failed: int, peak: int) -> tuple[Metric, ...]:
    pooled = [value for row in rows for value in row]
    count = len(pooled)
    rate = batch * count * 1e9 / max(sum(pooled), 1)
    found = [Metric("throughput_samples_s", rounded(rate), Unit.SAMPLES_PER_SECOND, AXES, n=len(rows))]
    for name, quantile in stats.PERCENTILES.items():
        value = rounded(stats.percentile(pooled, quantile) / 1e6)
        enough = stats.is_reliable(count, quantile)
        found.append(
            Metric(
                "e2e_latency_ms",
                value,
                Unit.MILLISECONDS,
                AXES,
                count,
                name,
                reliable=enough,
                note=LATENCY_NOTE,
            )
        )
    found.append(Metric("peak_memory_bytes", rounded(peak, 15), Unit.BYTES, AXES, n=1, note=MEMORY_NOTE))
    found.append(Metric("error_rate", rounded(failed / count), Unit.RATIO, AXES, n=count))
    return tuple(found)


def _peak_bytes() -> int:
    scale = 1 if sys.platform == "darwin" else 1024  # getrusage counts kibibytes on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def _restore(
    state: Mapping[str, Any] | None, key: str, repetitions: int, iterations: int
) -> tuple[list[list[int]], int, int]:
    """Return the rows so far, the failures in them, and how many sections are done."""
    if state is None:
        return [[] for _ in range(repetitions)], 0, 0
    rows: Any = state.get("durations_ns")
    failed: Any = state.get("failed")
    usable = (
        state.get("key") == key
        and isinstance(rows, list)
        and type(failed) is int
        and len(rows) == repetitions
    )
    ends = {_bounds(iterations, section)[1]: section + 1 for section in range(SECTIONS)}
    lengths = {len(row) for row in rows if isinstance(row, list)} if usable else set()
    done = next((ends[length] for length in lengths if length in ends), 0) if len(lengths) == 1 else 0
    if not done or any(not _is_row(row, iterations * done // SECTIONS) for row in rows):
        sentence = "Der Zwischenstand der Messung ist beschädigt oder gehört zu einer anderen Messung."
        raise MeasureError("checkpoint belongs to another measurement", message_de=sentence)
    return [list(row) for row in rows], failed, done


def _is_row(row: Any, iterations: int) -> bool:
    return (
        isinstance(row, list)
        and len(row) == iterations
        and all(type(item) is int and item >= 0 for item in row)
    )
