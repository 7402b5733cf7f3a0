"""Facts of a workload that fulfils every criterion; tests change one thing at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from qms.core.values import Assurance, Axes, Interval, Metric, Origin, Provenance, Unit
from qms.gates.case_facts import (
    CaseFacts,
    DocumentFacts,
    EvidencePeople,
    IntegrityFacts,
    SignerFacts,
    ValidityFacts,
    VoteFacts,
)
from qms.gates.choices import ApprovalType, SignatureMethod, VoteValue
from qms.gates.evidence_facts import (
    BaselineFacts,
    EffortFacts,
    EquivalenceFacts,
    ManifestFacts,
    OutputFacts,
    PlatformFacts,
    PortingFacts,
    TargetFacts,
)
from qms.gates.facts import (
    ClassificationFacts,
    Facts,
    FreezeFacts,
    LocationFacts,
    ObjectClassFacts,
    PilotFacts,
    TargetRunFacts,
    WorkloadFacts,
)
from qms.roles.roles import Role
from qms.workloads import plans
from qms.workloads.choices import (
    AbortCategory,
    AiActRiskClass,
    AiActRole,
    Comparator,
    Criticality,
    LeavesEnvironment,
    Level,
    LogContent,
    Mode,
    ObjectClass,
    PilotStatus,
    PlatformKind,
    ProtectionNeed,
)
from qms.workloads.rules import AbortRuleValues, FallbackValues, PilotValues, QualityTargetValues

NOW = datetime(2026, 10, 20, 12, tzinfo=UTC)
OWNER, DEPUTY, LEAD, REVIEWER, APPROVER = (UUID(int=number) for number in range(1, 6))
DIGEST, FINGERPRINT, CRITERIA = "a" * 64, "f" * 64, "c" * 64


def metric(key: str, value: str, unit: Unit, **changes: Any) -> Metric:
    axes = Axes(Provenance.MEASURED, Assurance.SIGNED_BY_COMMAND, Origin.OWN)
    return replace(Metric(key, Decimal(value), unit, axes), **changes)


def platform(kind: PlatformKind, **changes: Any) -> PlatformFacts:
    found = PlatformFacts(
        profile_id="p1",
        kind=kind,
        is_existing=False,
        development_machine=kind is PlatformKind.DEVELOPMENT_MACHINE,
        hardware_gen="WSE-2",
        system_release="R1",
        framework_release="F1",
        operating_model="eigen",
        devices=1,
        topology="ein Gerät",
        memory_bytes=16,
        sharding="keine",
        software={"numpy": "2.4"},
    )
    return replace(found, **changes)


def classes() -> tuple[ObjectClassFacts, ...]:
    need = ProtectionNeed.NORMAL
    return tuple(
        ObjectClassFacts(item, Level.INTERNAL, (), need, need, need, OWNER, REVIEWER, NOW - timedelta(days=2))
        for item in ObjectClass
    )


def classification() -> ClassificationFacts:
    levels = dict.fromkeys(ObjectClass, Level.INTERNAL)
    return ClassificationFacts(
        classes=classes(),
        log_content=LogContent.TELEMETRY,
        location=LocationFacts(leaves_own_env=LeavesEnvironment.NO),
        access=plans.access_plan(levels),
        retention=plans.retention_plan(levels, LogContent.TELEMETRY),
        decided_at=NOW - timedelta(days=2),
    )


def baseline() -> BaselineFacts:
    return BaselineFacts(
        platform=platform(PlatformKind.DEVELOPMENT_MACHINE),
        fingerprint=FINGERPRINT,
        repetitions=5,
        iterations=200,
        throughput_cv=Decimal("0.05"),
        metrics=(metric("e2e_latency_ms", "3", Unit.MILLISECONDS, percentile="p95"),),
        measured_at=NOW - timedelta(days=90),
        failed_requests=0,
    )


def target() -> TargetFacts:
    emulated = Axes(Provenance.EMULATED, Assurance.REPEATED, Origin.OWN)
    latency = metric(
        "e2e_latency_ms",
        "2",
        Unit.MILLISECONDS,
        percentile="p95",
        axes=emulated,
        interval=Interval(Decimal(1), Decimal(5)),
    )
    return TargetFacts(
        run_id="r1",
        platform=platform(PlatformKind.WAFER_SCALE),
        fingerprint=FINGERPRINT,
        emulated=True,
        metrics=(latency,),
        mode="RESIDENT",
        peak_sram_bytes=100,
        sram_capacity_bytes=100,
        off_wafer_bytes=0,
        unsupported_ops=(),
        covered_ops=(("linear", "gemv"), ("relu", "map")),
        result_digest=DIGEST,
        criteria_sha256=CRITERIA,
        started_at=NOW - timedelta(days=1),
        replay_equal=True,
    )


def complete() -> Facts:
    return Facts(
        approval_type=ApprovalType.PRELIMINARY,
        now=NOW,
        workload=WorkloadFacts(
            title="Ausschussprognose",
            purpose="x" * 50,
            business_process="Fertigung",
            criticality=Criticality.NORMAL,
            mode=Mode.INFERENCE,
            model_ref="mlp",
            model_digest=DIGEST,
            owner=OWNER,
            owner_active=True,
            owner_accepted_at=NOW - timedelta(days=3),
            deputy=DEPUTY,
            ai_act_role=AiActRole.DEPLOYER,
            ai_act_risk_class=AiActRiskClass.MINIMAL,
        ),
        classification=classification(),
        pilot=PilotFacts(
            PilotValues(
                date(2026, 9, 1), date(2026, 11, 30), Decimal(5000), "eine Linie", ("p95 ≤ 5 ms",), "wafer"
            ),
            PilotStatus.ASSESSMENT,
        ),
        targets=(
            QualityTargetValues(
                "QZ-1", "e2e_latency_ms", Comparator.AT_MOST, Decimal(5), "ms", "v1", "Intervall", "p95"
            ),
        ),
        abort_rules=tuple(
            AbortRuleValues(category, "WENN …", parsed=True)
            for category in (
                AbortCategory.QUALITY,
                AbortCategory.STABILITY,
                AbortCategory.COST,
                AbortCategory.LATENCY,
            )
        ),
        fallback=FallbackValues("gpu", is_existing=True, owner_id=OWNER, rto_min=60, steps="umschalten"),
        freeze=FreezeFacts(NOW - timedelta(days=1), CRITERIA, CRITERIA),
        baseline=baseline(),
        target=target(),
        porting=PortingFacts("pytorch", (EffortFacts("TESTS", Decimal("1.5"), ""),), False),
        equivalence=EquivalenceFacts(
            "r1",
            (OutputFacts("y", "fp32", Decimal("1e-5"), Decimal(1), None),),
            "mit Emulatornumerik berechnet",
        ),
        manifest=ManifestFacts("r1", DIGEST, FINGERPRINT, CRITERIA, demo=False),
        runs=(TargetRunFacts("r1", NOW - timedelta(days=1), CRITERIA),),
        evidence=(EvidencePeople("EV-02", LEAD, REVIEWER),),
        votes=(
            VoteFacts(
                Role.REVIEWER,
                REVIEWER,
                subjects=dict.fromkeys(("QUALITAET", "INFORMATIONSSICHERHEIT", "BETRIEB"), VoteValue.AGREE),
            ),
        ),
        case=CaseFacts(OWNER, LEAD, frozenset({LEAD}), REVIEWER, (APPROVER,)),
        integrity=IntegrityFacts(4, (), log_ok=True),
        validity=ValidityFacts(NOW, NOW + timedelta(days=180, hours=11)),
        document=DocumentFacts(notice=True, sealed=True, verified=True),
        signer=SignerFacts(
            SignatureMethod.PASSKEY,
            user_verified=True,
            authenticated_at=NOW - timedelta(minutes=5),
            bound_sha256=DIGEST,
            expected_sha256=DIGEST,
            meaning="FREIGEGEBEN",
        ),
    )


def changed(facts: Any, path: str, value: Any) -> Any:
    """Return `facts` with the field at the dotted `path` replaced, e.g. "workload.owner"."""
    name, _, rest = path.partition(".")
    if not rest:
        return replace(facts, **{name: value})
    inner = getattr(facts, name)
    return replace(facts, **{name: changed(inner, rest, value)})
