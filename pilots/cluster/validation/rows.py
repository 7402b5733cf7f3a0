"""Entries as rows of the validation: their case, why they are refused or not scored, and which setting they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pilots.cluster.costs import memory
from pilots.cluster.device import ITEM_BYTES
from pilots.cluster.errors import DoesNotFit
from pilots.cluster.reading.inputs import Question, Refused
from pilots.cluster.reference import Entry, Reference, question_of
from pilots.cluster.workloads import (
    Case,
    Collective,
    Family,
    Gemm,
    Layer,
    Offline,
    Operation,
    Pointwise,
    StaticBatch,
    Step,
)

WIDE: Final = 12_288  # the series of one matrix and more and more rows
SECOND_HAND: Final = ("medium", "low", "")


@dataclass(frozen=True, slots=True)
class Row:
    """An entry; question: None if refused, with the reason; unscored: why it counts in no error, else empty (German)."""

    entry: Entry
    question: Question | None
    refused: str = ""
    unscored: str = ""

    @property
    def case(self) -> Case:
        """The case of a row that is not refused."""
        assert self.question is not None
        return self.question.case

    @property
    def seconds(self) -> float:
        """The published figure in seconds; only of a row that is scored."""
        assert self.question is not None
        assert self.entry.number is not None
        return self.question.seconds(self.entry.number)

    @property
    def scored(self) -> bool:
        """Say whether the row counts in an error."""
        return self.question is not None and not self.unscored


def rows_of(reference: Reference) -> tuple[Row, ...]:
    """Return all rows of a file in its order."""
    return tuple(_row(entry) for entry in reference.entries)


def _row(entry: Entry) -> Row:
    question = question_of(entry)
    if isinstance(question, Refused):
        return Row(entry, None, question.reason_de)
    if not isinstance(question.case.workload, Step):  # published steps ran; their memory is checked in plans
        try:
            memory.check(question.case)
        except DoesNotFit as error:
            return Row(entry, None, error.message_de)
    return Row(entry, question, unscored=_unscored(entry, question))


def _unscored(entry: Entry, question: Question) -> str:
    if entry.number is None:
        return "der Eintrag nennt keine einzelne Zahl"
    if entry.confidence in SECOND_HAND:
        return "aus zweiter Hand oder ohne Angabe der Güte"
    if question.seconds(entry.number) < least_seconds(question.case):
        return "schneller als der Speicher die Gewichte liefern kann (EM-11): die Antworten endeten vor der verlangten Länge"
    return ""


def least_seconds(case: Case) -> float:
    """Return the time no run can be below: reading the active weights once per step at peak bandwidth (EM-11)."""
    work = case.workload
    if isinstance(work, StaticBatch):
        size = ITEM_BYTES[work.weights] * work.shape.active_params
        cache = work.batch * (work.prompt + work.answer / 2) * memory.cache_bytes_per_token(work.shape)
        return work.answer * (size + cache) / case.span.gpus / case.device.hbm_bytes_per_s
    return 0.0


def setting_of(case: Case) -> str:  # noqa: PLR0911 - one per kind of workload
    """Return the independent setting of a case; rows of one setting are left out together."""
    work = case.workload
    match work:
        case Gemm(m=m, n=n, k=k) if work.count == 1:
            return f"GEMM {m} Zeilen" if n == k and n != WIDE else f"GEMM {n} x {k}"
        case Gemm():
            return "GEMM im Stapel"
        case Pointwise():
            return "punktweise"
        case Operation():
            return "Operation eines Graphen"
        case Layer(decode=decode):
            return "Schicht Decode" if decode else "Schicht Prefill"
        case Collective():
            return f"{case.span.gpus} x {case.device.id}, {case.span.nodes} Knoten"
        case StaticBatch(shape=shape) | Offline(shape=shape):
            return shape.name
        case Step(shape=shape):
            return shape.name if shape.name != "GPT" else f"GPT {shape.hidden} x {shape.layers}"


def system_of(case: Case) -> str:
    """Return the system of a case: its device."""
    return case.device.id


def scored(rows: Sequence[Row], family: Family | None = None) -> list[Row]:
    """Return the rows that count, of one family or all."""
    return [row for row in rows if row.scored and family in (None, row.case.family)]
