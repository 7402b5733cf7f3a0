"""The measuring command: the graph of a run on this machine, fixed counts, no retry until it looks good.

The clock is passed in; this module never reads one. Only the forward pass is timed, one request after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pilots.baseline import numpy_run, stats
from pilots.baseline.environment import one_blas_thread, peak_memory_bytes
from pilots.baseline.numpy_run import Prepared
from pilots.graph.ir import Array, Graph, Weights, array_sha256, model_digest
from pilots.graph.spec import verify
from qms.core import canonical
from qms.core.values import Assurance, Axes, Metric, Origin, Provenance, Unit, rounded

REPETITIONS: Final = 5  # POL-02
ITERATIONS: Final = 200  # POL-02
WARM_UP: Final = 20
ROUND: Final = 20  # requests of one repetition before the next takes its turn
SECTIONS: Final = 5  # checkpoints of a measurement
MAX_COUNT: Final = 100_000
WARM_UP_NS: Final = 60 * 10**9  # no further request to warm up after a minute
MAX_HOURS: Final = 4  # longer than anyone waits in front of a page; the counts are never cut to fit
AXES: Final = Axes(Provenance.MEASURED, Assurance.SUBMITTED, Origin.OWN)
MEMORY_NOTE: Final = "größter Arbeitsspeicher des Prozesses einschließlich Laufzeitumgebung"
LATENCY_NOTE: Final = "reine Rechenzeit eines Stapels im Prozess, ohne Netz"
TOOL: Final = "pilots.baseline.measure 0.2.0"

Clock = Callable[[], int]


class MeasureError(ValueError):
    """Counts, a checkpoint or the time a request takes are not usable; `message_de` is for people."""

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
    peak_memory_bytes: int
    metrics: tuple[Metric, ...]
    outputs: dict[str, Array]
    model_digest: str
    blas_threads: int
    raw_sha256: str

    def throughputs(self) -> list[float]:
        """Return samples per second of each repetition, over timed seconds only."""
        return [self.batch * len(row) * 1e9 / max(sum(row), 1) for row in self.durations_ns]


@dataclass(slots=True)
class _Measurement:
    """What is measured and how far it is: durations per repetition, requests that failed."""

    prepared: Prepared
    inputs: Mapping[str, Array]
    clock_ns: Clock
    rows: list[list[int]]
    failed: int
    pause: Callable[[int], None]
    outputs: dict[str, Array] = field(default_factory=dict)

    def timed(self) -> int:
        """Run one request and return its nanoseconds."""
        start = self.clock_ns()
        self.outputs = numpy_run.forward(self.prepared, self.inputs)
        return self.clock_ns() - start

    @property
    def done(self) -> int:
        """Requests measured so far."""
        return sum(map(len, self.rows))


def measure(
    graph: Graph,
    weights: Weights,
    *,
    inputs: Mapping[str, Array],
    batch: int,
    clock_ns: Clock,
    repetitions: int = REPETITIONS,
    iterations: int = ITERATIONS,
    checkpoint: Mapping[str, Any] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    on_expected: Callable[[float], None] | None = None,
    on_checkpoint: Callable[[dict[str, Any]], None] | None = None,
    check_cancelled: Callable[[], None] | None = None,
) -> BaselineResult:
    """Measure `repetitions` x `iterations` requests of `batch` samples; clock_ns is a monotonic nanosecond clock.

    Repetitions take turns in rounds, so that each sees the same state of the machine (ADR 0102). A checkpoint is
    given after each fifth and continues there; on_progress gets (requests done, all), on_expected the seconds all
    requests will about take, once it is warm. A request fails if an output is not finite. BLAS runs on one thread where that can be set: on a shared machine its waiting threads would be
    measured instead. Raises GraphError, MeasureError, and whatever check_cancelled raises.
    """
    for name, value in (("repetitions", repetitions), ("iterations", iterations), ("batch", batch)):
        if not 1 <= value <= MAX_COUNT:
            sentence = f"Anzahl außerhalb von 1 bis {MAX_COUNT}: {value}."
            raise MeasureError(f"{name} {value} is outside 1..{MAX_COUNT}", message_de=sentence)
    verify(graph, weights)
    hashes = {name: array_sha256(array) for name, array in inputs.items()}
    key = canonical.digest(
        {"model": model_digest(graph), "inputs": hashes, "counts": [repetitions, iterations]}
    )
    rows, failed, done = _restore(checkpoint, key, repetitions, iterations)
    total = repetitions * iterations

    def pause(count: int) -> None:
        if on_progress is not None:
            on_progress(count, total)
        if check_cancelled is not None:
            check_cancelled()

    work = _Measurement(numpy_run.prepare(graph, weights), inputs, clock_ns, rows, failed, pause)
    with one_blas_thread() as blas_threads:
        seconds = _warm_up(work, total)
        if on_expected is not None:
            on_expected(seconds)
        for section in range(done, SECTIONS):
            _section(work, _bounds(iterations, section))
            if on_checkpoint is not None:
                on_checkpoint(_state(key, work.rows, work.failed))
        pause(total)
    return _result(graph, work, batch=batch, threads=blas_threads)


def _warm_up(work: _Measurement, total: int) -> float:
    """Run the graph until it is warm, return the seconds `total` requests take; raises MeasureError if too long."""
    fastest, spent = work.timed(), 0
    for _ in range(WARM_UP - 1):
        work.pause(work.done)
        took = work.timed()
        fastest, spent = min(fastest, took), spent + took
        if spent > WARM_UP_NS:
            break
    hours = fastest * (total - work.done) / 3.6e12
    if hours > MAX_HOURS:
        sentence = (
            f"Eine Anfrage dauert auf diesem Rechner etwa {fastest / 1e9:.0f} s; {total} Anfragen würden etwa "
            f"{hours:.0f} Stunden dauern, erlaubt sind {MAX_HOURS}. Bitte zeichnen Sie das Modell mit einem kleineren "
            "Beispiel neu auf."
        )
        raise MeasureError(f"{hours:.1f} hours", message_de=sentence)
    return fastest * total / 1e9


def _state(key: str, rows: list[list[int]], failed: int) -> dict[str, Any]:
    return {
        "format": "baseline-checkpoint-1",
        "key": key,
        "durations_ns": [list(row) for row in rows],
        "failed": failed,
    }


def _bounds(iterations: int, section: int) -> tuple[int, int]:
    return iterations * section // SECTIONS, iterations * (section + 1) // SECTIONS


def _section(work: _Measurement, bounds: tuple[int, int]) -> None:
    """Extend every repetition from bounds[0] to bounds[1] in rounds whose first repetition rotates (ADR 0102)."""
    for turn, start in enumerate(range(bounds[0], bounds[1], ROUND)):
        for offset in range(len(work.rows)):
            work.pause(work.done)
            row = work.rows[(turn + offset) % len(work.rows)]
            for _ in range(min(ROUND, bounds[1] - start)):
                row.append(work.timed())
                work.failed += not all(np.isfinite(array).all() for array in work.outputs.values())


def _result(graph: Graph, work: _Measurement, *, batch: int, threads: int) -> BaselineResult:
    rows, iterations = work.rows, len(work.rows[0])
    rates = [batch * iterations * 1e9 / max(sum(row), 1) for row in rows]
    peak = peak_memory_bytes()
    return BaselineResult(
        batch=batch,
        repetitions=len(rows),
        iterations=iterations,
        durations_ns=tuple(tuple(row) for row in rows),
        failed_requests=work.failed,
        throughput_cv=stats.variation(rates),
        peak_memory_bytes=peak,
        metrics=pooled_metrics(rows, batch=batch, failed=work.failed, peak_bytes=peak),
        outputs=work.outputs,
        model_digest=model_digest(graph),
        blas_threads=threads,
        raw_sha256=canonical.digest({"durations_ns": rows}),
    )


def pooled_metrics(
    rows: Sequence[Sequence[int]], *, batch: int, failed: int, peak_bytes: int
) -> tuple[Metric, ...]:
    """Return throughput, percentiles over all requests, peak memory and error rate; rows: nanoseconds per repetition."""
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
    found.append(
        Metric("peak_memory_bytes", rounded(peak_bytes, 15), Unit.BYTES, AXES, n=1, note=MEMORY_NOTE)
    )
    found.append(Metric("error_rate", rounded(failed / count), Unit.RATIO, AXES, n=count))
    return tuple(found)


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
