"""Entries as rows: what each one is, its published cycles, and why it is not scored if it is not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pilots.graph.errors import GraphError
from pilots.wafer.errors import WaferError
from pilots.wafer.reading.inputs import Question, Refused
from pilots.wafer.reading.quantities import to_cycles
from pilots.wafer.reference import Entry, Reference, question_of
from pilots.wafer.validation.families import FITTED, SCORED, Kind, group_of, is_noise, kind_of, system_of
from pilots.wafer.validation.model import Model
from pilots.wafer.workloads import Family

_RUN_TO_RUN: Final = re.compile(r"run-to-run", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of a file. question: None if refused, with `refused` the German reason; published_cycles: None without
    a value; unscored: why a predicted entry is not scored (German), else empty; group, system: see `families`.
    """

    entry: Entry
    kind: Kind
    family: Family | None
    question: Question | None
    refused: str
    published_cycles: float | None
    unscored: str
    group: str = ""
    system: str = ""

    @property
    def scored(self) -> bool:
        """Say whether prediction and published value are compared."""
        return self.question is not None and self.published_cycles is not None and not self.unscored


def rows_of(reference: Reference, model: Model) -> tuple[Row, ...]:
    """Return all entries as rows in the order of the file. What is noise is judged with the model before any fit."""
    return tuple(_row(entry, model) for entry in reference.entries)


def silicon(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows that count for the headline: everything scored on silicon, fitted or not."""
    return tuple(row for row in rows if row.scored and row.kind is Kind.SILICON)


def fitted(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows the constants are fitted on: what is scored on silicon, in the families declared for it."""
    return tuple(row for row in silicon(rows) if row.family in FITTED)


def is_listed_noise(row: Row) -> bool:
    """Say whether an entry is on the noise list."""
    return row.unscored == NOISE_DE or bool(_RUN_TO_RUN.search(row.entry.workload))


NOISE_DE: Final = "so klein, dass die Streuung von Lauf zu Lauf entscheidet"


def _row(entry: Entry, model: Model) -> Row:
    kind = kind_of(entry)
    question = question_of(entry)
    if isinstance(question, Refused):
        return Row(entry, kind, question.family, None, question.reason_de, None, "")
    family = question.case.family
    try:
        before = model.cycles(question.case, model.prior)
    except (WaferError, GraphError) as error:
        return Row(entry, kind, family, None, error.message_de, None, "")
    published = None if entry.number is None else to_cycles(entry.number, question)
    return Row(
        entry,
        kind,
        family,
        question,
        "",
        published,
        _unscored(entry, kind, question, before),
        group_of(question),
        system_of(question),
    )


def _unscored(entry: Entry, kind: Kind, question: Question, before: float) -> str:
    if kind not in SCORED:
        return f"{kind.value}: gelistet, nie gewertet"
    if entry.value is None:
        return "ohne veröffentlichten Wert"
    if entry.number is None:
        return "kein einzelner Zahlenwert über null"
    if entry.params.get("outlier") is True:
        return "in der Referenz als unerklärter Ausreißer gekennzeichnet"
    if kind is Kind.SILICON and is_noise(question, before):
        return NOISE_DE
    return ""
