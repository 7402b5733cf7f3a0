"""Measuring a graph at the user's side: every repetition in a fresh process, all taking turns (ADR 0102, 0115)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pilots.baseline.measure import (
    ITERATIONS,
    MAX_HOURS,
    REPETITIONS,
    ROUND,
    WARM_UP,
    MeasureError,
    pooled_metrics,
)
from pilots.baseline.measure_source import MeasuredModel, Source
from pilots.baseline.stats import variation
from qms.core.values import Metric, decimal_text, rounded

MAX_REPETITIONS: Final = 20
MAX_REQUESTS: Final = 50_000  # of all repetitions, so that the result stays a file for the upload
EVALUATOR: Final = "NumPy-Auswertung von pilots.graph"


class Repeating(Protocol):
    """One repetition: warm up once, then turns, then its end; durations in nanoseconds."""

    def warm_up(self) -> dict[str, Any]:
        """Return {"warm_up_ns": [...], "blas_threads": ...}."""

    def turn(self, count: int) -> dict[str, Any]:
        """Return {"durations_ns": [...], "failed": ...} of `count` requests."""

    def end(self) -> dict[str, Any]:
        """Return {"peak_memory_bytes": ..., "outputs": {name: sha256}}."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How often: repetitions, and requests of each."""

    repetitions: int = REPETITIONS
    iterations: int = ITERATIONS

    def check(self) -> None:
        """Raise MeasureError below POL-02 and beyond what fits into a result."""
        few = self.repetitions < REPETITIONS or self.iterations < ITERATIONS
        if few or self.repetitions > MAX_REPETITIONS or self.repetitions * self.iterations > MAX_REQUESTS:
            sentence = (
                f"Nötig sind {REPETITIONS} bis {MAX_REPETITIONS} Wiederholungen mit mindestens {ITERATIONS} Durchläufen "
                f"(POL-02), zusammen höchstens {MAX_REQUESTS}."
            )
            raise MeasureError(f"{self.repetitions} x {self.iterations}", message_de=sentence)


@dataclass(frozen=True, slots=True)
class Turns:
    """What all repetitions found, one row each."""

    durations_ns: tuple[tuple[int, ...], ...]
    warm_up_ns: tuple[tuple[int, ...], ...]
    failed: int
    peak_memory_bytes: tuple[int, ...]
    outputs: dict[str, str]
    blas_threads: int


