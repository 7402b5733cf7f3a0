"""Figures of devices, whoever reports them: busy time, memory, power and temperature, from one reading or a series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from pilots.baseline.importers import figures
from pilots.baseline.importers.common import BenchmarkRefused
from qms.core.values import Metric, Unit

BUSY_NOTE: Final = "Anteil der Zeit, in der ein Kernel lief; keine Rechenausnutzung (MFU)"
MIB: Final = 2**20
MAX_WATTS: Final = 20_000.0
MAX_CELSIUS: Final = 150.0
CANNOT_SAY: Final = (
    "Die Datei sagt nichts über Durchsatz, Antwortzeiten oder Fehler Ihres Workloads.",
    "Die Datei sagt nicht, welcher Workload währenddessen lief.",
    "Die Datei enthält keine Kosten.",
)


@dataclass(slots=True)
class Readings:
    """Readings over all devices: busy in percent, memory in MiB, power in watts, temperature in degrees Celsius."""

    busy: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    power: list[float] = field(default_factory=list)
    temperature: list[float] = field(default_factory=list)

    def metrics(self, *, snapshot: bool) -> list[Metric]:
        """Return means of busy time and power, maxima of memory and temperature; raises BenchmarkRefused."""
        once = "Augenblickswert" if snapshot else ""
        found = []
        if self.busy:
            if max(self.busy) > 100:
                raise BenchmarkRefused("BAD_NUMBER", "Eine Auslastung liegt über 100 Prozent.")
            found.append(
                figures.share("gpu_busy_share", fmean(self.busy), len(self.busy), "Die Auslastung", BUSY_NOTE)
            )
        if self.memory:
            note = f"höchster Wert je Gerät{', ' + once if once else ''}"
            peak = max(self.memory) * MIB
            found.append(figures.metric("peak_memory_bytes", peak, Unit.BYTES, len(self.memory), note=note))
        if self.power:
            _bounded(self.power, MAX_WATTS, "Eine Leistungsaufnahme")
            note = f"Mittel je Gerät{', ' + once if once else ''}"
            found.append(
                figures.metric("power_watts", fmean(self.power), Unit.WATTS, len(self.power), note=note)
            )
        if self.temperature:
            _bounded(self.temperature, MAX_CELSIUS, "Eine Temperatur")
            highest = max(self.temperature)
            found.append(
                figures.metric("temp_c", highest, Unit.CELSIUS, len(self.temperature), note="höchster Wert")
            )
        return found


def _bounded(values: Sequence[float], most: float, name: str) -> None:
    if max(values) > most:
        raise BenchmarkRefused("BAD_NUMBER", f"{name} der Datei ist nicht möglich.")
