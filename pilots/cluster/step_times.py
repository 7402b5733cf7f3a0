"""Times of prompts and steps of one engine on one group of GPUs, small enough to be asked a million times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pilots.cluster.constants import constants
from pilots.cluster.costs import serving
from pilots.cluster.costs.terms import Vector
from pilots.cluster.errors import RequestError
from pilots.cluster.workloads import Case, StaticBatch

POINTS: Final = (64, 512, 4096)  # prompt lengths through which the curve of a prompt is laid


@dataclass(frozen=True, slots=True)
class StepTimes:
    """steps: seconds of a step by number of sequences, from 0, with empty contexts; per_context: seconds per token of
    context in the batch; prompt: constant, linear and square part of the seconds of one prompt.
    """

    steps: tuple[float, ...]
    per_context: float
    prompt: tuple[float, float, float]

    def prompt_seconds(self, tokens: int) -> float:
        """Return what one prompt adds to a step."""
        constant, linear, square = self.prompt
        return max(0.0, constant + linear * tokens + square * tokens * tokens)


def step_times(case: Case, sequences: int) -> StepTimes:
    """Return the times of the engine and model of a static batch, for up to `sequences` at once."""
    work = case.workload
    if not isinstance(work, StaticBatch):
        raise RequestError(
            "no serving case", message_de="Eine Warteschlange gibt es nur vor einem Sprachmodell."
        )
    known = constants().get(case.key, {name: value for name, (value, _) in serving.PRIOR.items()})
    batches = [
        replace(case, workload=replace(work, batch=count, prompt=1, answer=2))
        for count in range(1, sequences + 1)
    ]
    empty = _steps(batches, known) - 2 * _context(case, known) * np.arange(1, sequences + 1)
    prompts = [replace(case, workload=replace(work, batch=1, prompt=length, answer=1)) for length in POINTS]
    seconds = serving.prompt_terms(serving.columns(prompts), known).seconds
    square, linear, constant = np.polyfit(np.array(POINTS, dtype=np.float64), seconds, 2)
    return StepTimes(
        (float(empty[0]), *(float(value) for value in empty)),
        _context(case, known),
        (float(constant), float(linear), float(square)),
    )


def _steps(cases: list[Case], known: Mapping[str, float]) -> Vector:
    return serving.step_terms(serving.columns(cases), known).seconds


def _context(case: Case, known: Mapping[str, float]) -> float:
    """Return the seconds one more token of context costs a step."""
    work = case.workload
    assert isinstance(work, StaticBatch)
    short, long = (
        replace(case, workload=replace(work, batch=1, prompt=length, answer=2)) for length in (1, 1001)
    )
    low, high = _steps([short, long], known)
    return float(high - low) / 1000
