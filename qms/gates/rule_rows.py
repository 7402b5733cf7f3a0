"""The rows of a rule set: criteria, what is not checked, subjects, scopes, what a version covers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qms.core.coded import localized
from qms.gates.choices import ApprovalType, CriterionKind, Due, Scope
from qms.roles.roles import Role
from qms.workloads.choices import AiActRiskClass, Flag, Level


@dataclass(frozen=True)
class Criterion:
    """One row: what is asked, why, who can close it and how; texts are German, titles also English.

    kinds: NW or W by approval type; who: standard role, read through the role map; due: the step it blocks; scope:
    when it is judged at all, None always.
    """

    id: str
    gate: str
    title_de: str
    question_de: str
    why_de: str
    check: str
    kinds: Mapping[ApprovalType, CriterionKind]
    who: Role
    how_de: str
    evidence: tuple[str, ...]
    policy: tuple[str, ...]
    due: Due
    seeds: tuple[str, ...]
    scope: Scope | None
    row: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Return the title in the active language."""
        return localized(self.row, "title")

    @property
    def question(self) -> str:
        """Return what is asked, in the active language."""
        return localized(self.row, "question")

    @property
    def why(self) -> str:
        """Return why it is asked, in the active language."""
        return localized(self.row, "why")

    @property
    def how(self) -> str:
        """Return how it is closed, in the active language."""
        return localized(self.row, "how")

    def outside(self, gap: Mapping[str, str]) -> NotChecked:
        """Return the row of a criterion whose scope is not given; gap: why, German and English."""
        row = {"title_de": self.title_de, "title_en": self.row["title_en"], **gap}
        return NotChecked(self.id, self.gate, self.title_de, tuple(self.kinds), gap["reason_de"], row)


@dataclass(frozen=True)
class NotChecked:
    """A criterion of the specification this version cannot judge, with the German reason."""

    id: str
    gate: str
    title_de: str
    applies_to: tuple[ApprovalType, ...]
    reason_de: str
    row: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Return the title in the active language."""
        return localized(self.row, "title")

    @property
    def reason(self) -> str:
        """Return why it is not checked, in the active language."""
        return localized(self.row, "reason")


@dataclass(frozen=True)
class Subject:
    """One subject of the single co-signature of `kompakt`; its refusal has the effect of standard_role (4.4)."""

    code: str
    name_de: str
    standard_role: Role
    gates: tuple[str, ...]
    row: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return the name in the active language."""
        return localized(self.row, "name")


@dataclass(frozen=True)
class Covers:
    """What this version has criteria for (EM-13)."""

    approval_types: tuple[ApprovalType, ...]
    levels: tuple[Level, ...]
    flags: tuple[Flag, ...]
    risk_classes: tuple[AiActRiskClass, ...]


def subject_from(row: Mapping[str, Any]) -> Subject:
    """Read a subject; raises KeyError or ValueError, like all readers here."""
    return Subject(row["code"], row["name_de"], Role(row["standard_role"]), tuple(row["gates"]), row)


def covers_from(row: Mapping[str, Any]) -> Covers:
    """Read what a version covers."""
    return Covers(
        tuple(ApprovalType(code) for code in row["approval_types"]),
        tuple(Level(code) for code in row["levels"]),
        tuple(Flag(code) for code in row["flags"]),
        tuple(AiActRiskClass(code) for code in row["risk_classes"]),
    )


def criterion_from(row: Mapping[str, Any]) -> Criterion:
    """Read one criterion."""
    return Criterion(
        id=row["id"],
        gate=row["gate"],
        title_de=row["title_de"],
        question_de=row["question_de"],
        why_de=row["why_de"],
        check=row["check"],
        kinds={ApprovalType(key): CriterionKind(value) for key, value in row["kind_by_type"].items()},
        who=Role(row["who"]),
        how_de=row["how_de"],
        evidence=tuple(row["evidence"]),
        policy=tuple(row["policy"]),
        due=Due(row["due"]),
        seeds=tuple(row["seeds"]),
        scope=Scope(row["scope"]) if "scope" in row else None,
        row=row,
    )


def not_checked_from(row: Mapping[str, Any]) -> NotChecked:
    """Read one criterion that is not checked."""
    applies = tuple(ApprovalType(code) for code in row["applies_to"])
    return NotChecked(row["id"], row["gate"], row["title_de"], applies, row["reason_de"], row)
