"""How full the elements of a wafer are, and how long messages take between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pilots.catalog.figures import FROM_MACHINE, plain
from pilots.catalog.model import load_model
from pilots.catalog.target import machine_of
from pilots.wafer import emulator, fabric
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.estimate import Estimate
from pilots.wafer.machine import Machine
from pilots.wafer.program import Program
from qms.core.values import Metric, Unit


@dataclass(frozen=True, slots=True)
class Way:
    """One wavelet on its way, or a collective over all elements. note_de: what the figure does not hold."""

    key: str
    label_de: str
    hops: float
    cycles: Metric
    latency_ns: float
    weakest: str
    note_de: str


def sram_map(profile_key: str, parameters: dict[str, Any]) -> Any:
    """Return per processing element the share of its SRAM in use by a target run, in per cent (rows by columns)."""
    graph, _weights = load_model(parameters["model_text"])
    machine = machine_of(profile_key)
    return _shares(compile_graph(graph, machine, Request(batch=parameters["samples"])), machine)


def estimate_map(found: Estimate) -> Any:
    """Return the same for the answer phase of a language model, on the first system."""
    return _shares(found.decode.program, found.machine)


def ways(machine: Machine) -> tuple[Way, ...]:
    """Return the latencies between two elements, and of reaching and adding up all of them."""
    rows = (*fabric.latencies(machine), fabric.broadcast(machine), fabric.all_reduce(machine))
    return tuple(
        Way(
            key=row.key,
            label_de=row.label_de,
            hops=float(row.hops),
            cycles=plain(f"{row.key}_cycles", float(row.cycles), Unit.CYCLES, FROM_MACHINE),
            latency_ns=float(row.nanoseconds),
            weakest=row.weakest.value,
            note_de=row.note_de,
        )
        for row in rows
    )


def _shares(program: Program, machine: Machine) -> Any:
    memory, _busy = emulator.pe_maps(program, machine)
    return memory * (100.0 / machine.sram_bytes_per_pe.value)
