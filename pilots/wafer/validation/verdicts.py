"""Wafer against GPU on the same published workload: is the right one faster, and by the right factor?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from pilots.wafer.reading.inputs import Question
from pilots.wafer.reading.quantities import UNITS, clock_hz, to_cycles
from pilots.wafer.validation.families import VERDICT_FACTOR, Kind
from pilots.wafer.validation.rows import Row

# GPU times that stand inside `params` of a wafer entry, such as A100_ms: {"8": 0.253}; never seen by a prediction
_GPU_TIMES: Final = re.compile(r"(?P<gpu>[AHBV]\d{3})_(?P<unit>us|ms|s)")


@dataclass(frozen=True, slots=True)
class Guess:
    """The cycles predicted for an entry and the half-width of their interval as a ratio."""

    cycles: float
    factor: float


@dataclass(frozen=True, slots=True)
class Pair:
    """A wafer entry and a GPU figure for the same workload. published, predicted: how many times faster the wafer is."""

    wafer_id: str
    gpu: str
    published: float
    predicted: float
    factor: float

    @property
    def order_right(self) -> bool:
        """Say whether the faster one is the faster one."""
        return (self.published > 1) == (self.predicted > 1)

    @property
    def factor_right(self) -> bool:
        """Say whether the predicted advantage is within 1.5x of the published one."""
        return abs(log(self.predicted / self.published)) <= log(VERDICT_FACTOR)

    @property
    def undecidable(self) -> bool:
        """Say whether the two are closer than the interval, so that the emulator names no winner."""
        return abs(log(self.predicted)) <= log(self.factor)


def pairs(rows: Sequence[Row], guesses: Mapping[str, Guess]) -> tuple[Pair, ...]:
    """Return all pairs of predicted silicon entries and GPU figures; guesses: by id of the wafer entry."""
    gpu_rows = [row for row in rows if row.kind is Kind.GPU and row.entry.number]
    found = []
    for row in rows:
        guess = guesses.get(row.entry.id)
        if guess is None or row.question is None or not row.scored or row.kind is not Kind.SILICON:
            continue
        assert row.published_cycles is not None
        for gpu, cycles in (*_beside(row, row.question, gpu_rows), *_inside(row, row.question)):
            ours, theirs = cycles / guess.cycles, cycles / row.published_cycles
            found.append(Pair(row.entry.id, gpu, theirs, ours, guess.factor))
    return tuple(found)


def _beside(row: Row, question: Question, gpu_rows: Sequence[Row]) -> Iterator[tuple[str, float]]:
    """Yield GPU entries with the workload, metric and unit of a row, in cycles of its clock."""
    for other in gpu_rows:
        if _same(other, row) and other.entry.number:
            yield other.entry.system, to_cycles(other.entry.number, question)


def _inside(row: Row, question: Question) -> Iterator[tuple[str, float]]:
    """Yield GPU times that stand inside the parameters of a row, in cycles of its clock."""
    for name, times in sorted(row.entry.params.items()):
        match = _GPU_TIMES.fullmatch(name)
        if match is None or not isinstance(times, dict):
            continue
        _, scale = UNITS[match["unit"]]
        for count, value in sorted(times.items(), key=lambda item: (len(item[0]), item[0])):
            if isinstance(value, int | float) and value > 0:
                yield f"{match['gpu']}x{count}", value * scale * clock_hz(question.case) / question.repeats


def _same(one: Row, other: Row) -> bool:
    return all(
        " ".join(getattr(one.entry, name).casefold().split())
        == " ".join(getattr(other.entry, name).casefold().split())
        for name in ("workload", "metric", "unit")
    )
