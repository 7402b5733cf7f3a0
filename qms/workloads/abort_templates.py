"""Templates AB-01 to AB-15 as data, and the set that is filled in for a new workload (G0-7). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final

from qms.core import canonical
from qms.core.values import decimal_text
from qms.workloads import levels
from qms.workloads.choices import AbortCategory, AbortPhase, Flag, Level, MissingData, Mode

_FILE: Final = Path(__file__).parent / "data" / "abort_templates.json"
_LATENCY_LIMIT: Final = "1200 ms"  # the threshold written in AB-07


@dataclass(frozen=True, slots=True)
class AbortTemplate:
    """One row of spec 3.11; rules holds one or more rule texts, severity the class of the incident it opens."""

    id: str
    category: AbortCategory
    phase: AbortPhase
    name_de: str
    severity: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DefaultRule:
    """One prefilled abort criterion; template names the row it comes from, the text can be changed."""

    template: str
    category: AbortCategory
    phase: AbortPhase
    name_de: str
    text: str
    severity: str
    missing_data: MissingData
    evaluation_interval_s: int
    min_samples: int


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = canonical.loads(_FILE.read_bytes())
    return document


@cache
def templates() -> dict[str, AbortTemplate]:
    """Return all templates by id."""
    return {
        row["id"]: AbortTemplate(
            row["id"],
            AbortCategory(row["category"]),
            AbortPhase(row["phase"]),
            row["name_de"],
            row["severity"],
            tuple(row["rules"]),
        )
        for row in _document()["templates"]
    }


def needs_privacy_rules(level: Level | None, flags: Iterable[Flag]) -> bool:
    """Return whether G0-7 asks for DATENSCHUTZ: from K2 on, or with personal data."""
    high = level is not None and levels.rank(level) >= levels.rank(Level.CONFIDENTIAL)
    return high or Flag.PERSONAL_DATA in set(flags)


def needed_categories(
    mode: Mode | None, level: Level | None, flags: Iterable[Flag]
) -> tuple[AbortCategory, ...]:
    """Return the categories that need at least one rule (G0-7 and the minimum of spec 3.11)."""
    needed = [AbortCategory.QUALITY, AbortCategory.STABILITY, AbortCategory.COST]
    if mode is Mode.INFERENCE:
        needed.append(AbortCategory.LATENCY)
    if needs_privacy_rules(level, flags):
        needed.append(AbortCategory.PRIVACY)
    return tuple(needed)


def missing_data_default(category: AbortCategory, level: Level | None) -> MissingData:
    """Return what missing values mean: a violation for DATENSCHUTZ and K3, else a warning (spec 3.11)."""
    strict = category is AbortCategory.PRIVACY or level is Level.STRICTLY_CONFIDENTIAL
    return MissingData.VIOLATION if strict else MissingData.WARN


def default_rules(
    mode: Mode,
    level: Level | None,
    flags: Iterable[Flag] = (),
    *,
    latency_limit_ms: Decimal | None = None,
) -> tuple[DefaultRule, ...]:
    """Return the prefilled rules that satisfy G0-7; `latency_limit_ms` replaces the limit of AB-07."""
    privacy = needs_privacy_rules(level, flags)
    rules: list[DefaultRule] = []
    for row in _document()["defaults"]:
        if mode.value not in row["modes"] or (row["when"] == "PRIVACY" and not privacy):
            continue
        template = templates()[row["template"]]
        rules += [_default(template, text, level, latency_limit_ms) for text in template.rules]
    return tuple(rules)


def _default(template: AbortTemplate, text: str, level: Level | None, latency: Decimal | None) -> DefaultRule:
    if latency is not None:
        text = text.replace(_LATENCY_LIMIT, f"{decimal_text(latency)} ms")
    return DefaultRule(
        template.id,
        template.category,
        template.phase,
        template.name_de,
        text,
        template.severity,
        missing_data_default(template.category, level),
        _document()["evaluation_interval_s"],
        _document()["min_samples"],
    )
