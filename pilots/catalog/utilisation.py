"""How much of the declared peak a workload used: MFU (M-13), computed from what was measured, and what cannot be (EM-11)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from qms.core.values import Axes, rounded

TRAINING_FLOPS: Final = 6  # per parameter and token: forward two, backward four (M-13)
INFERENCE_FLOPS: Final = 2  # per parameter and token: forward alone
# Ausgangstext A, Zeile 26 ("oft" 30 to 40 %): a line to look at, never a value
REFERENCE_BAND: Final = (Decimal("0.30"), Decimal("0.40"))


class Finding(StrEnum):
    """What the plausibility of an MFU says."""

    PLAUSIBLE = "PLAUSIBEL"
    QUESTION = "FRAGE"
    IMPOSSIBLE = "UNMOEGLICH"


@dataclass(frozen=True, slots=True)
class Peak:
    """Declared dense peak of one device in FLOP/s, with precision, source in German and axes."""

    flops_per_s: Decimal
    precision: str
    source_de: str
    axes: Axes


@dataclass(frozen=True, slots=True)
class Mfu:
    """value: effective over declared FLOP/s; effective and peak of all devices together."""

    value: Decimal
    effective_flops_per_s: Decimal
    peak_flops_per_s: Decimal
    finding: Finding


def mfu(
    *, rate_per_s: Decimal, flops_each: Decimal, devices: int, peak: Peak, band: tuple[Decimal, Decimal]
) -> Mfu:
    """Return the MFU of a rate of tokens or samples. flops_each: model FLOPs of one, without recomputation; band: POL-37.

    Above the peak no machine can be (EM-11); outside the band is a question, no error (S012). Raises ValueError for
    anything that is not above zero.
    """
    if min(rate_per_s, flops_each, peak.flops_per_s) <= 0 or devices < 1:
        raise ValueError("rate, FLOPs, devices and peak must be above zero")
    effective, declared = rate_per_s * flops_each, peak.flops_per_s * devices
    value = effective / declared
    if effective > declared:
        finding = Finding.IMPOSSIBLE
    else:
        finding = Finding.PLAUSIBLE if band[0] <= value <= band[1] else Finding.QUESTION
    return Mfu(rounded(float(value), 4), effective, declared, finding)


def flops_per_token(params: int, *, training: bool) -> Decimal:
    """Return the model FLOPs of a token of a dense model."""
    return Decimal(params) * (TRAINING_FLOPS if training else INFERENCE_FLOPS)
