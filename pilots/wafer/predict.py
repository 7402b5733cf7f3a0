"""The first interpreter: shapes only. Cycles by cause, bytes and energy of a request, with the interval of the model error."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, prod
from typing import Any, Final

from pilots.graph.ir import Attrs
from pilots.wafer.costs.constants import Constants, calibrated
from pilots.wafer.costs.kernels import Setting, cost
from pilots.wafer.costs.terms import Span, Terms
from pilots.wafer.costs.uncertainty import Trust, host_factor, trust_in
from pilots.wafer.machine import Machine
from pilots.wafer.memory import ATTENTIONS, resident_bytes
from pilots.wafer.program import PRODUCTS, Call, Kernel, Mode, Program, Rect

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one request of `batch` samples takes; one request is in flight, calls do not overlap.

    pass_cycles: whole cycles by cause of one pass; device: arithmetic, memory and fabric of all passes;
    off_wafer: waiting for weights that come from outside; host: transactions and transfer of inputs and outputs.
    """

    batch: int
    passes: int
    pass_cycles: dict[str, int]
    device_seconds: Span
    off_wafer_seconds: Span
    host_seconds: Span
    request_joules: Span
    resident_bytes: int
    resident_upper_bytes: int
    off_wafer_bytes: int
    streamed_bytes: int
    multiply_adds: int
    trust: Trust

    @property
    def device_cycles(self) -> int:
        """Cycles of all passes on the wafer."""
        return self.passes * sum(self.pass_cycles.values())

    @property
    def step_seconds(self) -> Span:
        """Device time and waiting for weights, without the host."""
        return self.device_seconds + self.off_wafer_seconds

    @property
    def request_seconds(self) -> Span:
        """The whole request as the host sees it."""
        return self.step_seconds + self.host_seconds

    def to_json(self) -> dict[str, Any]:
        """Return the exact (integer) part in canonical form."""
        return {
            "batch": self.batch,
            "device_cycles": self.device_cycles,
            "resident_bytes": self.resident_bytes,
            "off_wafer_bytes": self.off_wafer_bytes,
            "streamed_bytes": self.streamed_bytes,
            "pass_cycles": dict(self.pass_cycles),
            "calibration": self.trust.state,
        }


def predict(
    program: Program,
    machine: Machine,
    *,
    batch: int,
    copies: int = 1,
    constants: Constants | None = None,
    moved_bytes: int | None = None,
) -> Prediction:
    """Return cycles, times, bytes and energy of a request. copies: how many run side by side, each on its own systems;
    they change the trust and nothing else. moved_bytes: all inputs and outputs, where they are known exactly.

    Host time is two transactions and the transfer of inputs and outputs (figures of the machine), with its own wide
    interval. Energy is system power times time: vendor's maximum, at the lower end its typical figure.
    """
    setting = Setting(machine, program.dtype, constants or calibrated(), program.mode)
    terms = program_terms(program, setting)
    passes = program.micro_batches(batch)
    trust = trust_in(program, machine, copies=copies)
    device = trust.span(passes * sum(terms.whole().values()) / machine.clock_hz.value)
    streamed = streamed_bytes(program)
    stream_seconds = passes * 8 * streamed / machine.io_link_bits_per_second.value
    waiting = _waiting(device, stream_seconds)
    moved = _io_bytes(program, batch) if moved_bytes is None else moved_bytes
    host_seconds = (
        2 * machine.host_transaction_ns.value / NANOSECONDS + 8 * moved / machine.host_bits_per_second.value
    )
    host = Span(host_seconds, host_seconds / host_factor(), host_seconds * host_factor())
    total = device + waiting + host
    most = machine.power_watts_max.value * program.systems
    usual = machine.power_watts_typical.value * program.systems
    resident = resident_bytes(program, machine)
    used = sum(region.rect.pes for region in program.regions)
    return Prediction(
        batch=batch,
        passes=passes,
        pass_cycles=terms.whole(),
        device_seconds=device,
        off_wafer_seconds=waiting,
        host_seconds=host,
        request_joules=Span(total.value * most, total.lower * usual, total.upper * most),
        resident_bytes=resident,
        resident_upper_bytes=resident + used * machine.plumbing_bytes_per_pe.value,
        off_wafer_bytes=moved + passes * streamed,
        streamed_bytes=passes * streamed,
        multiply_adds=passes * sum(multiply_adds(call) for call in program.calls),
        trust=trust,
    )


def _waiting(device: Span, stream_seconds: float) -> Span:
    """Return how long the wafer waits for weights that come in while it computes; the link is as uncertain as the host.

    A fast wafer waits longer: where that turns the ends around, the interval is widened to hold the value.
    """
    spread = host_factor()
    value = max(0.0, stream_seconds - device.value)
    return Span(
        value,
        min(value, max(0.0, stream_seconds / spread - device.lower)),
        max(value, stream_seconds * spread - device.upper),
    )


