"""The first interpreter: shapes only. Cycles, bytes and energy of a request, with the interval of the model error."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pilots.wafer.kernels import HOST_FACTOR, StageCost, stage_cost
from pilots.wafer.machine import Machine
from pilots.wafer.program import Program, resident_bytes
from qms.core.values import Calibration

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Span:
    """A predicted quantity with both ends of its interval, in the unit of its name."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one request of `batch` samples takes; one request is in flight at a time, stages do not overlap."""

    batch: int
    stages: tuple[StageCost, ...]
    device_cycles: int
    device_seconds: Span
    host_seconds: Span
    request_seconds: Span
    request_joules: Span
    resident_bytes: int
    resident_upper_bytes: int
    off_wafer_bytes: int
    calibration: Calibration

    def to_json(self) -> dict[str, Any]:
        """Return the exact (integer) part in canonical form."""
        return {
            "batch": self.batch,
            "device_cycles": self.device_cycles,
            "resident_bytes": self.resident_bytes,
            "off_wafer_bytes": self.off_wafer_bytes,
            "stages": [
                {"cycles": cost.cycles, "calibration": cost.calibration.value, "terms": dict(cost.terms)}
                for cost in self.stages
            ],
        }


def predict(program: Program, machine: Machine, *, batch: int) -> Prediction:
    """Return cycles, times, bytes and energy of a request.

    Host time is two transactions and the transfer of inputs and outputs (figures of the machine), with its own wide
    interval. Energy is system power times request time: vendor's maximum, at the lower end its typical figure.
    """
    costs = tuple(
        stage_cost(stage, machine, program.dtype, hops_in=hops)
        for stage, hops in zip(program.stages, hops_between(program), strict=True)
    )
    rounds = program.micro_batches(batch)
    clock = machine.clock_hz.value
    cycles = rounds * sum(cost.cycles for cost in costs)
    device = Span(
        cycles / clock,
        rounds * sum(cost.lower_cycles for cost in costs) / clock,
        rounds * sum(cost.upper_cycles for cost in costs) / clock,
    )
    moved = batch * (program.stages[0].k + program.stages[-1].n) * program.dtype.item_bytes
    host_seconds = (
        2 * machine.host_transaction_ns.value / NANOSECONDS + 8 * moved / machine.host_bits_per_second.value
    )
    host = Span(host_seconds, host_seconds / HOST_FACTOR, host_seconds * HOST_FACTOR)
    request = Span(device.value + host.value, device.lower + host.lower, device.upper + host.upper)
    most, usual = machine.power_watts_max.value, machine.power_watts_typical.value
    resident = resident_bytes(program, machine)
    used = sum(stage.rect.pes for stage in program.stages)
    return Prediction(
        batch=batch,
        stages=costs,
        device_cycles=cycles,
        device_seconds=device,
        host_seconds=host,
        request_seconds=request,
        request_joules=Span(request.value * most, request.lower * usual, request.upper * most),
        resident_bytes=resident,
        resident_upper_bytes=resident + used * machine.plumbing_bytes_per_pe.value,
        off_wafer_bytes=moved,
        calibration=Calibration.EXTRAPOLATED,  # host, realignment and energy are not measured on any of our runs
    )


def hops_between(program: Program) -> list[int]:
    """Return for each stage the distance in hops from the stage before (from the corner for the first)."""
    places = [(0, 0)] + [stage.rect.centre for stage in program.stages]
    return [abs(x - left) + abs(y - top) for (left, top), (x, y) in pairwise(places)]
