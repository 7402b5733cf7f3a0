"""Facts of the case beside the content: evidence and its people, votes, signing act, document, validity. Pure.

Persons are ids of natural persons, times are aware UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from uuid import UUID

from qms.gates.choices import CriterionKind, CriterionResult, OpinionValue, SignatureMethod, VoteValue
from qms.roles.roles import Role


@dataclass(frozen=True, slots=True)
class EvidencePeople:
    """Who produced and who reviewed one piece of evidence; usable: not rejected, invalid or tampered.

    inherited: recorded and reviewed once at the platform or the organisation (3.7.5).
    """

    type: str
    producer: UUID | None
    reviewer: UUID | None
    usable: bool = True
    inherited: bool = False


@dataclass(frozen=True, slots=True)
class Inherited:
    """Where evidence comes from that the workload does not own (3.7.5): source is a German name."""

    source_de: str
    valid_until: date | None

    def sentence_de(self) -> str:
        """Return "übernommen von Plattform …, gültig bis …"."""
        until = f", gültig bis {self.valid_until:%d.%m.%Y}" if self.valid_until else ""
        return f"übernommen von {self.source_de}{until}"


@dataclass(frozen=True, slots=True)
class VoteFacts:
    """One vote or opinion; subjects maps codes of subjects to their value (`kompakt`), else `value` counts.

    outdated: bound to another dossier than the current one.
    """

    role: Role
    person: UUID
    value: VoteValue | None = None
    subjects: Mapping[str, VoteValue] = field(default_factory=dict)
    opinion: OpinionValue | None = None
    opinion_criteria: tuple[str, ...] = ()
    outdated: bool = False


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """Who did what in this case (G7-3); deciders: approvers so far, the acting one included."""

    requester: UUID | None = None
    lead: UUID | None = None
    workers: frozenset[UUID] = frozenset()
    reviewer: UUID | None = None
    deciders: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class IntegrityFacts:
    """Result of re-hashing every evidence file and verifying the log just now."""

    files: int
    changed: tuple[str, ...]
    log_ok: bool


@dataclass(frozen=True, slots=True)
class ValidityFacts:
    """Intended validity of the approval."""

    valid_from: datetime
    valid_until: datetime


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """The signed document; notice: the sentence of EM-08 stands on page 1; None where not yet known."""

    notice: bool | None = None
    sealed: bool | None = None
    verified: bool | None = None


@dataclass(frozen=True, slots=True)
class SignerFacts:
    """The act of the signing person; bound_sha256: digest the act covers, expected_sha256: what it must cover."""

    method: SignatureMethod
    user_verified: bool
    authenticated_at: datetime
    bound_sha256: str
    expected_sha256: str
    meaning: str


@dataclass(frozen=True, slots=True)
class ConditionFacts:
    """One condition of the decision (G7-7).

    owner: None unless an active person answers for it; days: from the day of the decision to the due date; None
    where there is no date.
    """

    criterion: str
    measure: str
    owner: UUID | None
    days: int | None


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """Result of a criterion evaluated before; filled by the engine for G7-1."""

    id: str
    gate: str
    kind: CriterionKind
    result: CriterionResult
