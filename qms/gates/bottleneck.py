"""What proves a bottleneck of the platform in use (E1 to E3, spec 3.6): measured shares, sizes and missed targets. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from qms.core.values import Metric, Provenance, Unit
from qms.gates.evidence_facts import BaselineFacts
from qms.gates.facts import Facts
from qms.gates.outcome import apart, german, metric_de, percent, share, shown
from qms.gates.policy import Policy
from qms.workloads.choices import BottleneckType
from qms.workloads.rules import QualityTargetValues, quality_target_gaps

GIGA: Final = Decimal(10**9)
_SMALLEST: Final = Decimal("0.01")
_OBSERVED: Final = frozenset({Provenance.MEASURED, Provenance.DERIVED})
_SERVICE_LEVELS: Final = (
    "ttft_ms",
    "tpot_ms",
    "e2e_latency_ms",
    "queue_wait_ms",
    "step_time_ms",
    "throughput_",
)


@dataclass(frozen=True, slots=True)
class Proof:
    """One way to prove a bottleneck of a type: what was found, what is asked, and whether it is proven."""

    type: BottleneckType
    proven: bool
    value_de: str
    threshold_de: str


def proofs(facts: Facts, policy: Policy) -> tuple[Proof, ...]:
    """Return the proofs for communication, memory and response; memory bandwidth has none (0.4)."""
    return _communication(facts, policy), _memory(facts, policy), _response(facts)


def _communication(facts: Facts, policy: Policy) -> Proof:
    least = policy.share("POL-07", "min")
    found = profiled_share(facts)
    threshold = f"Kommunikationsanteil ≥ {percent(least)} (POL-07)"
    if found is None:
        return Proof(
            BottleneckType.COMMUNICATION, False, "Kommunikationsanteil nicht gemessen (EV-01)", threshold
        )
    value = f"Kommunikationsanteil {apart(found, least, share)[0]}"
    return Proof(BottleneckType.COMMUNICATION, found >= least, value, threshold)


def comm_share(facts: Facts) -> Decimal | None:
    """Return the share of a step spent on communication, from the profile or else the baseline (M-14)."""
    profiled = profiled_share(facts)
    metric = _observed(facts.baseline, "comm_share")
    return profiled if profiled is not None or metric is None else metric.value


def profiled_share(facts: Facts) -> Decimal | None:
    """Return the share a profiler trace of the baseline's platform shows; only a trace proves one (EV-01, S003)."""
    profile, baseline = facts.profile, facts.baseline
    if profile is None or baseline is None or profile.platform.development_machine:
        return None
    return profile.comm_share if profile.platform.profile_id == baseline.platform.profile_id else None


def _memory(facts: Facts, policy: Policy) -> Proof:
    least = policy.number("POL-08", "min")
    threshold = f"Speicherbedarf ≥ {german(least)} des größten Gerätespeichers (POL-08)"
    state, device = state_gb(facts), facts.baseline.platform.memory_bytes if facts.baseline else 0
    if state is None or device <= 0:
        lacking = "Speicherbedarf" if state is None else "Gerätespeicher"
        return Proof(BottleneckType.MEMORY_CAPACITY, False, f"{lacking} nicht bekannt", threshold)
    ratio = state * GIGA / device
    of_device = f"{_size(state)}\u00a0GB von {_size(Decimal(device) / GIGA)}\u00a0GB je Gerät"
    told = apart(ratio, least, _two)[0] if ratio >= _SMALLEST else f"unter {german(_SMALLEST)}"
    value = f"Speicherbedarf {of_device} (Verhältnis {told})"
    return Proof(BottleneckType.MEMORY_CAPACITY, ratio >= least, value, threshold)


def state_gb(facts: Facts) -> Decimal | None:
    """Return the state the workload needs in GB (1e9 bytes): measured, else as stated or computed (M-11)."""
    metric = _observed(facts.baseline, "mem_state_gb")
    if metric is not None:
        return metric.value / GIGA if metric.unit is Unit.BYTES else metric.value
    return facts.suitability.state_gb if facts.suitability else None


def _response(facts: Facts) -> Proof:
    threshold = "Qualitätsziel für Antwortzeit oder Durchsatz verfehlt, mit geschäftlicher Begründung"
    kind = BottleneckType.RESPONSE
    if facts.baseline is None:
        return Proof(kind, False, "Antwortzeit nicht gemessen", threshold)
    missed = _missed(facts.targets, facts.baseline)
    if missed is None:
        return Proof(kind, False, "kein Ziel für Antwortzeit oder Durchsatz verfehlt", threshold)
    target, metric = missed
    found, limit = german(metric.value), ""
    if target.threshold is not None:
        found, limit = apart(metric.value, target.threshold, shown)
    name = metric_de(metric.key, metric.percentile)
    value = f"{name} {found} statt {limit}\u00a0{target.unit}".strip()
    reasoned = bool(facts.suitability and facts.suitability.business_reason.strip())
    return Proof(kind, reasoned, value if reasoned else f"{value}, ohne geschäftliche Begründung", threshold)


def _missed(
    targets: Iterable[QualityTargetValues], baseline: BaselineFacts
) -> tuple[QualityTargetValues, Metric] | None:
    for target in targets:
        if not target.metric.startswith(_SERVICE_LEVELS) or quality_target_gaps(target):
            continue
        for metric in baseline.metrics:
            same = (metric.key, metric.percentile, metric.unit.value) == (
                target.metric,
                target.percentile,
                target.unit,
            )
            if same and metric.reliable and _is_observed(metric) and not target.met_by(metric.value):
                return target, metric
    return None


def _observed(baseline: BaselineFacts | None, key: str) -> Metric | None:
    metrics = baseline.metrics if baseline and not baseline.platform.development_machine else ()
    return next((item for item in metrics if item.key == key and _is_observed(item)), None)


def _is_observed(metric: Metric) -> bool:
    return metric.axes.provenance in _OBSERVED


def _size(value: Decimal) -> str:
    """Return a size with three significant digits, so that a small one never reads 0."""
    return shown(value, max(1, 2 - value.adjusted()))


def _two(value: Decimal, places: int) -> str:
    return shown(value, places + 1)
