"""What others published about the same model, or the nearest one, beside what the emulator says of that very run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Final

from pilots.catalog.figures import PUBLISHED, Figure, State, emulated, plain
from pilots.graph.model_config import ModelConfig
from pilots.wafer.costs.constants import DATA, Constants, record
from pilots.wafer.costs.terms import Span
from pilots.wafer.reading import models
from pilots.wafer.reading.inputs import NotReadable, Question, Refused
from pilots.wafer.reading.quantities import is_rate, to_unit
from pilots.wafer.reference import Entry, Reference, inputs_of, load, question_of
from pilots.wafer.validation.families import Kind, kind_of
from pilots.wafer.validation.model import EMULATOR
from pilots.wafer.validation.rows import Row, fitted, rows_of
from pilots.wafer.validity import trust
from pilots.wafer.workloads import Family
from qms.core.values import Metric, Unit

MOST: Final = 12
SERVING: Final = (Family.DECODE, Family.PREFILL)
_Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """One published figure. kind_de: what it rests on; ours: None if refused, with the reason; seen: used for the fit."""

    id: str
    system: str
    workload: str
    source: str
    kind_de: str
    published: Metric | None
    ours: Figure | None
    refused_de: str
    seen: bool


@dataclass(frozen=True, slots=True)
class Nearest:
    """The published model that comes closest, whether it has the same sizes, and its figures in the order of the file."""

    model: str
    same: bool
    rows: tuple[Beside, ...]


def published_beside(config: ModelConfig) -> Nearest | None:
    """Return what is published of the model with the same sizes, or of the nearest by parameters."""
    groups = _groups()
    if not groups:
        return None
    sizes = _sizes(config)
    nearest = min(
        groups, key=lambda key: (key != sizes, abs(log(groups[key][0].params / config.params)), key)
    )
    return Nearest(groups[nearest][0].name, nearest == sizes, _rows(nearest))


def _sizes(config: ModelConfig) -> _Sizes:
    return (
        config.layers,
        config.hidden,
        config.heads,
        config.kv_heads,
        config.head_dim,
        config.ffn,
        config.experts,
    )


@lru_cache(maxsize=1)
def _groups() -> dict[_Sizes, tuple[ModelConfig, tuple[Entry, ...]]]:
    """Return the entries about serving a known model on a wafer, by the sizes of the model."""
    found: dict[_Sizes, tuple[ModelConfig, list[Entry]]] = {}
    for entry in load((DATA / "reference.json").read_text(encoding="utf-8")).entries:
        config, question = _model(entry), question_of(entry)
        family = question.family if isinstance(question, Refused) else question.case.family
        if config is not None and family in SERVING and kind_of(entry) is not Kind.GPU:
            found.setdefault(_sizes(config), (config, []))[1].append(entry)
    return {key: (config, tuple(entries)) for key, (config, entries) in found.items()}


def _model(entry: Entry) -> ModelConfig | None:
    try:
        return models.model(inputs_of(entry))
    except NotReadable:
        return None


@lru_cache(maxsize=64)
def _rows(sizes: _Sizes) -> tuple[Beside, ...]:
    rows = rows_of(Reference(_groups()[sizes][1][:MOST]), EMULATOR)
    used = fitted(rows)
    return tuple(_beside(row, seen=row in used) for row in rows)


def _beside(row: Row, *, seen: bool) -> Beside:
    entry = row.entry
    unit = Unit(entry.unit) if entry.unit in set(Unit) else Unit.NONE
    return Beside(
        id=entry.id,
        system=entry.system,
        workload=entry.workload,
        source=entry.source,
        kind_de=row.kind.value,
        published=None if entry.number is None else plain(entry.metric, entry.number, unit, PUBLISHED),
        ours=_predicted(row.question, unit) if row.question else None,
        refused_de=row.refused,
        seen=seen,
    )


def _predicted(question: Question, unit: Unit) -> Figure:
    cycles = EMULATOR.cycles(question.case, _constants())
    known = trust(question.case, record())
    ends = [to_unit(cycles / known.factor, question), to_unit(cycles * known.factor, question)]
    if is_rate(question.case.quantity):
        ends.reverse()
    span = Span(to_unit(cycles, question), ends[0], ends[1])
    return emulated("published_run", span, unit, State(known.state, known.reason))


def _constants() -> Constants:
    constants: Constants = EMULATOR.read(record()["constants"])
    return constants
