"""Facts read from the evidence files EV-02, EV-04, EV-05, EV-06 and EV-16 (JSON, decimals as strings). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from qms.core.errors import QmsError
from qms.core.values import Metric, MetricError
from qms.workloads.choices import PlatformKind


class EvidenceFormatError(QmsError):
    """An evidence file lacks a field or holds a wrong value; the message names type and field."""


@dataclass(frozen=True, slots=True)
class PlatformFacts:
    """The platform tuple and configuration of one run; memory in bytes per device, empty text where not given."""

    profile_id: str
    kind: PlatformKind
    is_existing: bool
    development_machine: bool
    hardware_gen: str
    system_release: str
    framework_release: str
    operating_model: str
    devices: int
    topology: str
    memory_bytes: int
    sharding: str
    software: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BaselineFacts:
    """EV-02; throughput_cv is a share (0.018 = 1,8 %), iterations count per repetition."""

    platform: PlatformFacts
    fingerprint: str
    repetitions: int
    iterations: int
    throughput_cv: Decimal | None
    metrics: tuple[Metric, ...]
    measured_at: datetime
    failed_requests: int
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """EV-04; replay_equal is None if nobody has recomputed the run yet."""

    run_id: str
    platform: PlatformFacts
    fingerprint: str
    emulated: bool
    metrics: tuple[Metric, ...]
    mode: str
    peak_sram_bytes: int | None
    sram_capacity_bytes: int | None
    off_wafer_bytes: int | None
    unsupported_ops: tuple[str, ...]
    covered_ops: tuple[tuple[str, str], ...]
    result_digest: str
    criteria_sha256: str
    started_at: datetime
    replay_equal: bool | None
    outside_calibration: bool = False


@dataclass(frozen=True, slots=True)
class EffortFacts:
    """Person days of one category of porting; None where nobody has entered them yet."""

    category: str
    days: Decimal | None
    reason: str


@dataclass(frozen=True, slots=True)
class PortingFacts:
    """EV-05; framework is empty for a model that was described here and not brought from anywhere.

    total_ops and unsupported_ops count the operations of the model before adaptation, None where not told.
    """

    framework: str
    effort: tuple[EffortFacts, ...]
    partitioning_required: bool | None
    total_ops: int | None = None
    unsupported_ops: int | None = None


@dataclass(frozen=True, slots=True)
class OutputFacts:
    """Deviation of one output from the reference; cosine may be absent for FP32."""

    name: str
    dtype: str
    max_abs_delta: Decimal
    max_abs_reference: Decimal
    cosine: Decimal | None


@dataclass(frozen=True, slots=True)
class EquivalenceFacts:
    """EV-06; note says how the numerics were computed (EM-06)."""

    run_id: str
    outputs: tuple[OutputFacts, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Deviation:
    """What a target run did otherwise than the baseline: which input, both values, why, and what it changes (3.7.3)."""

    field: str
    baseline: str
    target: str
    reason: str
    effect: str


@dataclass(frozen=True, slots=True)
class ManifestFacts:
    """EV-16; demo marks a run that was no own workload. artefact: SHA-256 of its model file, "" for a text.

    deviations: from the baseline of the run `deviations_from`, and from no other.
    """

    run_id: str
    manifest_sha256: str
    fingerprint: str
    criteria_sha256: str
    demo: bool
    artefact: str = ""
    deviations: tuple[Deviation, ...] = ()
    deviations_from: str = ""


def baseline_from(data: Mapping[str, Any]) -> BaselineFacts:
    """Read EV-02; raises EvidenceFormatError."""
    with Reading("EV-02"):
        cv = data.get("throughput_cv")
        return BaselineFacts(
            platform=platform_from(data["platform"]),
            fingerprint=str(data["fingerprint"]),
            repetitions=int(data["repetitions"]),
            iterations=int(data["iterations"] or 0),
            throughput_cv=Decimal(cv) if cv else None,
            metrics=metrics_from(data),
            measured_at=moment_from(data["measured_at"]),
            failed_requests=int(data["failed_requests"] or 0),
            run_id=str(data.get("run_id") or ""),
        )


def target_from(data: Mapping[str, Any]) -> TargetFacts:
    """Read EV-04; raises EvidenceFormatError."""
    with Reading("EV-04"):
        replay = data.get("replay") or {}
        return TargetFacts(
            run_id=str(data["run_id"]),
            platform=platform_from(data["platform"]),
            fingerprint=str(data["fingerprint"]),
            emulated=data["source"] == "EMULATOR",
            metrics=metrics_from(data),
            mode=str(data["mode"]),
            peak_sram_bytes=data.get("peak_sram_bytes"),
            sram_capacity_bytes=data.get("sram_capacity_bytes"),
            off_wafer_bytes=data.get("off_wafer_bytes"),
            unsupported_ops=tuple(_operator(item) for item in data["unsupported_ops"]),
            covered_ops=tuple((row["op"], row.get("kernel") or "") for row in data["op_coverage"]),
            result_digest=str(data["result_digest"]),
            criteria_sha256=str(data["criteria_sha256"]),
            started_at=moment_from(data["started_at"]),
            replay_equal=replay.get("equal"),
            outside_calibration=data.get("validity") == "AUSSERHALB_KALIBRIERUNG",
        )


def porting_from(data: Mapping[str, Any]) -> PortingFacts:
    """Read EV-05; raises EvidenceFormatError."""
    with Reading("EV-05"):
        reasons = data.get("effort_reasons") or {}
        effort = tuple(
            EffortFacts(str(name), None if days is None else Decimal(days), str(reasons.get(name, "")))
            for name, days in data["porting_effort_pt"].items()
        )
        return PortingFacts(
            str(data["framework"]),
            effort,
            data["partitioning_required"],
            data.get("total_ops"),
            data.get("unsupported_ops"),
        )


def equivalence_from(data: Mapping[str, Any]) -> EquivalenceFacts:
    """Read EV-06 with the outputs of its cross-check; raises EvidenceFormatError."""
    with Reading("EV-06"):
        own = data.get("cross_check") or {}
        outputs = tuple(
            OutputFacts(
                f"{row['name']}{suffix}",
                str(row["dtype"]),
                Decimal(row["max_abs_delta"]),
                Decimal(row["max_abs_reference"]),
                Decimal(row["cosine"]) if row.get("cosine") not in {None, ""} else None,
            )
            for rows, suffix in ((data["outputs"], ""), (own.get("outputs") or (), " (Gegenprobe)"))
            for row in rows
        )
        return EquivalenceFacts(str(data["run_id"]), outputs, str(data.get("note", "")))


def manifest_from(data: Mapping[str, Any]) -> ManifestFacts:
    """Read EV-16; raises EvidenceFormatError."""
    with Reading("EV-16"):
        return ManifestFacts(
            str(data["run_id"]),
            str(data["manifest_sha256"]),
            str(data["fingerprint"]),
            str(data["criteria_sha256"]),
            bool(data.get("demo", False)),
            str((data.get("lineage") or {}).get("artefact") or ""),
            tuple(
                Deviation(*(str(row[name]) for name in ("field", "baseline", "target", "reason", "effect")))
                for row in data.get("deviations") or ()
            ),
            str(data.get("deviations_from") or ""),
        )


class Reading:
    """Context of one reader: turns what a malformed file raises into one named error."""

    def __init__(self, evidence_type: str) -> None:
        self._type = evidence_type

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(
            error, KeyError | ValueError | TypeError | AttributeError | InvalidOperation | MetricError
        ):
            raise EvidenceFormatError(f"{self._type} is malformed: {error!r}") from error


def platform_from(row: Mapping[str, Any]) -> PlatformFacts:
    """Read the platform of a run; raises KeyError or ValueError."""
    kind = PlatformKind(row["kind"])
    return PlatformFacts(
        profile_id=str(row.get("profile_id") or ""),
        kind=kind,
        is_existing=bool(row.get("bestand")),
        development_machine=bool(row.get("development_machine")) or kind is PlatformKind.DEVELOPMENT_MACHINE,
        hardware_gen=str(row.get("hardware_gen") or ""),
        system_release=str(row.get("system_release") or ""),
        framework_release=str(row.get("framework_release") or ""),
        operating_model=str(row.get("operating_model") or ""),
        devices=int(row.get("devices") or 0),
        topology=str(row.get("topology") or ""),
        memory_bytes=int(row.get("memory_bytes") or 0),
        sharding=str(row.get("sharding") or ""),
        software={str(key): str(value) for key, value in (row.get("software") or {}).items()},
    )


def metrics_from(data: Mapping[str, Any]) -> tuple[Metric, ...]:
    """Read the metrics of a file; raises MetricError."""
    return tuple(Metric.from_json(row) for row in data["metrics"])


def _operator(item: Any) -> str:
    return str(item.get("op", item)) if isinstance(item, dict) else str(item)


def moment_from(text: str) -> datetime:
    """Read an aware time; raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return moment
