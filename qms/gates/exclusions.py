"""The exclusions A1 to A4 (spec 3.6): when the platform is the wrong tool, and what cannot be told yet. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from qms.gates.business_facts import SuitabilityFacts
from qms.gates.facts import Facts
from qms.gates.outcome import apart, german, share
from qms.gates.policy import Policy
from qms.workloads.choices import AlternativeOption, UsageKind

_TRIAL: Final = {UsageKind.PROTOTYPE.value: "Prototyp", UsageKind.NOTEBOOK.value: "Notebook"}
_SMALL: Final = AlternativeOption.MANAGED_API
_SPECIAL: Final = AlternativeOption.OPTIMISED_GPU


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One exclusion that applies; clause_de completes "weil …", alternative: what suits better."""

    code: str
    value_de: str
    clause_de: str
    alternative: AlternativeOption


def excluded(facts: Facts, policy: Policy) -> tuple[Exclusion, ...]:
    """Return the exclusions that apply, in order; an unknown answer excludes nothing."""
    checks: tuple[Callable[[Facts, Policy], Exclusion | None], ...] = (_a1, _a2, _a3, _a4)
    return tuple(found for check in checks if (found := check(facts, policy)) is not None)


def unanswered(facts: Facts, policy: Policy) -> list[str]:
    """Return the German names of what is missing to tell whether an exclusion applies."""
    answers = facts.suitability
    if answers is None:
        return ["Angaben zur Eignung"]
    gaps = [] if answers.usage_kind else ["Art der Nutzung"]
    if not _served_daily(answers):
        small_model = answers.params_b is None or answers.params_b < policy.number(
            "POL-39", "A1_params_below"
        )
        gaps += ["geplante Läufe"] if small_model and answers.planned_runs is None else []
        single = answers.planned_runs is not None and answers.planned_runs <= _single_runs(policy)
        gaps += ["Zahl der Parameter"] if single and answers.params_b is None else []
        small_team = answers.team_size is None or answers.team_size <= policy.integer(
            "POL-39", "A3_team_size_max"
        )
        gaps += ["Läufe je Monat"] if small_team and answers.runs_per_month is None else []
        rare = answers.runs_per_month is not None and answers.runs_per_month < _rare_runs(policy)
        gaps += ["Größe des Teams"] if rare and answers.team_size is None else []
    return gaps if operators(facts) else [*gaps, "Übersetzungsbericht der Vorprüfung (EV-05)"]


def operators(facts: Facts) -> tuple[int, int] | None:
    """Return unsupported and all operations of the model, from EV-05 or else EV-04; None where not compiled yet."""
    porting, target = facts.porting, facts.target
    if porting and porting.total_ops and porting.unsupported_ops is not None:
        return porting.unsupported_ops, porting.total_ops
    if target is None:
        return None
    missing = len(target.unsupported_ops)
    total = missing + len(target.covered_ops)
    return (missing, total) if total else None


def _a1(facts: Facts, policy: Policy) -> Exclusion | None:
    answers = facts.suitability
    if answers is None or answers.params_b is None or answers.planned_runs is None or _served_daily(answers):
        return None
    below = policy.number("POL-39", "A1_params_below")
    if answers.params_b >= below or answers.planned_runs > _single_runs(policy):
        return None
    size = apart(answers.params_b, below, lambda value, places: german(round(value, places)))[0]
    runs = "ein Lauf" if answers.planned_runs == 1 else f"{answers.planned_runs} Läufe"
    value = f"{size} Mrd. Parameter, {runs} geplant"
    return Exclusion("A1", value, f"es ein kleines Einzelvorhaben ist ({value})", _SMALL)


def _a2(facts: Facts, policy: Policy) -> Exclusion | None:
    kind = facts.suitability.usage_kind if facts.suitability else ""
    if kind not in _TRIAL:
        return None
    return Exclusion("A2", _TRIAL[kind], f"der Einsatz ein {_TRIAL[kind]} ist", _SMALL)


def _a3(facts: Facts, policy: Policy) -> Exclusion | None:
    answers = facts.suitability
    if (
        answers is None
        or answers.runs_per_month is None
        or answers.team_size is None
        or _served_daily(answers)
    ):
        return None
    largest = policy.integer("POL-39", "A3_team_size_max")
    if answers.runs_per_month >= _rare_runs(policy) or answers.team_size > largest:
        return None
    value = f"{german(answers.runs_per_month)} Läufe im Monat, Team von {answers.team_size}"
    return Exclusion("A3", value, f"ein kleines Team sie nur unregelmäßig nutzt ({value})", _SMALL)


def _a4(facts: Facts, policy: Policy) -> Exclusion | None:
    found = operators(facts)
    if found is None or found[0] == 0:
        return None
    ratio, limit = Decimal(found[0]) / found[1], policy.share("POL-09", "exclude_above")
    strict = policy.raw("POL-09", "any_without_substitute")["value"] is True
    if ratio <= limit and not strict:
        return None
    count = f"{found[0]} von {found[1]} Operationen ({share(ratio)})"
    return Exclusion("A4", f"{count} ohne Ersatz", f"es für {count} keinen Ersatz gibt", _SPECIAL)


def _served_daily(answers: SuitabilityFacts) -> bool:
    """A service asked every day is neither a single experiment nor irregular use."""
    return answers.requests_per_day is not None and answers.requests_per_day > 0


def _single_runs(policy: Policy) -> int:
    return policy.integer("POL-39", "A1_planned_runs_max")


def _rare_runs(policy: Policy) -> Decimal:
    return policy.number("POL-39", "A3_runs_per_month_below")
