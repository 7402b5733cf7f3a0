"""From rows and evidence files to the frozen facts the criteria look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from qms.core import canonical, store
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.gates import business_readers, evidence_facts
from qms.gates.business_facts import CostFacts
from qms.gates.case_facts import CaseFacts, EvidencePeople, Inherited
from qms.gates.choices import ApprovalType, ScopeGap
from qms.gates.evidence_facts import EvidenceFormatError, TargetFacts
from qms.gates.facts import (
    ClassificationFacts,
    Facts,
    FreezeFacts,
    LocationFacts,
    ObjectClassFacts,
    PilotFacts,
    TargetRunFacts,
    WorkloadFacts,
    gap_of,
)
from qms.gates.suitability import suitability_facts
from qms.workloads import selectors as workloads
from qms.workloads.choices import (
    AbortCategory,
    AiActRiskClass,
    AiActRole,
    Comparator,
    Criticality,
    Flag,
    LeavesEnvironment,
    Level,
    Mode,
    ObjectClass,
    PilotStatus,
    ProtectionNeed,
)
from qms.workloads.models import PlatformProfile, Workload
from qms.workloads.plans import AccessEntry, RetentionEntry
from qms.workloads.rules import AbortRuleValues, FallbackValues, PilotValues, QualityTargetValues
from qms.workloads.services import classification

USABLE = ("NEU", "GEPRUEFT")
_T = TypeVar("_T")


def facts_for(
    workload: Workload,
    approval_type: ApprovalType,
    *,
    at: datetime,
    items: Sequence[EvidenceItem],
    reviewer_id: UUID | None = None,
) -> Facts:
    """Return the facts of a workload as of `at`; with `reviewer_id`, as if that person had reviewed `items`."""
    by_type = {item.type: item for item in items}
    target = _fact(by_type, EvidenceType.TARGET_REPORT, evidence_facts.target_from)
    return Facts(
        approval_type=approval_type,
        now=at,
        workload=_workload(workload),
        classification=_classification(workload),
        pilot=_pilot(workload),
        targets=quality_targets(workload),
        abort_rules=tuple(
            AbortRuleValues(AbortCategory(rule.category), rule.text, parsed=True)
            for rule in workload.abort_criteria.all()
        ),
        fallback=_fallback(workload),
        freeze=FreezeFacts(
            frozen_at=workload.criteria_frozen_at,
            frozen_sha256=workload.criteria_sha256,
            current_sha256=canonical.digest(workloads.criteria(workload)),
        ),
        baseline=_fact(by_type, EvidenceType.BASELINE_REPORT, evidence_facts.baseline_from),
        target=target,
        equivalence=_fact(by_type, EvidenceType.EQUIVALENCE, evidence_facts.equivalence_from),
        porting=_fact(by_type, EvidenceType.PORTING, evidence_facts.porting_from),
        manifest=_fact(by_type, EvidenceType.LINEAGE, evidence_facts.manifest_from),
        suitability=suitability_facts(workload),
        profile=_fact(by_type, EvidenceType.PROFILE, business_readers.profile_from),
        costs=_costs(by_type, workload, target),
        demand=_fact(by_type, EvidenceType.DEMAND, business_readers.demand_from),
        levels=_fact(by_type, EvidenceType.LEVELS, business_readers.levels_from),
        offer=_fact(by_type, EvidenceType.OFFER, business_readers.offer_from),
        environment=_fact(by_type, EvidenceType.ENVIRONMENT, business_readers.environment_from),
        capability=_fact(by_type, EvidenceType.CAPABILITY, business_readers.capability_from),
        inherited={item.type: source for item in items if (source := _source(item)) is not None},
        platforms_differ=_platforms_differ(workload, target),
        runs=(TargetRunFacts(target.run_id, target.started_at, target.criteria_sha256),) if target else (),
        evidence=tuple(
            EvidencePeople(
                type=item.type,
                producer=item.producer_id,
                reviewer=item.reviewer_id or reviewer_id,
                usable=item.status in USABLE,
                inherited=item.workload_id is None,
            )
            for item in items
        ),
        case=CaseFacts(
            lead=_pilot_lead(workload),
            workers=workloads.workers(workload)
            | {item.producer_id for item in items if item.workload_id is not None},
            reviewer=reviewer_id,
        ),
    )


def _workload(workload: Workload) -> WorkloadFacts:
    return WorkloadFacts(
        title=workload.title,
        purpose=workload.purpose,
        business_process=workload.business_process,
        criticality=Criticality(workload.criticality) if workload.criticality else None,
        mode=Mode(workload.mode) if workload.mode else None,
        model_ref=workload.model_name,
        model_digest=workload.model_digest,
        model_file_level=Level(workload.model_file_level) if workload.model_file_level else None,
        owner=workload.owner_id,
        owner_active=bool(workload.owner and workload.owner.is_active),
        owner_accepted_at=workload.owner_accepted_at,
        deputy=workload.deputy_id,
        ai_act_role=AiActRole(workload.ai_act_role) if workload.ai_act_role else None,
        ai_act_risk_class=AiActRiskClass(workload.ai_act_risk_class) if workload.ai_act_risk_class else None,
    )


def _classification(workload: Workload) -> ClassificationFacts:
    rows = list(workload.classifications.all())
    confirmed = [row.confirmed_at for row in rows if row.confirmed_at]
    complete = len(confirmed) == len(ObjectClass)
    location = getattr(workload, "location", None)
    return ClassificationFacts(
        classes=tuple(
            ObjectClassFacts(
                object_class=ObjectClass(row.object_class),
                level=Level(row.level),
                flags=tuple(Flag(flag) for flag in row.flags),
                protection_c=ProtectionNeed(row.protection["c"]),
                protection_i=ProtectionNeed(row.protection["i"]),
                protection_a=ProtectionNeed(row.protection["a"]),
                classified_by=row.classified_by_id,
                confirmed_by=row.confirmed_by_id,
                confirmed_at=row.confirmed_at,
            )
            for row in rows
        ),
        log_content=classification.log_content(workload),
        location=LocationFacts(
            leaves_own_env=LeavesEnvironment.YES if location.leaves_own_env else LeavesEnvironment.NO,
            provider=location.provider,
            region=location.region,
            country=location.country,
            third_country=False if not location.leaves_own_env else None,
        )
        if location
        else LocationFacts(),
        access=tuple(
            AccessEntry(
                ObjectClass(row.object_class),
                tuple(row.access_plan["principals"]),
                row.access_plan["purpose"],
                tuple(row.access_plan["provider_roles"]),
                row.access_plan["provider_answered"],
            )
            for row in rows
            if row.access_plan
        ),
        retention=tuple(
            RetentionEntry(ObjectClass(row.object_class), **row.retention_plan)
            for row in rows
            if row.retention_plan
        ),
        decided_at=max(confirmed) if complete else None,
    )


def quality_targets(workload: Workload) -> tuple[QualityTargetValues, ...]:
    """Return the quality targets of a workload as the criteria read them."""
    return tuple(
        QualityTargetValues(
            id=target.target_id,
            metric=target.metric,
            comparator=Comparator(target.comparator),
            threshold=target.threshold,
            unit=target.unit,
            dataset_version=target.dataset_version,
            confidence_method=target.confidence_method,
            percentile=target.percentile or None,
        )
        for target in workload.quality_targets.all()
    )


def _fallback(workload: Workload) -> FallbackValues | None:
    fallback = getattr(workload, "fallback", None)
    if fallback is None:
        return None
    return FallbackValues(
        platform_id=str(fallback.platform_id),
        is_existing=fallback.platform.is_existing,
        owner_id=fallback.owner_id,
        rto_min=fallback.rto_min,
        steps=fallback.steps,
    )


def _pilot(workload: Workload) -> PilotFacts | None:
    pilot = getattr(workload, "pilot", None)
    if pilot is None:
        return None
    values = PilotValues(
        start=pilot.start,
        end=pilot.end,
        budget_cap_eur=pilot.budget_cap_eur,
        scope=pilot.scope,
        success_measures=(pilot.success_measure,),
        platform_id=str(pilot.platform_id),
    )
    return PilotFacts(values, PilotStatus(pilot.status))


def _pilot_lead(workload: Workload) -> UUID | None:
    pilot = getattr(workload, "pilot", None)
    return pilot.lead_id if pilot else None


def gap(items: Sequence[EvidenceItem]) -> ScopeGap | None:
    """Return why these pieces of evidence allow no comparison, None where they do (EM-12)."""
    by_type = {item.type: item for item in items}
    baseline = _fact(by_type, EvidenceType.BASELINE_REPORT, evidence_facts.baseline_from)
    return gap_of(baseline)


def _fact(
    by_type: dict[str, EvidenceItem], kind: EvidenceType, reader: Callable[[dict[str, Any]], _T]
) -> _T | None:
    item = by_type.get(kind)
    return _read(item, reader) if item else None


def _costs(
    by_type: dict[str, EvidenceItem], workload: Workload, target: TargetFacts | None
) -> CostFacts | None:
    """Return the cost sheet, marked if it rests on other measurements or another target platform than `by_type`."""
    costs = _fact(by_type, EvidenceType.COSTS, business_readers.costs_from)
    pilot = getattr(workload, "pilot", None)
    if costs is None or pilot is None:
        return costs
    digests = {key: item.facts_sha256 for key, item in by_type.items()}
    reached = target is not None and target.platform.profile_id == str(pilot.platform_id)
    now = (
        digests.get(EvidenceType.BASELINE_REPORT),
        digests.get(EvidenceType.TARGET_REPORT) if reached else None,
        pilot.platform.key,
    )
    then = (costs.baseline.computed_from, costs.target.computed_from, costs.target.platform_key)
    return replace(costs, outdated=now != then)


def _platforms_differ(workload: Workload, target: TargetFacts | None) -> tuple[str, str] | None:
    """Return the names of both platforms if the target run was not on that of the pilot, which all inherited is of."""
    pilot = getattr(workload, "pilot", None)
    if pilot is None or target is None or not target.platform.profile_id:
        return None
    if target.platform.profile_id == str(pilot.platform_id):
        return None
    used = PlatformProfile.objects.filter(pk=target.platform.profile_id).first()
    return (used.name if used else target.platform.hardware_gen), pilot.platform.name


def _source(item: EvidenceItem) -> Inherited | None:
    """Return where the workload takes the evidence over from, None for its own (3.7.5)."""
    if item.platform is not None:
        return Inherited(f"Plattform {item.platform.name}", item.valid_until)
    if item.organisation is not None:
        return Inherited(f"Organisation {item.organisation.name}", item.valid_until)
    return None


def _read(item: EvidenceItem, reader: Callable[[dict[str, Any]], _T]) -> _T | None:
    """Read one evidence file; a damaged or malformed one counts as not there, G7-4 names it."""
    try:
        return reader(item.facts())
    except (store.StoredFileError, canonical.CanonicalError, EvidenceFormatError):
        return None
