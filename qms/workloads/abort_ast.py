"""The abort criterion as data: frozen nodes, canonical text and stored JSON (spec 3.11). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, TypeAlias

from qms.core.values import decimal_text
from qms.roles.roles import Role


class Aggregation(StrEnum):
    """How the values of a window become one value."""

    AVERAGE = "avg"
    MINIMUM = "min"
    MAXIMUM = "max"
    SUM = "sum"
    COUNT = "count"
    RATE = "rate"
    P50 = "p50"
    P95 = "p95"
    P99 = "p99"
    LAST = "last"
    SLOPE = "slope"


class Comparison(StrEnum):
    """The comparison of the windowed value with the operand."""

    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="


class Combinator(StrEnum):
    """What joins the conditions of one rule."""

    AND = "UND"
    OR = "ODER"


class DurationUnit(StrEnum):
    """Units of a duration."""

    SECONDS = "s"
    MINUTES = "min"
    HOURS = "h"
    DAYS = "d"


class ActionKind(StrEnum):
    """What happens when the rule fires."""

    WARN = "WARNEN"
    STOP_RUN = "LAUF_STOPPEN"
    LOCK_NEW_RUNS = "NEUE_LAEUFE_SPERREN"
    ACTIVATE_FALLBACK = "AUSWEICHPFAD_AKTIVIEREN"
    SUSPEND_APPROVAL = "FREIGABE_AUSSETZEN"
    OPEN_INCIDENT = "VORFALL_ANLEGEN"
    NOTIFY = "BENACHRICHTIGEN"


_SECONDS: Final = {
    DurationUnit.SECONDS: 1,
    DurationUnit.MINUTES: 60,
    DurationUnit.HOURS: 3600,
    DurationUnit.DAYS: 86400,
}
_MILLISECONDS: Final = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}


@dataclass(frozen=True, slots=True)
class Duration:
    """A time span of whole units."""

    count: int
    unit: DurationUnit

    @property
    def seconds(self) -> int:
        """Return the span in seconds."""
        return self.count * _SECONDS[self.unit]

    def text(self) -> str:
        """Return the canonical text."""
        return f"{self.count} {self.unit.value}"


@dataclass(frozen=True, slots=True)
class Samples:
    """A window of a number of samples."""

    count: int

    def text(self) -> str:
        """Return the canonical text."""
        return f"{self.count} STICHPROBEN"


Window: TypeAlias = Duration | Samples


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number with the unit as written; "" if none was written."""

    number: Decimal
    unit: str

    def text(self) -> str:
        """Return the canonical text."""
        return f"{decimal_text(self.number)} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class BaselineOperand:
    """The frozen baseline value of the same metric, times a factor."""

    factor: Decimal

    def text(self) -> str:
        """Return the canonical text."""
        return _with_factor("BASELINE", self.factor)


@dataclass(frozen=True, slots=True)
class BudgetOperand:
    """The budget cap of the pilot in EUR, times a factor."""

    factor: Decimal

    def text(self) -> str:
        """Return the canonical text."""
        return _with_factor("BUDGET", self.factor)


@dataclass(frozen=True, slots=True)
class QualityTargetOperand:
    """The threshold of the quality target with this id."""

    target_id: str

    def text(self) -> str:
        """Return the canonical text."""
        return f"QUALITAETSZIEL {self.target_id}"


Operand: TypeAlias = Threshold | BaselineOperand | BudgetOperand | QualityTargetOperand


@dataclass(frozen=True, slots=True)
class MetricFilter:
    """Narrows a metric to the values that carry `key` = `value`."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison of a windowed metric."""

    aggregation: Aggregation
    metric: str
    filter: MetricFilter | None
    window: Window
    comparison: Comparison
    operand: Operand

    def text(self) -> str:
        """Return the canonical text."""
        chosen = f"[{self.filter.key}={self.filter.value}]" if self.filter else ""
        head = f"{self.aggregation.value}({self.metric}{chosen})"
        return f"{head} UEBER {self.window.text()} {self.comparison.value} {self.operand.text()}"

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {
            "aggregation": self.aggregation.value,
            "metric": self.metric,
            "filter": {"key": self.filter.key, "value": self.filter.value} if self.filter else None,
            "window": self.window.text(),
            "cmp": self.comparison.value,
            "operand": self.operand.text(),
        }


@dataclass(frozen=True, slots=True)
class RuleAction:
    """One action; role only for BENACHRICHTIGEN."""

    kind: ActionKind
    role: Role | None = None

    def text(self) -> str:
        """Return the canonical text."""
        return self.kind.value if self.role is None else f"{self.kind.value}({self.role.value})"


@dataclass(frozen=True, slots=True)
class Rule:
    """A parsed abort criterion; hold is the FUER time, combinator is None for a single condition."""

    conditions: tuple[Condition, ...]
    combinator: Combinator | None
    hold: Duration | None
    actions: tuple[RuleAction, ...]

    def text(self) -> str:
        """Return the canonical text: single spaces, decimal point, `parse(rule.text()) == rule`."""
        joined = f" {self.combinator.value if self.combinator else ''} ".join(
            condition.text() for condition in self.conditions
        )
        hold = f" FUER {self.hold.text()}" if self.hold else ""
        return f"WENN {joined}{hold} DANN {', '.join(action.text() for action in self.actions)}"

    def to_json(self) -> dict[str, Any]:
        """Return the grammar part of the stored JSON of spec 3.11; the record adds category, owner and version."""
        return {
            "conditions": [condition.to_json() for condition in self.conditions],
            "combinator": self.combinator.value if self.combinator else None,
            "for": self.hold.text() if self.hold else None,
            "actions": [action.text() for action in self.actions],
        }


def convertible(unit: str, metric_unit: str) -> bool:
    """Return whether a threshold written in `unit` can be compared with a metric of `metric_unit`."""
    if metric_unit in {"*", unit}:
        return True
    if unit == "%":
        return metric_unit == "ratio"
    return unit in _MILLISECONDS and metric_unit in _MILLISECONDS


def in_metric_unit(threshold: Threshold, metric_unit: str) -> Decimal:
    """Return the number in the unit of the metric: % of a ratio is divided by 100, times are converted."""
    if not threshold.unit or metric_unit in {threshold.unit, "*"}:
        return threshold.number
    if threshold.unit == "%":
        return threshold.number / 100
    return threshold.number * _MILLISECONDS[threshold.unit] / _MILLISECONDS[metric_unit]


def _with_factor(word: str, factor: Decimal) -> str:
    return word if factor == 1 else f"{word} * {decimal_text(factor)}"
