"""What no machine can have done (EM-11): more arithmetic than the declared peak, more memory than it has.

Bandwidths are not judged: no benchmark file says how many bytes moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from pilots.catalog.explained import PlatformNames, rate_of
from qms.core.values import Metric

_TERA: Final = Decimal(10) ** 12
_GIGA: Final = Decimal(10) ** 9


def impossible(
    metrics: Sequence[Metric], model_facts: Mapping[str, Any], platform: PlatformNames, *, training: bool
) -> str:
    """Return why these figures cannot be of this model on this platform, as one German sentence; "" where they can.

    Judged against what is declared: without number of devices, peak or memory nothing is said. An MFU outside of POL-37
    is a question, which is asked elsewhere.
    """
    return _arithmetic(metrics, model_facts, platform, training=training) or _memory(metrics, platform)


def _arithmetic(
    metrics: Sequence[Metric], model_facts: Mapping[str, Any], platform: PlatformNames, *, training: bool
) -> str:
    peak, found = platform.highest_peak, rate_of(metrics, model_facts, training=training)
    if peak is None or found is None or platform.devices < 1:
        return ""
    effective, most = found[0].value * found[1], peak.flops_per_s * platform.devices
    if effective <= most:
        return ""
    return (
        f"Unplausibel (EM-11): Der Durchsatz bräuchte {_in(effective, _TERA)} TFLOP/s, die Plattform kann höchstens "
        f"{_in(most, _TERA)} TFLOP/s ({peak.precision}); bitte prüfen Sie Datei, Modell, Plattform und Zahl der Geräte."
    )


def _memory(metrics: Sequence[Metric], platform: PlatformNames) -> str:
    has = platform.memory_bytes
    used = max((item.value for item in metrics if item.key == "peak_memory_bytes"), default=None)
    if has is None or used is None or used <= has:
        return ""
    return (
        f"Unplausibel (EM-11): Belegt waren {_in(used, _GIGA)} GB, die Plattform hat {_in(has, _GIGA)} GB Gerätespeicher; "
        "bitte prüfen Sie Datei, Plattform und Zahl der Geräte."
    )


def _in(value: Decimal, unit: Decimal) -> str:
    """Return a number in a unit with four significant digits and decimal comma."""
    return format(Decimal(f"{value / unit:.4g}"), "f").replace(".", ",")
