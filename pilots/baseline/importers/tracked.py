"""Series of experiment trackers: the names whose unit is certain, and what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import short
from pilots.baseline.importers.devices import Readings
from qms.core.values import Metric

CANNOT_SAY: Final = (
    "Andere Messgrößen nennen keine Einheit und werden nicht übernommen.",
    "Die Datei enthält weder Antwortzeiten noch eine Fehlerquote noch Kosten.",
)
_TOKENS: Final = re.compile(r"(?:.{0,60}[/_])?(?:tokens_per_sec(?:ond)?|tokens_per_s)")
_BUSY: Final = re.compile(r"system/gpu_[0-9]{1,4}_utilization_percentage")
_MEMORY: Final = re.compile(r"system/gpu_[0-9]{1,4}_memory_usage_megabytes")
_POWER: Final = re.compile(r"system/gpu_[0-9]{1,4}_power_usage_watts")
_MEGABYTES_IN_MIB: Final = 1e6 / 2**20
Series = Mapping[str, Sequence[float]]


def metrics_of(series: Series) -> list[Metric]:
    """Return the figures of the series whose names state a unit: means of rates and busy time, maxima of memory."""
    rates = [values for name, values in series.items() if _TOKENS.fullmatch(name) and values]
    readings = Readings()
    for name, values in series.items():
        if _BUSY.fullmatch(name):
            readings.busy.extend(values)
        elif _MEMORY.fullmatch(name):
            readings.memory.extend(value * _MEGABYTES_IN_MIB for value in values)
        elif _POWER.fullmatch(name):
            readings.power.extend(values)
    only = rates[0] if len(rates) == 1 else []  # two rates of one run would need a choice
    found = figures.tokens_rate(fmean(only), len(only), "Mittel der Reihe") if only else []
    return [*found, *readings.metrics(snapshot=False)]


def names_sentence(series: Series) -> str:
    """Return which series a file holds."""
    return f"Reihen der Datei: {short(', '.join(sorted(series)), 160) or 'keine'}."
