"""An abort criterion read back as one plain sentence (screen 3 of the first Vorfreigabe)."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.core.values import decimal_text
from qms.workloads.abort_ast import (
    ActionKind,
    Aggregation,
    BaselineOperand,
    BudgetOperand,
    Combinator,
    Comparison,
    Condition,
    Duration,
    DurationUnit,
    Operand,
    QualityTargetOperand,
    Rule,
    RuleAction,
    Window,
)
from qms.workloads.metrics import catalogue

_BY_GENDER: Final[dict[tuple[Aggregation, str], Promise]] = {
    (Aggregation.AVERAGE, "f"): lazy("die mittlere %(name)s"),
    (Aggregation.AVERAGE, "m"): lazy("der mittlere %(name)s"),
    (Aggregation.AVERAGE, "n"): lazy("das mittlere %(name)s"),
    (Aggregation.MINIMUM, "f"): lazy("die kleinste %(name)s"),
    (Aggregation.MINIMUM, "m"): lazy("der kleinste %(name)s"),
    (Aggregation.MINIMUM, "n"): lazy("das kleinste %(name)s"),
    (Aggregation.MAXIMUM, "f"): lazy("die größte %(name)s"),
    (Aggregation.MAXIMUM, "m"): lazy("der größte %(name)s"),
    (Aggregation.MAXIMUM, "n"): lazy("das größte %(name)s"),
    (Aggregation.LAST, "f"): lazy("die letzte %(name)s"),
    (Aggregation.LAST, "m"): lazy("der letzte %(name)s"),
    (Aggregation.LAST, "n"): lazy("das letzte %(name)s"),
}
_BY_GENITIVE: Final[dict[Aggregation, Promise]] = {
    Aggregation.SUM: lazy("die Summe %(genitive)s"),
    Aggregation.COUNT: lazy("die Anzahl der Werte %(genitive)s"),
    Aggregation.RATE: lazy("die Häufigkeit je Sekunde %(genitive)s"),
    Aggregation.P50: lazy("der Median %(genitive)s"),
    Aggregation.P95: lazy("das 95. Perzentil %(genitive)s"),
    Aggregation.P99: lazy("das 99. Perzentil %(genitive)s"),
    Aggregation.SLOPE: lazy("die Steigung %(genitive)s"),
}
_COMPARISONS: Final[dict[Comparison, Promise]] = {
    Comparison.GREATER: lazy("über %(limit)s"),
    Comparison.GREATER_EQUAL: lazy("bei mindestens %(limit)s"),
    Comparison.LESS: lazy("unter %(limit)s"),
    Comparison.LESS_EQUAL: lazy("bei höchstens %(limit)s"),
    Comparison.EQUAL: lazy("genau bei %(limit)s"),
    Comparison.NOT_EQUAL: lazy("nicht bei %(limit)s"),
}
_ACTIONS: Final[dict[ActionKind, Promise]] = {
    ActionKind.WARN: lazy("warnen"),
    ActionKind.STOP_RUN: lazy("Lauf stoppen"),
    ActionKind.LOCK_NEW_RUNS: lazy("neue Läufe sperren"),
    ActionKind.ACTIVATE_FALLBACK: lazy("Ausweichpfad aktivieren"),
    ActionKind.SUSPEND_APPROVAL: lazy("Freigabe aussetzen"),
    ActionKind.OPEN_INCIDENT: lazy("Vorfall anlegen"),
    ActionKind.NOTIFY: lazy("%(role)s benachrichtigen"),
}


def explain(rule: Rule) -> str:
    """Return one sentence in the active language that says when the rule fires and what then happens."""
    actions = _joined([_action(action) for action in rule.actions])
    if len(rule.conditions) == 1:
        body = _condition(rule.conditions[0], rule.hold)
    else:
        word = _(" und ") if rule.combinator is Combinator.AND else _(" oder ")
        body = word.join(_condition(condition, None) for condition in rule.conditions)
        if rule.hold:
            body = _("%(body)s und das länger als %(hold)s so bleibt") % {
                "body": body,
                "hold": _duration(rule.hold),
            }
    return _("Wenn %(condition)s: %(actions)s.") % {"condition": body, "actions": actions}


def _condition(condition: Condition, hold: Duration | None) -> str:
    values = {
        "subject": _subject(condition),
        "window": _window(condition.window),
        "limit": _COMPARISONS[condition.comparison] % {"limit": _operand(condition.operand)},
    }
    if hold is None:
        return _("%(subject)s über %(window)s %(limit)s liegt") % values
    values["hold"] = _duration(hold)
    return _("%(subject)s über %(window)s länger als %(hold)s %(limit)s liegt") % values


def _subject(condition: Condition) -> str:
    metric = catalogue()[condition.metric]
    pattern = _BY_GENITIVE.get(condition.aggregation)
    if pattern is None:
        text = str(_BY_GENDER[condition.aggregation, metric.gender]) % {"name": metric.name}
    else:
        text = str(pattern) % {"genitive": metric.genitive}
    if condition.filter is None:
        return text
    return f"{text} ({condition.filter.key} = {condition.filter.value})"


def _operand(operand: Operand) -> str:
    if isinstance(operand, QualityTargetOperand):
        return _("dem Qualitätsziel %(id)s") % {"id": operand.target_id}
    if isinstance(operand, BaselineOperand):
        if operand.factor == 1:
            return _("der Vergleichsbasis")
        return _("dem %(factor)s-Fachen der Vergleichsbasis") % {"factor": number(operand.factor)}
    if isinstance(operand, BudgetOperand):
        if operand.factor == 1:
            return _("dem Budget")
        return _("dem %(factor)s-Fachen des Budgets") % {"factor": number(operand.factor)}
    # A narrow no-break space would be finer; the PDF fonts decide that, not the sentence.
    return f"{number(operand.number)}\u00a0{operand.unit}".rstrip()


def number(value: Decimal) -> str:
    """Return a number with group separators: points and decimal comma, unless English is active."""
    english = f"{Decimal(decimal_text(value)):,f}"
    if (get_language() or "de").startswith("en"):
        return english
    return english.translate(str.maketrans(",.", ".,"))


def _duration(duration: Duration) -> str:
    count = duration.count
    patterns = {
        DurationUnit.SECONDS: ngettext("%(count)s Sekunde", "%(count)s Sekunden", count),
        DurationUnit.MINUTES: ngettext("%(count)s Minute", "%(count)s Minuten", count),
        DurationUnit.HOURS: ngettext("%(count)s Stunde", "%(count)s Stunden", count),
        DurationUnit.DAYS: ngettext("%(count)s Tag", "%(count)s Tage", count),
    }
    return patterns[duration.unit] % {"count": count}


def _window(window: Window) -> str:
    if isinstance(window, Duration):
        return _duration(window)
    return ngettext("%(count)s Stichprobe", "%(count)s Stichproben", window.count) % {"count": window.count}


def _action(action: RuleAction) -> str:
    role = action.role.label if action.role else ""
    return str(_ACTIONS[action.kind]) % {"role": role}


def _joined(parts: list[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    return _("%(first)s und %(last)s") % {"first": ", ".join(parts[:-1]), "last": parts[-1]}