class Process:
    """A repetition in a fresh Python process."""

    def __init__(self, source: Source) -> None:
        command = [sys.executable, "-m", "pilots.baseline.measure_worker"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self._source = source

    def warm_up(self) -> dict[str, Any]:
        """Tell the process what to run and wait until it is warm; raises MeasureError."""
        return self._asked(self._source.to_json())

    def turn(self, count: int) -> dict[str, Any]:
        """Run `count` requests; raises MeasureError."""
        return self._asked({"count": count})

    def end(self) -> dict[str, Any]:
        """Ask for memory and outputs, and let the process end; raises MeasureError."""
        found = self._asked({"count": 0})
        self.close()
        return found

    def close(self) -> None:
        """End the process, whatever it is doing."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None and not stream.closed:
                with suppress(BrokenPipeError):  # the process is gone, and what was left to say with it
                    stream.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _asked(self, question: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(question) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        answer: dict[str, Any] = json.loads(line) if line.endswith("\n") else {}
        if "message_de" in answer:
            raise MeasureError("the process refused", message_de=str(answer["message_de"]))
        if not answer:
            sentence = "Ein Prozess der Messung ist abgebrochen, vielleicht fehlt Arbeitsspeicher; es entsteht kein Ergebnis."
            raise MeasureError("a process died", message_de=sentence)
        return answer


def take_turns(
    repetitions: Sequence[Repeating], iterations: int, on_progress: Callable[[int, int], None]
) -> Turns:
    """Warm all repetitions up, then let them take turns; the one that begins rotates. Raises MeasureError."""
    ready, total = [], iterations * len(repetitions)
    for item in repetitions:
        ready.append(item.warm_up())
        _check_time(min(ready[-1]["warm_up_ns"]), total)
    rows: list[list[int]] = [[] for _ in repetitions]
    failed = 0
    for number, start in enumerate(range(0, iterations, ROUND)):
        for offset in range(len(repetitions)):
            place = (number + offset) % len(repetitions)
            found = repetitions[place].turn(min(ROUND, iterations - start))
            rows[place] += found["durations_ns"]
            failed += found["failed"]
        on_progress(sum(map(len, rows)), total)
    ends = [item.end() for item in repetitions]
    if any(row["outputs"] != ends[0]["outputs"] for row in ends):
        sentence = (
            "Die Wiederholungen haben Verschiedenes berechnet; aus dieser Messung entsteht kein Ergebnis."
        )
        raise MeasureError("outputs differ between repetitions", message_de=sentence)
    return Turns(
        durations_ns=tuple(map(tuple, rows)),
        warm_up_ns=tuple(tuple(row["warm_up_ns"]) for row in ready),
        failed=failed,
        peak_memory_bytes=tuple(row["peak_memory_bytes"] for row in ends),
        outputs=ends[0]["outputs"],
        blas_threads=min(row.get("blas_threads", 0) for row in ready),
    )


def measure_in_processes(
    source: Source, counts: Counts, on_progress: Callable[[int, int], None]
) -> tuple[MeasuredModel, Turns]:
    """Measure a model in fresh processes; raises MeasureError, GraphError, OSError. No process outlives the call."""
    counts.check()
    model = source.load()
    processes: list[Process] = []
    try:
        processes += [Process(source) for _ in range(counts.repetitions)]
        return model, take_turns(processes, counts.iterations, on_progress)
    finally:
        for item in processes:
            item.close()


def statement_part(model: MeasuredModel, turns: Turns) -> dict[str, Any]:
    """Return what a statement says of this measurement; the rows of durations stand in it, all of them."""
    rows = turns.durations_ns
    return {
        "kind": "GRAPH",
        "workload": model.facts,
        "method": {
            "evaluator": EVALUATOR,
            "repetitions": len(rows),
            "iterations": len(rows[0]),
            "warm_up": WARM_UP,
            "requests_per_turn": ROUND,
            "blas_threads": turns.blas_threads,
        },
        "durations_ns": [list(row) for row in rows],
        "warm_up_ns": [list(row) for row in turns.warm_up_ns],
        "failed": turns.failed,
        "peak_memory_bytes": list(turns.peak_memory_bytes),
        "outputs": turns.outputs,
        "throughput_cv": decimal_text(rounded(spread(rows), 4)),
        "metrics": [item.to_json() for item in metrics(model.batch, turns)],
    }


def metrics(batch: int, turns: Turns) -> tuple[Metric, ...]:
    """Return the figures of a measurement."""
    return pooled_metrics(
        turns.durations_ns, batch=batch, failed=turns.failed, peak_bytes=max(turns.peak_memory_bytes)
    )


def spread(rows: Sequence[Sequence[int]]) -> float:
    """Return the coefficient of variation of the throughput over the repetitions, a share."""
    return variation([len(row) * 1e9 / max(sum(row), 1) for row in rows])


def _check_time(fastest_ns: int, total: int) -> None:
    hours = fastest_ns * total / 3.6e12
    if hours > MAX_HOURS:
        sentence = (
            f"Eine Anfrage dauert auf diesem Rechner etwa {fastest_ns / 1e9:.0f} s; {total} Anfragen würden etwa "
            f"{hours:.0f} Stunden dauern, erlaubt sind {MAX_HOURS}. Bitte nehmen Sie ein kleineres Beispiel."
        )
        raise MeasureError(f"{hours:.1f} hours", message_de=sentence)