def program_terms(program: Program, setting: Setting) -> Terms:
    """Return the cycles of one pass by cause. Calls of equal cost are counted, not computed again."""
    total = Terms(fabric=_between_regions(program, setting))
    types = dict(program.types)
    works = Counter((_work(call), types.get(call.output, setting.dtype)) for call in program.calls)
    for (work, dtype), count in works.items():
        at = setting if dtype is setting.dtype else replace(setting, dtype=dtype)
        total += cost(_call(work), at).times(count)
    return total


_Work = tuple[Kernel, str, int, int, tuple[int, ...], tuple[int, ...], Attrs]


def _work(call: Call) -> _Work:
    return (call.kernel, call.op, call.rect.width, call.rect.height, call.shape, call.tile, call.attrs)


def _call(work: _Work) -> Call:
    kernel, op, width, height, shape, tile, attrs = work
    return Call(0, kernel, op, (), "", 0, Rect(0, 0, width, height), shape, tile, attrs)


def _between_regions(program: Program, setting: Setting) -> float:
    """Return the cycles to hand activations from region to region, within a wafer and between wafers."""
    machine = setting.machine
    last = {call.region: call for call in program.calls}
    cycles = 0.0
    for number, (left, right) in enumerate(pairwise(program.regions)):
        words = setting.words(_result_elements(last[number])) if number in last else 0
        if left.system == right.system:
            (x, y), (u, v) = left.rect.centre, right.rect.centre
            cycles += words / max(1, left.rect.height) + (abs(x - u) + abs(y - v)) * machine.hop_cycles.value
        else:
            wire = words * 32 / machine.io_link_bits_per_second.value
            cycles += (machine.wafer_to_wafer_ns.value / NANOSECONDS + wire) * machine.clock_hz.value
    return ceil(cycles)


def _result_elements(call: Call) -> int:
    shape = call.shape
    if call.kernel in PRODUCTS or call.kernel is Kernel.CONVOLUTION:
        return shape[0] * shape[2]
    if call.kernel in ATTENTIONS:
        return shape[0] * shape[1] * shape[3] * shape[5]
    return shape[0] * shape[1] * (shape[2] if call.kernel is Kernel.STENCIL else 1)


def multiply_adds(call: Call) -> int:
    """Return the multiply-adds of one call, exactly."""
    shape = call.shape
    if call.kernel in PRODUCTS or call.kernel is Kernel.CONVOLUTION:
        return shape[0] * shape[1] * shape[2]
    if call.kernel in ATTENTIONS:
        return 2 * shape[0] * _pairs(call) * shape[3] * shape[5]
    if call.kernel is Kernel.EXPERTS:
        return 3 * shape[0] * shape[1] * shape[2] * shape[4]
    return prod(shape) if call.op == "stencil" else 0


def _pairs(call: Call) -> int:
    """Return how many pairs of positions of one sequence see each other; a cached query sees a full cache."""
    _, queries, context, *_ = call.shape
    numbers = {name: value for name, value in call.attrs if isinstance(value, int)}
    window = min(numbers.get("window", context), context)
    if call.kernel is Kernel.ATTENTION_CACHED:
        return window
    backwards = window * (window + 1) // 2 + (queries - window) * window
    return backwards if numbers["causal"] else 2 * backwards - queries


def streamed_bytes(program: Program) -> int:
    """Return the bytes of weights that come in during one pass."""
    if program.mode is not Mode.WEIGHT_STREAMING:
        return 0
    outside = {item.name for item in program.residents if item.kind == "streamed"}
    elements = sum(
        _operand_elements(call) * sum(name in outside for name in call.inputs) for call in program.calls
    )
    return elements * program.dtype.item_bytes


def _operand_elements(call: Call) -> int:
    """Return the size of one weight of a call: a matrix, a matrix of every expert, the rows asked for, or one row."""
    shape = call.shape
    if call.kernel in PRODUCTS or call.kernel is Kernel.CONVOLUTION:
        return shape[1] * shape[2]
    if call.kernel is Kernel.EXPERTS:
        return shape[1] * shape[2] * shape[3]
    return shape[0] * shape[1] if call.kernel in (Kernel.GATHER, Kernel.OPTIMISER) else shape[1]


def _io_bytes(program: Program, batch: int) -> int:
    """Return the bytes that enter and leave for a batch: token ids or samples, and the result of the last call."""
    first, last = program.calls[0], program.calls[-1]
    item_bytes = program.dtype.item_bytes
    width = last.shape[2] if last.kernel in PRODUCTS else last.shape[1]
    if first.kernel is Kernel.GATHER:
        passes = program.micro_batches(batch)
        return passes * (first.shape[0] * ID_BYTES + last.shape[0] * width * item_bytes)
    return batch * (first.shape[1] + width) * item_bytes


ID_BYTES: Final = 4
