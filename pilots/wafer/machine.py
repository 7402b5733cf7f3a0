"""Machine descriptions: frozen data, units in the names, provenance and source beside every value.

Source ids name entries of `data/reference.json`. A value worked out from entries is ABGELEITET; a value nobody
published is GESCHAETZT and says why (EM-03).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

from qms.core import canonical
from qms.core.values import Provenance


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a machine: its value, where it comes from, and the source ids or the reason."""

    value: int
    provenance: Provenance
    source: str

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {"value": self.value, "provenance": self.provenance.value, "source": self.source}


@dataclass(frozen=True, slots=True)
class Machine:
    """One wafer-scale machine as the compiler and the timing model see it.

    width_pes x height_pes: usable rectangle; `calibrated` is True for the generation the timing model was fitted on.
    """

    id: str
    name: str
    calibrated: bool
    width_pes: Figure
    height_pes: Figure
    sram_bytes_per_pe: Figure
    code_bytes_per_pe: Figure
    stack_bytes_per_pe: Figure
    plumbing_bytes_per_pe: Figure
    clock_hz: Figure
    hop_cycles: Figure
    ramp_cycles: Figure
    link_bits_per_cycle: Figure
    colors: Figure
    reserved_colors: Figure
    fp32_flops_per_cycle_per_pe: Figure
    fp16_flops_per_cycle_per_pe: Figure
    sram_access_bytes_per_cycle_per_pe: Figure
    host_transaction_ns: Figure
    host_bits_per_second: Figure
    power_watts_max: Figure
    power_watts_typical: Figure

    @property
    def pes(self) -> int:
        """Usable processing elements."""
        return self.width_pes.value * self.height_pes.value

    @property
    def sram_bytes(self) -> int:
        """SRAM of all usable processing elements."""
        return self.pes * self.sram_bytes_per_pe.value

    @property
    def data_bytes_per_pe(self) -> int:
        """SRAM of one processing element that is left for tensors."""
        return self.sram_bytes_per_pe.value - self.code_bytes_per_pe.value - self.stack_bytes_per_pe.value

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form with the source of every value."""
        data: dict[str, Any] = {"id": self.id, "name": self.name, "calibrated": self.calibrated}
        figures = {item.name: getattr(self, item.name) for item in fields(self)}
        return data | {key: value.to_json() for key, value in figures.items() if isinstance(value, Figure)}

    def sha256(self) -> str:
        """Return the digest of the description (the parameter set hash of EM-02)."""
        return canonical.digest(self.to_json())


def _vendor(value: int, source: str) -> Figure:
    return Figure(value, Provenance.VENDOR_STATED, source)


def _measured(value: int, source: str) -> Figure:
    # Somebody else's measurement of the machine, not of this workload: HERSTELLERANGABE (spec 3.7.4).
    return Figure(value, Provenance.VENDOR_STATED, f"{source} (published measurement)")


def _derived(value: int, source: str) -> Figure:
    return Figure(value, Provenance.DERIVED, source)


def _chosen(value: int, reason: str) -> Figure:
    return Figure(value, Provenance.ESTIMATED, reason)


WSE_2: Final = Machine(
    id="wse-2",
    name="Wafer-Scale Engine 2",
    calibrated=True,
    width_pes=_vendor(750, "wse2.usable"),
    height_pes=_vendor(994, "wse2.usable"),
    sram_bytes_per_pe=_measured(49152, "pe.sram, pe.sram.exact"),
    code_bytes_per_pe=_measured(4176, "pe.sram.user"),
    stack_bytes_per_pe=_measured(4096, "pe.sram.limit"),
    plumbing_bytes_per_pe=_derived(1024, "pe.sram.exact - pe.sram.limit"),
    clock_hz=_measured(850_000_000, "wse2.clk.sdk, hpdc.clk"),
    hop_cycles=_vendor(1, "rt.hop2"),
    ramp_cycles=_measured(2, "rt.ramp"),
    link_bits_per_cycle=_vendor(32, "rt.link"),
    colors=_vendor(24, "rt.colors"),
    reserved_colors=_vendor(3, "rt.colors"),
    fp32_flops_per_cycle_per_pe=_derived(2, "wse3.fp32peak: one fused multiply-add per cycle"),
    fp16_flops_per_cycle_per_pe=_derived(8, "pe.simd2: four lanes of one multiply-add"),
    sram_access_bytes_per_cycle_per_pe=_vendor(24, "pe.rw128"),
    host_transaction_ns=_vendor(200_000, "io.tcp"),
    host_bits_per_second=_derived(112_000_000_000, "io.channel: 16 channels of 7 Gb/s"),
    power_watts_max=_vendor(20_000, "sys.power1"),
    power_watts_typical=_vendor(15_000, "sys.current"),
)

WSE_3: Final = Machine(
    id="wse-3",
    name="Wafer-Scale Engine 3",
    calibrated=False,
    width_pes=_derived(755, "wse3.fabdims less the margins of wse2.usable"),
    height_pes=_derived(1170, "wse3.fabdims less the margins of wse2.usable"),
    sram_bytes_per_pe=_measured(49152, "pe.sram.exact"),
    code_bytes_per_pe=_measured(4176, "pe.sram.user"),
    stack_bytes_per_pe=_measured(4096, "pe.sram.limit"),
    plumbing_bytes_per_pe=_derived(1024, "pe.sram.exact - pe.sram.limit"),
    clock_hz=_derived(850_000_000, "io.rpc: 488 us counted as 415 k cycles"),
    hop_cycles=_measured(2, "rt.hop3"),
    ramp_cycles=_measured(2, "rt.ramp (WSE-2)"),
    link_bits_per_cycle=_vendor(32, "rt.link"),
    colors=_measured(24, "rt.colors3"),
    reserved_colors=_measured(3, "rt.colors3"),
    fp32_flops_per_cycle_per_pe=_derived(2, "wse3.fp32peak"),
    fp16_flops_per_cycle_per_pe=_derived(16, "pe.simd3: eight lanes of one multiply-add"),
    sram_access_bytes_per_cycle_per_pe=_vendor(24, "pe.rw128 (WSE-2)"),
    host_transaction_ns=_measured(488_000, "io.rpc"),
    host_bits_per_second=_derived(112_000_000_000, "io.channel: 16 channels of 7 Gb/s"),
    power_watts_max=_vendor(23_000, "sys.power3"),
    power_watts_typical=_vendor(23_000, "sys.power3"),
)


def lab_mesh(width: int = 8, height: int = 8) -> Machine:
    """Return a small made-up mesh with the per-element figures of the WSE-2, for tests and teaching."""
    base = {item.name: getattr(WSE_2, item.name) for item in fields(WSE_2)}
    power = _chosen(max(1, width * height * 30 // 1000), "30 mW per element (pe.power), made-up mesh")
    changes: dict[str, Any] = {
        "id": f"lab-{width}x{height}",
        "name": f"Labornetz {width}×{height}",
        "calibrated": False,
        "width_pes": _chosen(width, "made-up mesh"),
        "height_pes": _chosen(height, "made-up mesh"),
        "power_watts_max": power,
        "power_watts_typical": power,
    }
    return Machine(**(base | changes))


MACHINES: Final[dict[str, Machine]] = {
    item.id: item for item in (WSE_2, WSE_3, lab_mesh(8, 8), lab_mesh(64, 64))
}
