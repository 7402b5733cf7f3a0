"""Gain of the target over the baseline, metric by metric, at the end a gate may judge (spec 3.17, EM-04). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from qms.core.values import Better, Metric
from qms.gates.facts import Facts
from qms.gates.outcome import metric_de
from qms.workloads import metrics as catalogue
from qms.workloads.choices import PlatformKind

_THROUGHPUT: Final = "throughput_"
_MEMORY: Final = frozenset({"peak_memory_bytes", "mem_peak_device_gb"})


@dataclass(frozen=True, slots=True)
class Gain:
    """Relative gain of one metric: 0.2 is 20 % better, negative is worse.

    gain: None where it may not be judged, problem_de says why; lowest: at the worse end of a measured interval.
    """

    key: str
    percentile: str | None
    gain: Decimal | None
    problem_de: str = ""

    @property
    def name_de(self) -> str:
        """Return the German noun with its percentile, whatever language is active."""
        return metric_de(self.key, self.percentile)


def primary_metrics(facts: Facts) -> tuple[str, ...]:
    """Return the keys the benefit is judged by, the first one decides; without an answer the throughput both have."""
    chosen = facts.suitability.primary_metrics if facts.suitability else ()
    if chosen:
        return chosen
    both = {item.key for item in facts.target.metrics} if facts.target else set()
    found = [item.key for item in facts.baseline.metrics if item.key in both] if facts.baseline else []
    return tuple(key for key in found if key.startswith(_THROUGHPUT))[:1]


def other_memory(facts: Facts) -> frozenset[str]:
    """Return the metrics of used memory if one side means the SRAM of a wafer: what it takes there, it costs nowhere else."""
    if facts.baseline is None or facts.target is None:
        return frozenset()
    kinds = [side.platform.kind is PlatformKind.WAFER_SCALE for side in (facts.baseline, facts.target)]
    return _MEMORY if kinds[0] != kinds[1] else frozenset()


def gain_of(facts: Facts, key: str) -> Gain:
    """Return the gain of one metric: the worst over the percentiles both sides have."""
    definition = catalogue.catalogue().get(key)
    if definition is None or definition.better is None:
        return Gain(key, None, None, "hat keine Richtung, in der sie besser wird")
    if key in other_memory(facts):
        return Gain(key, None, None, "meint auf beiden Seiten verschiedene Arten von Speicher")
    pairs = _pairs(facts, key)
    if not pairs:
        return Gain(key, None, None, "liegt nicht für beide Seiten vor")
    found = [_gain(before, after, definition.better, facts) for before, after in pairs]
    open_ones = [item for item in found if item.gain is None]
    return open_ones[0] if open_ones else min(found, key=_amount)


def _amount(item: Gain) -> Decimal:
    return item.gain if item.gain is not None else Decimal(0)


def _pairs(facts: Facts, key: str) -> list[tuple[Metric, Metric]]:
    if facts.baseline is None or facts.target is None:
        return []
    before = {item.percentile: item for item in facts.baseline.metrics if item.key == key and item.reliable}
    return [
        (before[item.percentile], item)
        for item in facts.target.metrics
        if item.key == key and item.reliable and item.percentile in before
        if before[item.percentile].unit is item.unit
    ]


def _gain(before: Metric, after: Metric, better: Better, facts: Facts) -> Gain:
    target = facts.target
    if after.interval is None:
        emulated = target is not None and target.emulated
        name = "Modellfehler-Intervall" if emulated else "95-%-Vertrauensintervall"
        return Gain(after.key, after.percentile, None, f"hat kein {name}")
    if target is not None and target.emulated and target.outside_calibration:
        return Gain(after.key, after.percentile, None, "liegt außerhalb der Kalibrierung")
    return Gain(after.key, after.percentile, relative_gain(before.value, after.pessimistic(better), better))


def relative_gain(before: Decimal, after: Decimal, better: Better) -> Decimal:
    """Return (after - before) / before in the direction that is better; from zero, any change is without bound."""
    difference = after - before if better is Better.HIGHER else before - after
    if before == 0:
        return Decimal(0) if difference == 0 else Decimal("Infinity").copy_sign(difference)
    return difference / abs(before)
