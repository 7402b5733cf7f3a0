"""Results of the measuring command as it would write them, with a clock that no machine disturbs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pilots.baseline import endpoint_load
from pilots.baseline.endpoint import Answer, Endpoint
from pilots.baseline.endpoint_figures import Repetition
from pilots.baseline.environment import environment
from pilots.baseline.measure_graph import statement_part, take_turns
from pilots.baseline.measure_source import Source
from pilots.baseline.measure_statement import result, statement
from pilots.baseline.measure_worker import Repetition as Repeated

BEGAN, ENDED = "2026-11-01T08:00:00Z", "2026-11-01T08:01:00Z"


def steady(nanoseconds: int = 1_000_000) -> Callable[[], int]:
    """A clock by which every request takes the same time."""
    return itertools.count(step=nanoseconds).__next__


def measured(
    text: str = "4-6-2", *, repetitions: int = 5, iterations: int = 200, clock: Any = steady, **more: Any
) -> dict[str, Any]:
    """The statement of a measurement of a model text, each repetition with a clock of its own."""
    model = Source(text=text, **more).load()
    turns = take_turns(
        [Repeated(model, clock()) for _ in range(repetitions)], iterations, lambda _done, _total: None
    )
    part = statement_part(model, turns)
    return statement(part, environment=environment(), began_at=BEGAN, ended_at=ENDED)


def measured_endpoint(answers: int = 6, repetitions: int = 2) -> dict[str, Any]:
    """The statement of a measured endpoint; one request of each repetition failed."""
    good = tuple(
        Answer("", 10_000_000 + index, 30_000_000 + index, (9_000_000, 11_000_000), 3, counted=True)
        for index in range(answers - 1)
    )
    rows = tuple(Repetition(200_000_000 + index, (*good, Answer("HTTP_503"))) for index in range(repetitions))
    at = Endpoint(False, "127.0.0.1", None, "/v1/chat/completions", "m", 4, 8, 30.0)
    part = endpoint_load.statement_part(at, endpoint_load.Load(answers, 2, repetitions), rows)
    return statement(part, environment=environment(), began_at=BEGAN, ended_at=ENDED)


def signed(found: dict[str, Any], key: Ed25519PrivateKey | None = None) -> bytes:
    """The bytes of the result file."""
    return result(found, key)
