"""One repetition of a measurement, in a process of its own: `python -m pilots.baseline.measure_worker`.

Reads one JSON object per line and answers with one: first the source and WARM_UP requests, then turns of so many timed
requests, at the end memory and outputs. A refusal is {"message_de": ...} and ends the process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Final

import numpy as np

from pilots.baseline import numpy_run
from pilots.baseline.environment import one_blas_thread, peak_memory_bytes
from pilots.baseline.measure import WARM_UP, WARM_UP_NS
from pilots.baseline.measure_source import MeasuredModel, Source
from pilots.graph.errors import GraphError
from pilots.graph.ir import Array, array_sha256

UNREADABLE: Final = "Die Modelldatei lässt sich nicht lesen."


class Repetition:
    """A model that is run again and again; every figure is nanoseconds of one request (one batch)."""

    def __init__(self, model: MeasuredModel, clock_ns: Callable[[], int]) -> None:
        self._prepared = numpy_run.prepare(model.graph, model.weights)
        self._inputs = model.inputs
        self._clock_ns = clock_ns
        self._outputs: dict[str, Array] = {}

    def warm_up(self) -> dict[str, Any]:
        """Run requests that are reported apart and count nowhere; none more after a minute."""
        durations: list[int] = []
        while len(durations) < WARM_UP and sum(durations) <= WARM_UP_NS:
            durations.append(self._timed())
        return {"warm_up_ns": durations}

    def turn(self, count: int) -> dict[str, Any]:
        """Run one request that is not counted, as others had the processor meanwhile, then `count` timed ones."""
        self._timed()
        durations, failed = [], 0
        for _ in range(count):
            durations.append(self._timed())
            failed += not all(np.isfinite(array).all() for array in self._outputs.values())
        return {"durations_ns": durations, "failed": failed}

    def end(self) -> dict[str, Any]:
        """Return the most memory this process ever held, and the digest of every output."""
        digests = {name: array_sha256(array) for name, array in sorted(self._outputs.items())}
        return {"peak_memory_bytes": peak_memory_bytes(), "outputs": digests}

    def _timed(self) -> int:
        start = self._clock_ns()
        self._outputs = numpy_run.forward(self._prepared, self._inputs)
        return self._clock_ns() - start


def main() -> int:
    """Answer line by line until the input ends; returns the exit code."""
    try:
        repetition = Repetition(Source(**json.loads(sys.stdin.readline())).load(), perf_counter_ns)
    except (GraphError, OSError) as error:
        _say({"message_de": getattr(error, "message_de", UNREADABLE)})
        return 2
    with one_blas_thread() as threads:
        _say(repetition.warm_up() | {"blas_threads": threads})
        for line in sys.stdin:
            count = json.loads(line)["count"]
            _say(repetition.turn(count) if count else repetition.end())
    return 0


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
