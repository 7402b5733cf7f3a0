"""The porting report of a target run (EV-05): what became of every operation, by the kernels of its program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pilots.catalog.model import LoadedModel
from pilots.graph.porting import porting_report
from pilots.wafer.emulator import OpMatch
from pilots.wafer.lowering import kernel_name
from pilots.wafer.machine import Machine


def porting_facts(
    model: LoadedModel, coverage: Iterable[OpMatch], machine: Machine, *, run_id: str
) -> dict[str, Any]:
    """Return EV-05; kernels are those of the compiled program, person days are left for people.

    An operation that the program no longer holds, since its numbers were folded, has the kernel it would have had.
    """
    kernels = {op: kernel_name(op) for row in model.trail.rows for op in row.became}
    used: dict[str, set[str]] = {}
    for item in coverage:
        used.setdefault(item.op, set()).add(item.kernel)
    kernels |= {op: ", ".join(sorted(names)) for op, names in used.items()}
    report = porting_report(model.trail, model.graph, kernels=kernels, capacity_bytes=machine.sram_bytes)
    return report.to_json() | {"type": "EV-05", "run_id": run_id}
