"""What a machine is to the compiler and to the timing model: frozen data, units in the names, a source per value."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Final

from pilots.wafer.errors import WaferError
from pilots.wafer.german import clean
from pilots.wafer.machine.figure import ClockProfile, Figure, Peak, PowerProfile
from qms.core import canonical

GIGA: Final = 10**9


class UnknownProfile(WaferError):
    """A machine has no clock or power profile of this name."""

    def __init__(self, name: str, *, machine: str, known: tuple[str, ...]) -> None:
        listed = ", ".join(known)
        sentence = f"Die Maschine {machine} hat kein Profil „{clean(name)}“; es gibt: {listed}."
        super().__init__(f"{machine} has no profile {name!r}", message_de=sentence)


@dataclass(frozen=True, slots=True)
class Machine:
    """One wafer-scale machine.

    `calibrated`: True for the generation the timing model was fitted on. The first clock profile is the machine's
    own. A figure that is None was published by nobody and cannot be worked out.
    """

    id: str
    name: str
    calibrated: bool
    # Fabric: the usable rectangle of a program and the physical one around it.
    width_pes: Figure
    height_pes: Figure
    physical_width_pes: Figure
    physical_height_pes: Figure
    functional_area_permille: Figure
    # Memory of one element.
    sram_bytes_per_pe: Figure
    code_bytes_per_pe: Figure
    stack_bytes_per_pe: Figure
    plumbing_bytes_per_pe: Figure
    banks: Figure
    bank_bytes: Figure
    sram_access_bytes_per_cycle_per_pe: Figure
    # Clock and fabric. Millicycles and millielements are thousandths.
    clock_hz: Figure
    hop_cycles: Figure
    turn_cycles: Figure
    ramp_cycles: Figure
    send_cycles: Figure
    wavelet_millicycles: Figure
    westbound_hop_millicycles: Figure | None  # beyond 32 hops
    link_bits_per_cycle: Figure
    colors: Figure
    reserved_colors: Figure
    input_queues: Figure
    reserved_input_queues: Figure
    microthreads: Figure
    # Arithmetic of one element.
    lanes_fp16: Figure
    lanes_fp32: Figure
    fp32_flops_per_cycle_per_pe: Figure
    fp16_flops_per_cycle_per_pe: Figure
    dsd_setup_cycles: Figure
    fma_fp16_millielements_per_cycle: Figure
    fma_fp32_millielements_per_cycle: Figure
    copy_fp16_millielements_per_cycle: Figure
    copy_fp32_millielements_per_cycle: Figure
    # The world outside.
    host_transaction_ns: Figure
    host_bits_per_second: Figure
    io_link_bits_per_second: Figure
    wafer_to_wafer_ns: Figure
    power_watts_max: Figure
    power_watts_typical: Figure
    # What is stated about the whole wafer: bounds and claims, never achieved values.
    cores_total: Figure
    sram_megabytes_total: Figure | None
    sram_gigabytes_per_second: Figure | None
    fabric_gigabits_per_second: Figure | None
    die_area_mm2: Figure | None
    clocks: tuple[ClockProfile, ...]
    powers: tuple[PowerProfile, ...]
    peaks: tuple[Peak, ...]

    @property
    def pes(self) -> int:
        """Usable processing elements."""
        return self.width_pes.value * self.height_pes.value

    @property
    def physical_pes(self) -> int:
        """Processing elements of the physical fabric."""
        return self.physical_width_pes.value * self.physical_height_pes.value

    @property
    def sram_bytes(self) -> int:
        """SRAM of all usable processing elements."""
        return self.pes * self.sram_bytes_per_pe.value

    @property
    def data_bytes_per_pe(self) -> int:
        """SRAM of one processing element that is left for tensors."""
        return self.sram_bytes_per_pe.value - self.code_bytes_per_pe.value - self.stack_bytes_per_pe.value

    @property
    def stated_sram_bytes(self) -> int | None:
        """SRAM of the whole wafer as the vendor states it, or None."""
        return None if self.sram_megabytes_total is None else self.sram_megabytes_total.value * 10**6

    @property
    def stated_sram_bytes_per_second(self) -> int | None:
        """SRAM bandwidth of the whole wafer as the vendor states it, or None."""
        return None if self.sram_gigabytes_per_second is None else self.sram_gigabytes_per_second.value * GIGA

    def with_clock(self, profile: str) -> Machine:
        """Return the machine at a named clock, with the power that goes with it; raises UnknownProfile.

        Its id says so ("wse-2@research"), except for the machine's own clock.
        """
        names = tuple(item.name for item in self.clocks)
        if profile not in names:
            raise UnknownProfile(profile, machine=self.id, known=names)
        clock = self.clocks[names.index(profile)]
        base = self.id.partition("@")[0]
        changed = replace(
            self, id=base if clock is self.clocks[0] else f"{base}@{profile}", clock_hz=clock.hz
        )
        if not clock.power:
            return changed
        watts = self.power(clock.power)
        return replace(changed, power_watts_max=watts, power_watts_typical=watts)

    def power(self, profile: str) -> Figure:
        """Return the watts of a power profile; raises UnknownProfile."""
        for item in self.powers:
            if item.name == profile:
                return item.watts
        raise UnknownProfile(profile, machine=self.id, known=tuple(item.name for item in self.powers))

    def figures(self) -> dict[str, Figure]:
        """Return every single figure that is known, by field name and in the order of the fields."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Figure)}

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form with the source of every value."""
        data: dict[str, Any] = {"id": self.id, "name": self.name, "calibrated": self.calibrated}
        data |= {name: value.to_json() for name, value in self.figures().items()}
        return data | {
            "clocks": [item.to_json() for item in self.clocks],
            "powers": [item.to_json() for item in self.powers],
            "peaks": [item.to_json() for item in self.peaks],
        }

    def sha256(self) -> str:
        """Return the digest of the description (the parameter set hash of EM-02)."""
        return canonical.digest(self.to_json())
