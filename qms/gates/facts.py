"""Everything the criteria may look at, as frozen values: the evaluation is a function of these and the policy.

Persons are ids of natural persons, times are aware UTC, money is EUR, memory is bytes. `None` means "not known",
which is different from "no". Evidence facts stand in `evidence_facts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from qms.gates.business_facts import (
    CapabilityFacts,
    CostFacts,
    DemandFacts,
    EnvironmentFacts,
    LevelsFacts,
    OfferFacts,
    ProfileFacts,
    SuitabilityFacts,
)
from qms.gates.case_facts import (
    CaseFacts,
    ConditionFacts,
    DocumentFacts,
    EarlierResult,
    EvidencePeople,
    Inherited,
    IntegrityFacts,
    SignerFacts,
    ValidityFacts,
    VoteFacts,
)
from qms.gates.choices import (
    ApprovalType,
    ScopeGap,
)
from qms.gates.evidence_facts import (
    BaselineFacts,
    EquivalenceFacts,
    ManifestFacts,
    PortingFacts,
    TargetFacts,
)
from qms.gates.votes import RequiredVotes
from qms.workloads.choices import (
    AiActRiskClass,
    AiActRole,
    Criticality,
    Flag,
    LeavesEnvironment,
    Level,
    LogContent,
    Mode,
    ObjectClass,
    PilotStatus,
    ProtectionNeed,
)
from qms.workloads.inheritance import ClassValue
from qms.workloads.plans import AccessEntry, RetentionEntry
from qms.workloads.rules import AbortRuleValues, FallbackValues, PilotValues, QualityTargetValues


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """The workload as it stands (G0); empty text or None where nothing was entered."""

    title: str
    purpose: str = ""
    business_process: str = ""
    criticality: Criticality | None = None
    mode: Mode | None = None
    model_ref: str = ""
    model_digest: str = ""
    model_file_level: Level | None = None
    owner: UUID | None = None
    owner_active: bool = False
    owner_accepted_at: datetime | None = None
    deputy: UUID | None = None
    ai_act_role: AiActRole | None = None
    ai_act_risk_class: AiActRiskClass | None = None


@dataclass(frozen=True, slots=True)
class ObjectClassFacts:
    """One classified object class; confirmed_by is None until another person has confirmed it (P05)."""

    object_class: ObjectClass
    level: Level
    flags: tuple[Flag, ...] = ()
    protection_c: ProtectionNeed | None = None
    protection_i: ProtectionNeed | None = None
    protection_a: ProtectionNeed | None = None
    classified_by: UUID | None = None
    confirmed_by: UUID | None = None
    confirmed_at: datetime | None = None
    downgrade_evidence: str = ""
    contact_data_only: bool = False

    def value(self) -> ClassValue:
        """Return level and flags for the rules of 4.3."""
        return ClassValue(self.level, self.flags, self.downgrade_evidence, self.contact_data_only)


@dataclass(frozen=True, slots=True)
class LocationFacts:
    """Where data are processed (G1-3, G1-9)."""

    leaves_own_env: LeavesEnvironment | None = None
    provider: str = ""
    region: str = ""
    country: str = ""
    third_country: bool | None = None
    transfer_tool_valid_until: datetime | None = None
    transfer_assessment: bool = False


@dataclass(frozen=True, slots=True)
class PersonalDataFacts:
    """What G1-8, G1-10 and G1-13 ask where the flags apply."""

    legal_basis: str = ""
    vvt_id: str = ""
    dpia_required: bool | None = None
    dpia_done: bool = False
    ds_opinion: bool = False
    agreement_valid_until: datetime | None = None
    special_category_ground: str = ""
    works_council_status: str = ""
    secrets_accreditation: str = ""


@dataclass(frozen=True, slots=True)
class ClassificationFacts:
    """All of G1; classes holds only what was classified; decided_at is the time of the confirmation of G1."""

    classes: tuple[ObjectClassFacts, ...] = ()
    log_content: LogContent | None = None
    location: LocationFacts = LocationFacts()
    access: tuple[AccessEntry, ...] = ()
    retention: tuple[RetentionEntry, ...] = ()
    personal: PersonalDataFacts = PersonalDataFacts()
    decided_at: datetime | None = None

    def values(self) -> dict[ObjectClass, ClassValue]:
        """Return level and flags by object class."""
        return {item.object_class: item.value() for item in self.classes}

    def has(self, flag: Flag) -> bool:
        """Return whether any class carries the flag."""
        return any(flag in item.flags for item in self.classes)


@dataclass(frozen=True, slots=True)
class PilotFacts:
    """Frame and state of the pilot."""

    values: PilotValues
    status: PilotStatus


@dataclass(frozen=True, slots=True)
class FreezeFacts:
    """The frozen criteria; current_sha256 is the digest of the criteria as they are now.

    change_approved: a change after the freeze went through P10.
    """

    frozen_at: datetime | None = None
    frozen_sha256: str = ""
    current_sha256: str = ""
    change_approved: bool = False


@dataclass(frozen=True, slots=True)
class TargetRunFacts:
    """One target run that counts (exit state completed, not invalidated)."""

    run_id: str
    started_at: datetime
    criteria_sha256: str


def gap_of(baseline: BaselineFacts | None) -> ScopeGap | None:
    """Return why a baseline allows no comparison, None where it does."""
    if baseline is None:
        return ScopeGap.NO_BASELINE
    return ScopeGap.DEVELOPMENT_MACHINE if baseline.platform.development_machine else None


@dataclass(frozen=True)
class Facts:
    """All facts of one evaluation.

    now: time of the evaluation; runs: target runs that count, in any order; covered: ids of W criteria covered by a
    condition or waiver; conditions: those of the decision; inherited: by evidence type; platforms_differ: names of the
    platform of the target run and of the pilot, None where they are one; deviation_reason: written
    reason for deciding against a refusal or objection; required and earlier are filled by the engine.
    """

    approval_type: ApprovalType
    now: datetime
    workload: WorkloadFacts
    classification: ClassificationFacts = ClassificationFacts()
    pilot: PilotFacts | None = None
    targets: tuple[QualityTargetValues, ...] = ()
    abort_rules: tuple[AbortRuleValues, ...] = ()
    fallback: FallbackValues | None = None
    freeze: FreezeFacts = FreezeFacts()
    baseline: BaselineFacts | None = None
    target: TargetFacts | None = None
    equivalence: EquivalenceFacts | None = None
    porting: PortingFacts | None = None
    manifest: ManifestFacts | None = None
    suitability: SuitabilityFacts | None = None
    profile: ProfileFacts | None = None
    costs: CostFacts | None = None
    demand: DemandFacts | None = None
    levels: LevelsFacts | None = None
    offer: OfferFacts | None = None
    environment: EnvironmentFacts | None = None
    capability: CapabilityFacts | None = None
    inherited: Mapping[str, Inherited] = field(default_factory=dict)
    platforms_differ: tuple[str, str] | None = None
    runs: tuple[TargetRunFacts, ...] = ()
    evidence: tuple[EvidencePeople, ...] = ()
    votes: tuple[VoteFacts, ...] = ()
    case: CaseFacts = field(default_factory=CaseFacts)
    integrity: IntegrityFacts | None = None
    validity: ValidityFacts | None = None
    document: DocumentFacts = field(default_factory=DocumentFacts)
    signer: SignerFacts | None = None
    deviation_reason: str = ""
    covered: frozenset[str] = frozenset()
    conditions: tuple[ConditionFacts, ...] = ()
    required: RequiredVotes = field(default_factory=lambda: RequiredVotes((), 1))
    earlier: tuple[EarlierResult, ...] = ()

    def gap(self) -> ScopeGap | None:
        """Return why nothing may be compared, None where the baseline is the platform in use (EM-12)."""
        return gap_of(self.baseline)

    def reviewed(self, evidence_type: str) -> bool:
        """Whether a second person reviewed evidence of the type, in `kompakt` with the one review act."""
        items = [item for item in self.evidence if item.type == evidence_type and item.usable]
        return any(item.reviewer is not None and item.reviewer != item.producer for item in items)

    def level(self) -> Level | None:
        """Return the workload level if every class is classified, else None (there is no default level)."""
        if len(self.classification.classes) < len(ObjectClass):
            return None
        return max((item.level for item in self.classification.classes), key=list(Level).index)

    def flags(self) -> frozenset[Flag]:
        """Return the flags of all classes."""
        return frozenset(flag for item in self.classification.classes for flag in item.flags)
