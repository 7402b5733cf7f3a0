"""Access plan (G1-4) and retention plan (G1-5), prefilled from spec 4.2 and 3.16 for a level. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from qms.core import canonical
from qms.workloads.choices import Level, LogContent, ObjectClass

_FILE: Final = Path(__file__).parent / "data" / "plans.json"


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """Who sees one object class.

    principals: named groups, roles or persons, never "*"; provider_roles: roles of the provider with access;
    provider_answered: whether the question about provider access was answered (an empty list is an answer).
    """

    object_class: ObjectClass
    principals: tuple[str, ...]
    purpose: str
    provider_roles: tuple[str, ...] = ()
    provider_answered: bool = True


@dataclass(frozen=True, slots=True)
class RetentionEntry:
    """How long one object class is kept and what happens then; period in days."""

    object_class: ObjectClass
    rc_class: str
    start_de: str
    period_days: int
    action_de: str


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = canonical.loads(_FILE.read_bytes())
    return document


def version() -> str:
    """Return the version of the plan tables."""
    return str(_document()["version"])


def access_plan(values: Mapping[ObjectClass, Level]) -> tuple[AccessEntry, ...]:
    """Return the prefilled access plan for logs, checkpoints and weights at their levels."""
    table = _document()["access"]
    return tuple(
        AccessEntry(key, tuple(table[key.value][values[key].value]), "Betrieb und Auswertung des Piloten")
        for key in ObjectClass
        if key.value in table and key in values
    )


def retention_plan(
    values: Mapping[ObjectClass, Level], log_content: LogContent
) -> tuple[RetentionEntry, ...]:
    """Return the prefilled retention plan: for each class the longest period its level allows."""
    return tuple(
        RetentionEntry(
            key,
            row["rc_class"],
            row["start_de"],
            row["max_days"][values[key].value],
            row["action_de"],
        )
        for key in ObjectClass
        if key in values
        for row in [_retention_row(key, log_content)]
    )


def max_days(object_class: ObjectClass, level: Level, log_content: LogContent) -> int:
    """Return the longest period in days for the class at this level."""
    return int(_retention_row(object_class, log_content)["max_days"][level.value])


def _retention_row(object_class: ObjectClass, log_content: LogContent) -> Mapping[str, Any]:
    name = object_class.value
    if object_class is ObjectClass.LOGS_TELEMETRY:
        name = f"{name}/{log_content.value}"
    rows: list[dict[str, Any]] = _document()["retention"]
    return next(row for row in rows if row["object"] == name)
