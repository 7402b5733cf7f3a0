"""Physical plausibility of a result (EM-11): nothing may be faster or larger than the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pilots.graph.ir import DType
from pilots.wafer.machine import Machine
from pilots.wafer.predict import Prediction
from pilots.wafer.program import Program


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison: `value` must not exceed `limit`, both in `unit`, rounded to whole numbers."""

    name: str
    value: int
    limit: int
    unit: str

    @property
    def holds(self) -> bool:
        """Say whether the result is physically possible."""
        return self.value <= self.limit

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form; numbers are strings because they may exceed 2**53."""
        return {
            "name": self.name,
            "value": str(self.value),
            "limit": str(self.limit),
            "unit": self.unit,
            "holds": self.holds,
        }


def check(program: Program, machine: Machine, prediction: Prediction) -> tuple[Check, ...]:
    """Return the four comparisons of EM-11 for a predicted request, taken over device time."""
    seconds = prediction.device_seconds.value
    half = program.dtype is not DType.FLOAT32
    per_pe = machine.fp16_flops_per_cycle_per_pe if half else machine.fp32_flops_per_cycle_per_pe
    clock = machine.clock_hz.value
    flops = 2 * prediction.multiply_adds
    # Every multiply-add reads two operands and writes one sum.
    touched = prediction.multiply_adds * (2 * program.dtype.item_bytes + 4)
    wafers = machine.pes * program.systems
    return (
        Check("effective FLOP/s", int(flops / seconds), per_pe.value * wafers * clock, "FLOP/s"),
        Check(
            "effective SRAM bandwidth",
            int(touched / seconds),
            machine.sram_access_bytes_per_cycle_per_pe.value * wafers * clock,
            "B/s",
        ),
        Check("resident bytes", prediction.resident_bytes, machine.sram_bytes * program.systems, "B"),
        Check(
            "off-wafer bytes",
            prediction.off_wafer_bytes,
            _transferable(machine, prediction),
            "B",
        ),
    )


def _transferable(machine: Machine, prediction: Prediction) -> int:
    """Return what the host link and the link for streamed weights carry in the predicted time."""
    host = machine.host_bits_per_second.value * prediction.host_seconds.value
    weights = machine.io_link_bits_per_second.value * prediction.step_seconds.value
    return int((host + weights) / 8) + 1
