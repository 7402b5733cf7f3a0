"""Upper bounds of a machine against what its vendor states: SRAM bandwidth (pe.rw128) and capacity (pe.sram.exact).

A bound is never an achieved value (spec S011). All results are ABGELEITET.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from pilots.wafer.machine import Machine

NANOSECONDS: Final = 10**9


@dataclass(frozen=True, slots=True)
class BandwidthBound:
    """SRAM bytes per second if every element reads and writes in every cycle of one clock profile.

    wafer: over all stated cores; usable: over the rectangle of a program.
    """

    profile: str
    clock_hz: int
    wafer_bytes_per_second: int
    usable_bytes_per_second: int


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Does the stated bandwidth follow from cores x bytes per cycle x clock? None: nobody states one.

    needed_clock_hz: the clock at which all stated cores would give exactly the stated figure, rounded up.
    sweep_ns: time to touch the stated SRAM once at the stated bandwidth.
    """

    bounds: tuple[BandwidthBound, ...]
    stated_bytes_per_second: int | None
    needed_clock_hz: int | None
    sweep_ns: Fraction | None

    @property
    def reproduced_at(self) -> str:
        """The first clock profile whose bound reaches the stated figure, "" if none does or none is stated."""
        stated = self.stated_bytes_per_second
        reached = (item.profile for item in self.bounds if stated and item.wafer_bytes_per_second >= stated)
        return next(reached, "")


@dataclass(frozen=True, slots=True)
class Capacity:
    """SRAM in bytes: stated by the vendor (None: nobody does), of all stated cores, of the usable rectangle, for data.

    data_bytes: usable rectangle less code and stack of every element.
    """

    stated_bytes: int | None
    wafer_bytes: int
    usable_bytes: int
    data_bytes: int

    @property
    def deviation_permille(self) -> int | None:
        """How much larger the SRAM of all stated cores is than the stated figure, in thousandths."""
        if self.stated_bytes is None:
            return None
        return round(Fraction(1000 * (self.wafer_bytes - self.stated_bytes), self.stated_bytes))


def bandwidth(machine: Machine) -> Bandwidth:
    """Return the bound of every clock profile beside the stated figure."""
    per_cycle = machine.sram_access_bytes_per_cycle_per_pe.value
    wafer, usable = machine.cores_total.value * per_cycle, machine.pes * per_cycle
    bounds = tuple(
        BandwidthBound(item.name, item.hz.value, wafer * item.hz.value, usable * item.hz.value)
        for item in machine.clocks
    )
    stated, capacity_bytes = machine.stated_sram_bytes_per_second, machine.stated_sram_bytes
    sweep = Fraction(capacity_bytes * NANOSECONDS, stated) if stated and capacity_bytes else None
    return Bandwidth(
        bounds=bounds,
        stated_bytes_per_second=stated,
        needed_clock_hz=None if stated is None else -(-stated // wafer),
        sweep_ns=sweep,
    )


def capacity(machine: Machine) -> Capacity:
    """Return what the stated capacity is made of and how much of it is left for tensors."""
    return Capacity(
        stated_bytes=machine.stated_sram_bytes,
        wafer_bytes=machine.cores_total.value * machine.sram_bytes_per_pe.value,
        usable_bytes=machine.sram_bytes,
        data_bytes=machine.pes * machine.data_bytes_per_pe,
    )
