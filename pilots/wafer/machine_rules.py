"""What a machine may be: the range of every figure, and how figures depend on one another. Two tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt
from typing import Final

from pilots.wafer.german import number
from pilots.wafer.machine import Machine

# Every figure of a machine: lowest and highest value, unit.
RANGES: Final[dict[str, tuple[int, int, str]]] = {
    "width_pes": (1, 2048, "Rechenelemente"),
    "height_pes": (1, 2048, "Rechenelemente"),
    "physical_width_pes": (1, 4096, "Rechenelemente"),
    "physical_height_pes": (1, 4096, "Rechenelemente"),
    "functional_area_permille": (1, 1000, "Promille"),
    "sram_bytes_per_pe": (1024, 2**24, "Byte"),
    "code_bytes_per_pe": (1, 2**24, "Byte"),
    "stack_bytes_per_pe": (1, 2**24, "Byte"),
    "plumbing_bytes_per_pe": (0, 2**24, "Byte"),
    "banks": (1, 64, "Bänke"),
    "bank_bytes": (1, 2**24, "Byte"),
    "sram_access_bytes_per_cycle_per_pe": (1, 1024, "Byte je Takt"),
    "clock_hz": (10**6, 10**10, "Hz"),
    "hop_cycles": (1, 100, "Takte"),
    "turn_cycles": (0, 1000, "Takte"),
    "ramp_cycles": (0, 100, "Takte"),
    "send_cycles": (0, 1000, "Takte"),
    "wavelet_millicycles": (1, 10**5, "Tausendstel Takte"),
    "westbound_hop_millicycles": (1, 10**5, "Tausendstel Takte"),
    "link_bits_per_cycle": (8, 1024, "Bit je Takt"),
    "colors": (1, 64, "Farben"),
    "reserved_colors": (0, 63, "Farben"),
    "input_queues": (1, 64, "Warteschlangen"),
    "reserved_input_queues": (0, 63, "Warteschlangen"),
    "microthreads": (1, 64, "Mikrothreads"),
    "lanes_fp16": (1, 64, "Bahnen"),
    "lanes_fp32": (1, 64, "Bahnen"),
    "fp32_flops_per_cycle_per_pe": (1, 128, "FLOP je Takt"),
    "fp16_flops_per_cycle_per_pe": (1, 128, "FLOP je Takt"),
    "dsd_setup_cycles": (0, 1000, "Takte"),
    "fma_fp16_millielements_per_cycle": (1, 64_000, "Tausendstel Elemente je Takt"),
    "fma_fp32_millielements_per_cycle": (1, 64_000, "Tausendstel Elemente je Takt"),
    "copy_fp16_millielements_per_cycle": (1, 64_000, "Tausendstel Elemente je Takt"),
    "copy_fp32_millielements_per_cycle": (1, 64_000, "Tausendstel Elemente je Takt"),
    "host_transaction_ns": (1, 10**10, "ns"),
    "host_bits_per_second": (1000, 10**15, "Bit/s"),
    "io_link_bits_per_second": (1000, 10**15, "Bit/s"),
    "wafer_to_wafer_ns": (1, 10**9, "ns"),
    "power_watts_max": (1, 10**6, "W"),
    "power_watts_typical": (1, 10**6, "W"),
    "cores_total": (1, 10**8, "Kerne"),
    "sram_megabytes_total": (1, 10**9, "MB"),
    "sram_gigabytes_per_second": (1, 10**10, "GB/s"),
    "fabric_gigabits_per_second": (1, 10**10, "Gbit/s"),
    "die_area_mm2": (1, 10**6, "mm²"),
}
PEAK_TERAFLOPS: Final = (1, 10**9, "TFLOP/s")


def _named_clock(machine: Machine) -> int:
    profile = machine.id.partition("@")[2]
    return next((item for item in machine.clocks if item.name == profile), machine.clocks[0]).hz.value


def _lanes(name: str, factor: int) -> Callable[[Machine], int]:
    return lambda machine: factor * machine.figures()[f"lanes_{name}"].value


@dataclass(frozen=True, slots=True)
class Rule:
    """A figure against a bound that follows from others: `compare(value, bound)` must hold."""

    field: str
    compare: Callable[[int, int], bool]
    bound: Callable[[Machine], int]
    expected_de: str

    def sentence_de(self, machine: Machine) -> str:
        """Return what is wrong with a machine that breaks the rule, "" if it does not."""
        value, bound = machine.figures()[self.field].value, self.bound(machine)
        if self.compare(value, bound):
            return ""
        return (
            f"Das Feld „{self.field}“ hat den Wert {number(value)}; "
            f"erlaubt ist {self.expected_de} (hier {number(bound)})."
        )


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "sram_bytes_per_pe",
        gt,
        lambda m: m.code_bytes_per_pe.value + m.stack_bytes_per_pe.value,
        "mehr als „code_bytes_per_pe“ + „stack_bytes_per_pe“",
    ),
    Rule(
        "sram_bytes_per_pe",
        eq,
        lambda m: m.banks.value * m.bank_bytes.value,
        "genau „banks“ × „bank_bytes“",
    ),
    Rule("width_pes", le, lambda m: m.physical_width_pes.value, "höchstens „physical_width_pes“"),
    Rule("height_pes", le, lambda m: m.physical_height_pes.value, "höchstens „physical_height_pes“"),
    Rule("cores_total", ge, lambda m: m.pes, "mindestens „width_pes“ × „height_pes“"),
    Rule("clock_hz", eq, _named_clock, "der Takt des Profils der Kennung, sonst des ersten"),
    Rule("reserved_colors", lt, lambda m: m.colors.value, "weniger als „colors“"),
    Rule("reserved_input_queues", lt, lambda m: m.input_queues.value, "weniger als „input_queues“"),
    Rule("power_watts_typical", le, lambda m: m.power_watts_max.value, "höchstens „power_watts_max“"),
    *(
        Rule(f"{name}_flops_per_cycle_per_pe", le, _lanes(name, 2), f"höchstens 2 × „lanes_{name}“")
        for name in ("fp16", "fp32")
    ),
    *(
        Rule(
            f"{kind}_{name}_millielements_per_cycle",
            le,
            _lanes(name, 1000),
            f"höchstens 1.000 × „lanes_{name}“",
        )
        for kind in ("fma", "copy")
        for name in ("fp16", "fp32")
    ),
)
