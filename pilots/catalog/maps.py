"""How full the elements of a wafer are, and how long messages take between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pilots.catalog.figures import FROM_MACHINE, plain
from pilots.catalog.model import load_model
from pilots.catalog.target import machine_of
from pilots.wafer import emulator, fabric
from pilots.wafer.compiler import Request, compile_graph
from pilots.wafer.defects import dead_map, random_defects, usable
from pilots.wafer.estimate import Estimate
from pilots.wafer.machine import Machine
from pilots.wafer.map_png import Tiles, View, tiles
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


@dataclass(frozen=True, slots=True)
class Failures:
    """Made-up failures of a machine at its published yield: how many, and what bridging them adds to the longest path."""

    dead: int
    manufactured: int
    extra_cycles: int


def run_tiles(profile_key: str, parameters: dict[str, Any], view: View) -> Tiles:
    """Return the map of a target run: per cent of the SRAM in use, or the made-up failures of its machine.

    Raises CriterionNotMet (G0-5) if the model file is missing or was changed.
    """
    named = {name: parameters.get(name, "") for name in ("model_text", "model_file_sha256")}
    return _run_tiles(profile_key, **named, samples=parameters.get("samples"), view=view)


@lru_cache(maxsize=64)
def _run_tiles(
    profile_key: str, *, model_text: str, model_file_sha256: str, samples: int | None, view: View
) -> Tiles:
    """A page asks for the map twice, and a capture is large: its map follows from what is named here alone."""
    parameters = {"model_text": model_text, "model_file_sha256": model_file_sha256, "samples": samples}
    model, machine = load_model(parameters), machine_of(profile_key)
    batch = model.batch(parameters, "samples")
    return _tiles(compile_graph(model.graph, machine, Request(batch=batch)), machine, view)


def estimate_tiles(found: Estimate, view: View) -> Tiles:
    """Return the same for the answer phase of a language model, on the first system."""
    return _tiles(found.decode.program, found.machine, view)


def failures(machine: Machine) -> Failures:
    """Return how many elements the made-up wafer has lost, and what that costs."""
    assumed = random_defects(machine, seed=1)
    mask = dead_map(machine, assumed)
    extra = usable(machine, assumed).worst_extra_cycles
    return Failures(dead=int(mask.sum()), manufactured=mask.size, extra_cycles=extra)


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


def _tiles(program: Program, machine: Machine, view: View) -> Tiles:
    if view is View.DEAD:
        mask = dead_map(machine, random_defects(machine, seed=1))
        return tiles(mask * 0.0, mask)
    memory, _busy = emulator.pe_maps(program, machine)
    return tiles(memory * (100.0 / machine.sram_bytes_per_pe.value))
