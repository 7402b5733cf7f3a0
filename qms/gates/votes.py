"""Which votes and how many approvers an approval needs (spec 4.4, resolved by the rule set). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from qms.gates.choices import ApprovalType, ScopeGap
from qms.gates.errors import RuleSetError
from qms.gates.rule_sets import RuleSet
from qms.roles.roles import Role
from qms.workloads import levels
from qms.workloads.choices import AiActRiskClass, Flag, Level

_LETTER = {
    ApprovalType.PILOT: "P",
    ApprovalType.PRELIMINARY: "V",
    ApprovalType.PRODUCTION: "RK",
    ApprovalType.CAPACITY: "RK",
}
HIGH_RISK = frozenset({AiActRiskClass.HIGH_RISK_ANNEX_I, AiActRiskClass.HIGH_RISK_ANNEX_III})


@dataclass(frozen=True, slots=True)
class RequiredVote:
    """One vote that must be present.

    subjects: codes of the subjects answered separately, empty outside `kompakt`; opinion: an opinion of the data
    protection officer, not a vote.
    """

    role: Role
    subjects: tuple[str, ...] = ()
    opinion: bool = False


@dataclass(frozen=True, slots=True)
class RequiredVotes:
    """All votes and the number of distinct approvers."""

    votes: tuple[RequiredVote, ...]
    approvers: int


def required_votes(
    rule_set: RuleSet,
    approval_type: ApprovalType,
    *,
    level: Level | None,
    flags: Iterable[Flag],
    risk_class: AiActRiskClass | None,
    budget_eur: Decimal | None,
    gap: ScopeGap | None,
) -> RequiredVotes:
    """Return what 4.4 asks for; an unknown level counts as K3, so that nothing is asked too little.

    gap: why nothing is compared; then no subject is asked that only a comparison has criteria for.
    """
    marks = frozenset(flags)
    column = f"{_LETTER[approval_type]}_{_band(level, marks, risk_class)}"
    found: list[RequiredVote] = []
    for name, row in rule_set.votes.items():
        if name == "FG_PERSONS" or not _asked(row[column], marks, budget_eur, rule_set):
            continue
        role = Role(name)
        subjects = rule_set.asked_subjects(gap) if role is rule_set.review_role else ()
        codes = tuple(subject.code for subject in subjects)
        found.append(RequiredVote(role, codes, opinion=role is Role.DATA_PROTECTION))
    approvers = rule_set.votes["FG_PERSONS"][column]
    if not isinstance(approvers, int):
        raise RuleSetError(f"{rule_set.label}: FG_PERSONS/{column} is not a number")
    return RequiredVotes(tuple(found), approvers)


def _band(level: Level | None, flags: frozenset[Flag], risk_class: AiActRiskClass | None) -> str:
    top = level is None or level is Level.STRICTLY_CONFIDENTIAL
    if top or Flag.SPECIAL_CATEGORIES in flags or risk_class in HIGH_RISK:
        return "K3_FBK_HIGHRISK"
    if level is not None and levels.rank(level) >= levels.rank(Level.CONFIDENTIAL):
        return "K2_FPB"
    return "K2_FPB" if Flag.PERSONAL_DATA in flags else "K0K1"


def _asked(cell: str | int, flags: frozenset[Flag], budget_eur: Decimal | None, rule_set: RuleSet) -> bool:
    if cell == "IF: F-PB":
        return Flag.PERSONAL_DATA in flags
    if cell == "IF: budget > POL-50":
        limit = rule_set.policy.number("POL-50", "budget_above")
        return budget_eur is None or budget_eur > limit
    return cell == "REQUIRED"
