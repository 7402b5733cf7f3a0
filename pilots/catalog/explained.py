"""What a baseline is worth beside a model of it: MFU from its own figures, its time beside the cluster model's, its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pilots.catalog import cluster, utilisation
from pilots.catalog.figures import Figure, emulated
from pilots.catalog.model import load_model
from pilots.catalog.utilisation import Mfu, Peak
from pilots.catalog.whatif import NotAnswered
from pilots.cluster.device import Device
from pilots.cluster.predict import Prediction
from pilots.wafer.costs.terms import Span
from qms.core.errors import CriterionNotMet
from qms.core.values import Assurance, Axes, Metric, Origin, Provenance, Unit

PEAK: Final = "peak_flops_16bit"  # parameter of a platform profile: dense, per device, in FLOP/s
_PRECISIONS: Final = {"peak_bf16": "bfloat16", "peak_fp8": "FP8", "peak_fp4": "FP4"}
MEMORY: Final = "memory_bytes"  # the same: of one device
STEPS: Final = (("step_time_ms", None), ("e2e_latency_ms", "p50"), ("e2e_latency_ms", None))


@dataclass(frozen=True, slots=True)
class PlatformNames:
    """What a platform says about itself: texts that may name a GPU, number of devices, parameters by name."""

    texts: tuple[str, ...]
    devices: int
    parameters: Mapping[str, Mapping[str, Any]]

    @property
    def device(self) -> Device | None:
        """The GPU of the catalogue that the platform names, or None."""
        return cluster.device_named(self.texts)

    @property
    def peak(self) -> Peak | None:
        """The declared dense peak of one device: of the profile, else of the catalogue; None where neither has one."""
        row = self.parameters.get(PEAK)
        if row is not None:
            axes = Axes(Provenance(row["provenance"]), Assurance.SUBMITTED, Origin.OWN)
            return Peak(Decimal(row["value"]), "16 Bit, dicht", str(row["source"]), axes)
        return _peak_of(self.device, "peak_bf16") if self.device else None

    @property
    def highest_peak(self) -> Peak | None:
        """The highest peak of one device that is declared at any precision: a file does not say at which it ran."""
        found = [self.peak] if self.peak else []
        if self.device is not None:
            found += [_peak_of(self.device, name) for name in self.device.figures if name.startswith("peak_")]
        return max(found, key=lambda item: item.flops_per_s, default=None)

    @property
    def memory_bytes(self) -> Decimal | None:
        """The declared memory of all devices together, None where it is not declared."""
        row = self.parameters.get(MEMORY)
        return Decimal(row["value"]) * self.devices if row is not None and self.devices else None


def _peak_of(device: Device, name: str) -> Peak:
    figure = device.figures[name]
    axes = Axes(figure.provenance, Assurance.SUBMITTED, Origin.PUBLISHED)
    return Peak(Decimal(figure.value), f"{_PRECISIONS[name]}, dicht", f"{device.name}: {figure.source}", axes)


@dataclass(frozen=True, slots=True)
class Utilisation:
    """An MFU with what it was computed from."""

    mfu: Mfu
    rate: Metric
    flops_each: Decimal
    devices: int
    peak: Peak


def utilisation_of(
    metrics: Sequence[Metric],
    model_facts: Mapping[str, Any],
    platform: PlatformNames,
    *,
    training: bool,
    band: tuple[Decimal, Decimal],
) -> Utilisation | None:
    """Return the MFU of a measured rate, None where rate, model or peak are not known; it is never assumed (S012)."""
    peak, found = platform.peak, rate_of(metrics, model_facts, training=training)
    if peak is None or found is None or found[0].value <= 0 or platform.devices < 1:
        return None
    rate, each = found
    value = utilisation.mfu(
        rate_per_s=rate.value, flops_each=each, devices=platform.devices, peak=peak, band=band
    )
    return Utilisation(value, rate, each, platform.devices, peak)


def rate_of(
    metrics: Sequence[Metric], model_facts: Mapping[str, Any], *, training: bool
) -> tuple[Metric, Decimal] | None:
    """Return a measured rate with the model FLOPs of one unit of it, None where rate or model are not known."""
    by_key = {metric.key: metric for metric in reversed(metrics)}
    tokens, samples = by_key.get("throughput_tokens_s"), by_key.get("throughput_samples_s")
    if tokens is not None and "params" in model_facts:
        return tokens, utilisation.flops_per_token(int(model_facts["params"]), training=training)
    if samples is not None and model_facts.get("flops_per_sample"):
        return samples, Decimal(int(model_facts["flops_per_sample"]))
    return None


def step_of(metrics: Sequence[Metric]) -> Metric | None:
    """Return the time of one step or request that a run measured, in milliseconds; None without one."""
    for key, percentile in STEPS:
        for metric in metrics:
            if (metric.key, metric.percentile) == (key, percentile) and metric.unit is Unit.MILLISECONDS:
                return metric
    return None


@dataclass(frozen=True, slots=True)
class Modelled:
    """The workload's graph on the GPU that the platform names: one pass over `batch` samples on one device.

    metrics: the same pass under the keys of a target run (S001).
    """

    device: Device
    batch: int
    prediction: Prediction
    metrics: tuple[Metric, ...]

    @property
    def step(self) -> Figure:
        """The time of the pass with its interval."""
        found = self.prediction
        span = Span(found.seconds, found.lower, found.upper).times(1e3)
        return emulated("step_time_ms", span, Unit.MILLISECONDS, cluster.state_of(found.trust))

    def holds(self, measured: Metric) -> bool:
        """Say whether a measured time lies inside the interval."""
        interval = self.step.metric.interval
        return interval is not None and interval.lower <= measured.value <= interval.upper


def modelled(parameters: Mapping[str, Any], platform: PlatformNames) -> Modelled | None:
    """Return the model's pass on the platform's GPU; None without a GPU of the catalogue, a model, or room for it.

    parameters: of a run, with the model and, if it says so, the batch.
    """
    device = platform.device
    if device is None:
        return None
    try:
        model = load_model(parameters)
        batch = model.batch({"batch": 1, **parameters}, "batch")
        found = cluster.on_device(model.graph, device.id, batch=batch)
        return Modelled(device, batch, found, cluster.metrics(model.graph, found, batch=batch))
    except (CriterionNotMet, NotAnswered):
        return None


def parts_of(found: Modelled) -> dict[str, Figure]:
    """Return the milliseconds of the pass by cause."""
    return cluster.parts(found.prediction)
