"""Where a step goes on either side, under the same names: compute, memory, network, other, not assigned (S003, S008).

Three sources: shares that were measured, the cluster model, and the emulator's causes. The parts add up to the step
within one per cent; what is missing stands there as a part of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Final

from qms.core.values import Interval, Metric, Unit, weakest

TOLERANCE: Final = Decimal("0.01")


class Group(StrEnum):
    """Parts of a step (M-03), the same for every platform."""

    COMPUTE = "compute"
    MEM_WALL = "mem_wall"
    NETWORK = "net_serialisation"
    OTHER = "other"
    UNASSIGNED = "unassigned"


class Source(StrEnum):
    """Where the parts come from."""

    MEASURED = "GEMESSEN"
    CLUSTER = "CLUSTERMODELL"
    EMULATOR = "EMULATOR"


# Weights from outside cross the edge of the wafer as traffic of a link does, so waiting for them counts as network.
OF_WAFER: Final[dict[str, Group]] = {
    "compute": Group.COMPUTE,
    "memory": Group.MEM_WALL,
    "fabric": Group.NETWORK,
    "off_wafer": Group.NETWORK,
    "launch": Group.OTHER,
    "host": Group.OTHER,
}
OF_CLUSTER: Final[dict[str, Group]] = {
    "compute": Group.COMPUTE,
    "mem_wall": Group.MEM_WALL,
    "net_serialisation": Group.NETWORK,
    "bubble": Group.OTHER,
    "launch": Group.OTHER,
    "host": Group.OTHER,
}
OF_SHARES: Final[dict[str, Group]] = {
    "compute_share": Group.COMPUTE,
    "mem_stall_share": Group.MEM_WALL,
    "comm_share": Group.NETWORK,
}


@dataclass(frozen=True, slots=True)
class Part:
    """One part: milliseconds with interval, None where only shares are known; share of the step."""

    group: Group
    metric: Metric | None
    share: Decimal


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A step and its parts. step: milliseconds, None where only shares are known; exceeds: the parts are more than the step."""

    source: Source
    step: Metric | None
    parts: tuple[Part, ...]
    exceeds: bool = False

    @property
    def total(self) -> Decimal:
        """Sum of the shares of all parts."""
        return sum((part.share for part in self.parts), Decimal(0))


def of_causes(
    step: Metric, causes: Mapping[str, Metric], groups: Mapping[str, Group], source: Source
) -> Decomposition | None:
    """Return the parts of a step from milliseconds by cause; None without a step or causes."""
    if not causes or step.value <= 0:
        return None
    summed: dict[Group, list[Metric]] = {}
    for name, metric in causes.items():
        summed.setdefault(groups[name], []).append(metric)
    found = {group: _sum(group, summed[group]) for group in Group if group in summed}
    parts = [Part(group, metric, metric.value / step.value) for group, metric in found.items()]
    return _closed(source, step, parts)


def of_shares(step: Metric | None, shares: Mapping[str, Metric]) -> Decomposition | None:
    """Return the parts of a step from measured shares by key; None where neither communication nor stalls are known."""
    known = {key: shares[key] for key in OF_SHARES if key in shares}
    if not known:
        return None
    parts = [
        Part(OF_SHARES[key], _of_step(OF_SHARES[key], step, metric), metric.value)
        for key, metric in known.items()
    ]
    return _closed(Source.MEASURED, step, parts)


def _closed(source: Source, step: Metric | None, parts: list[Part]) -> Decomposition:
    """Add what is not assigned, and say so where the parts are more than the step."""
    rest = 1 - sum((part.share for part in parts), Decimal(0))
    if abs(rest) <= TOLERANCE:
        return Decomposition(source, step, tuple(parts))
    if rest < 0:
        return Decomposition(source, step, tuple(parts), exceeds=True)
    inputs = [part.metric.axes for part in parts if part.metric is not None]
    metric = None
    if step is not None:
        axes = weakest([step.axes, *inputs])
        metric = Metric(_key(Group.UNASSIGNED), step.value * rest, Unit.MILLISECONDS, axes)
    return Decomposition(source, step, (*parts, Part(Group.UNASSIGNED, metric, rest)))


def _of_step(group: Group, step: Metric | None, share: Metric) -> Metric | None:
    if step is None:
        return None
    value = step.value * share.value
    return Metric(_key(group), value, Unit.MILLISECONDS, weakest([step.axes, share.axes]))


def _sum(group: Group, metrics: list[Metric]) -> Metric:
    """Return the sum of milliseconds; ends of intervals add up, which is the pessimistic way."""
    value = sum((metric.value for metric in metrics), Decimal(0))
    ends = [metric.interval or Interval(metric.value, metric.value) for metric in metrics]
    interval = Interval(
        sum((end.lower for end in ends), Decimal(0)), sum((end.upper for end in ends), Decimal(0))
    )
    return replace(metrics[0], key=_key(group), value=value, interval=interval)


def _key(group: Group) -> str:
    return f"{group.value}_ms"
