"""The load on an endpoint: so many requests, so many at a time, repeated; the counts are fixed beforehand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from pilots.baseline.endpoint import MAX_TOKENS, Answer, Endpoint, EndpointError, ask
from pilots.baseline.endpoint_figures import Repetition, metrics, spread
from qms.core.values import decimal_text, rounded

MAX_CONCURRENCY: Final = 256
MAX_REPETITIONS: Final = 20
MAX_REQUESTS: Final = 20_000  # of all repetitions
MAX_PIECES: Final = 500_000  # single times in a result, which an upload still takes
MAX_TIMEOUT_S: Final = 3600


@dataclass(frozen=True, slots=True)
class Load:
    """requests: of each repetition; concurrency: how many at a time."""

    requests: int
    concurrency: int
    repetitions: int

    def check(self, endpoint: Endpoint) -> None:
        """Raise EndpointError for counts that are impossible or whose result would be no file for the upload."""
        limits = (
            ("Die Zahl der Anfragen je Wiederholung", self.requests, MAX_REQUESTS),
            ("Die Zahl gleichzeitiger Anfragen", self.concurrency, MAX_CONCURRENCY),
            ("Die Zahl der Wiederholungen", self.repetitions, MAX_REPETITIONS),
            ("Die Länge der Eingabe in Wörtern", endpoint.prompt_tokens, 100_000),
            ("Die Zahl der Ausgabetoken", endpoint.output_tokens, MAX_TOKENS),
            ("Das Zeitlimit in Sekunden", endpoint.timeout_s, MAX_TIMEOUT_S),
        )
        for subject, value, most in limits:
            if not 1 <= value <= most:
                raise EndpointError(f"{subject} liegt außerhalb von 1 bis {most}.")
        total = self.requests * self.repetitions
        if self.concurrency > self.requests or total > MAX_REQUESTS:
            raise EndpointError(
                f"Es dürfen nicht mehr Anfragen gleichzeitig laufen, als eine Wiederholung hat, und alle zusammen höchstens {MAX_REQUESTS}."
            )
        if total * endpoint.output_tokens > MAX_PIECES:
            raise EndpointError(
                f"Anfragen mal Ausgabetoken ergeben mehr als {MAX_PIECES}; bitte verkleinern Sie eines von beiden."
            )


def measure(
    endpoint: Endpoint,
    load: Load,
    *,
    clock_ns: Callable[[], int],
    on_progress: Callable[[int, int], None],
) -> tuple[Repetition, ...]:
    """Send all requests; one per place at a time first, which is not counted. Raises EndpointError for bad counts."""
    load.check(endpoint)
    total, done = load.requests * load.repetitions, count(1)
    lock = threading.Lock()

    def told() -> None:
        with lock:
            on_progress(next(done), total)

    _all(endpoint, load.concurrency, load.concurrency, clock_ns, lambda: None)
    found = []
    for _ in range(load.repetitions):
        start = clock_ns()
        answers = _all(endpoint, load.requests, load.concurrency, clock_ns, told)
        found.append(Repetition(max(clock_ns() - start, 1), answers))
    return tuple(found)


def _all(
    endpoint: Endpoint,
    requests: int,
    concurrency: int,
    clock_ns: Callable[[], int],
    told: Callable[[], None],
) -> tuple[Answer, ...]:
    def one(_index: int) -> Answer:
        answer = ask(endpoint, clock_ns)
        told()
        return answer

    with ThreadPoolExecutor(max_workers=concurrency) as pool:
        answers: Iterator[Answer] = pool.map(one, range(requests))
        return tuple(answers)


def statement_part(endpoint: Endpoint, load: Load, repetitions: tuple[Repetition, ...]) -> dict[str, Any]:
    """Return what a statement says of this measurement; no address and no key of the endpoint."""
    return {
        "kind": "ENDPUNKT",
        "method": {
            "model": endpoint.model,
            "prompt_tokens": endpoint.prompt_tokens,
            "output_tokens": endpoint.output_tokens,
            "concurrency": load.concurrency,
            "requests": load.requests,
            "repetitions": load.repetitions,
            "timeout_s": int(endpoint.timeout_s),
        },
        "repetitions": [row.to_json() for row in repetitions],
        "throughput_cv": decimal_text(rounded(spread(repetitions), 4)),
        "metrics": [item.to_json() for item in metrics(repetitions)],
    }
