"""What a prediction may see of a published entry, and the small helpers that read it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pilots.cluster.device import Device, named
from pilots.cluster.topology import Span
from pilots.cluster.workloads import Case

# Names of `params` that describe the run. Throughputs, utilisations, step times and percentiles are answers.
ALLOWED_PARAMS: Final = frozenset(
    [
        "accelerator",
        "accelerators",
        "activation_recompute",
        "algorithm",
        "batch",
        "collective",
        "cp",
        "data_parallel",
        "dtype",
        "engine",
        "fabric",
        "global_batch",
        "global_batch_size",
        "gpu",
        "gpus",
        "gpus_per_node",
        "grad_accum",
        "gradient_accumulation_steps",
        "heads",
        "hidden",
        "input_tokens",
        "interleave",
        "isl",
        "k",
        "layers",
        "m",
        "max_sequence_length",
        "micro_batch",
        "model",
        "model_parallel",
        "n",
        "nodes",
        "op",
        "osl",
        "output_tokens",
        "params_b",
        "pipeline_parallel",
        "pp",
        "precision",
        "recompute",
        "round",
        "scenario",
        "seq",
        "sharding",
        "size_bytes",
        "tensor_parallel",
        "tp",
        "vocab",
        "weights",
        "context",
    ]
)
MAX_NUMBER: Final = 1e15
MAX_TEXT: Final = 200
MAX_GPUS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Inputs:
    """An entry without its answer."""

    system: str
    workload: str
    metric: str
    unit: str
    params: Mapping[str, Any]

    def whole(self, *names: str, default: int | None = None) -> int:
        """Return the first of the named parameters as a positive whole number; raises Missing without any."""
        for name in names:
            value = self.params.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= MAX_NUMBER:
                return int(value)
        if default is None:
            raise Missing(names[0])
        return default

    def text(self, *names: str) -> str:
        """Return the first of the named parameters that is a text, else nothing."""
        return next((value for name in names if isinstance(value := self.params.get(name), str)), "")


class Missing(Exception):
    """A parameter that a reader needs is not there; the message is its name."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why an entry is not predicted (German)."""

    reason_de: str


@dataclass(frozen=True, slots=True)
class Question:
    """A case and how its seconds become the unit of the entry: scale * seconds, or scale / seconds for a rate.

    rule_de: how a gap in the publication was filled, the same way for all entries. counts: MFU or HFU where the figure
    counts operations: those of the model, or also the recomputed ones; the two are never compared.
    """

    case: Case
    scale: float
    rate: bool
    rule_de: str = ""
    counts: str = ""

    def value(self, seconds: float) -> float:
        """Return the figure in the unit of the entry."""
        return self.scale / seconds if self.rate else self.scale * seconds

    def seconds(self, value: float) -> float:
        """Return the seconds of a figure in the unit of the entry."""
        return self.scale / value if self.rate else value / self.scale


def allowed(value: object) -> bool:
    """Say whether a parameter has a shape that is read: a finite number, a flag or a short text."""
    if isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return abs(value) <= MAX_NUMBER
    return isinstance(value, str) and len(value) <= MAX_TEXT


def device_in(text: str) -> Device | None:
    """Return the GPU a text names, the longest name first, or None."""
    plain = text.replace("Superchip", "")
    whole = named(plain)
    if whole:
        return whole
    for pattern, name in _PATTERNS:
        if pattern.search(plain):
            return named(name)
    return None


_PATTERNS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), name)
    for pattern, name in (
        (r"GH200.{0,20}144", "gh200-144"),
        (r"GH200", "gh200-96"),
        (r"GB300", "gb300"),
        (r"GB200", "gb200"),
        (r"B200", "b200"),
        (r"H200", "h200"),
        (r"H100.{0,6}PCIe", "h100-pcie"),
        (r"H100|\bp5\b", "h100"),
        (r"A100.{0,8}40|\bp4d\b", "a100-40"),
        (r"A100|\bp4de\b|Selene", "a100-80"),
        (r"MI325", "mi325x"),
        (r"MI300", "mi300x"),
        (r"L40S", "l40s"),
    )
)
NVL_DOMAIN: Final[dict[str, int]] = {"gb200": 72, "gb300": 72}
# one way per GPU into the network: HDR InfiniBand before Hopper, 400 Gb/s from Hopper on
PORT_BYTES_PER_S: Final[dict[str, float]] = {"ampere": 25e9}
USUAL_PORT: Final = 50e9
LATENCY_S: Final = 1e-6


def span_of(
    device: Device, gpus: int, nodes: int = 0, per_node: int = 0, node_port_bytes_per_s: float = 0.0
) -> Span:
    """Return the usual span of a group: nodes of eight with one port per GPU unless the entry says otherwise."""
    gpus = max(1, min(gpus, MAX_GPUS))
    domain = NVL_DOMAIN.get(device.id, 8)
    each = per_node or (-(-gpus // nodes) if nodes else min(gpus, domain))
    port = PORT_BYTES_PER_S.get(device.generation, USUAL_PORT)
    return Span(gpus, each, device.link_bytes_per_s, node_port_bytes_per_s or port * each, LATENCY_S)
