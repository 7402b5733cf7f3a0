"""What the cycle interpreter counts beside the model: every case of the agreement, and published runs it has a program for.

Counting takes a while, so `validate --write` keeps the counts in a file beside the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pilots.wafer import workloads
from pilots.wafer.cycle import agreement
from pilots.wafer.cycle.agreement import Agreement
from pilots.wafer.cycle.case import Case
from pilots.wafer.machine import MACHINES
from pilots.wafer.validation.assessment import Assessment, Line
from pilots.wafer.validation.families import Kind
from pilots.wafer.validation.words import amount, signed_percent, table
from qms.core.values import decimal_text, rounded

FILE: Final = "agreement.json"
ABOUT: Final = (
    "Written by `python -m pilots.wafer validate --write`; cycles, predicted ones as decimal strings."
)


@dataclass(frozen=True, slots=True)
class Counted:
    """agreement: every case, run; simulator: cycles by id of an entry of the vendor's simulator."""

    agreement: tuple[Agreement, ...]
    simulator: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return the counts as they are kept."""
        rows = {name_of(row.case): _row(row) for row in self.agreement}
        return {"about": ABOUT, "agreement": rows, "simulator": dict(self.simulator)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Counted:
        """Return kept counts for the cases there are now; raises KeyError for one that was not counted."""
        kept = ((case, data["agreement"][name_of(case)]) for case in agreement.CASES)
        rows = (
            Agreement(case, row["counted"], float(row["predicted"]), row["same_bits"]) for case, row in kept
        )
        return cls(tuple(rows), data["simulator"])


def _row(row: Agreement) -> dict[str, Any]:
    predicted = decimal_text(rounded(row.predicted, 9))
    return {"counted": row.counted, "predicted": predicted, "same_bits": row.same_bits}


def name_of(case: Case) -> str:
    """Return the name under which the counts of a case are kept."""
    sizes = ("x".join(map(str, item)) for item in (case.shape, case.grid))
    parts = (case.kernel, case.op, *sizes, case.dtype.value, case.machine.id)
    return " ".join(part for part in parts if part)


def count(found: Assessment) -> Counted:
    """Run every case, and every entry of the vendor's simulator that has a program; figures as they are kept."""
    programs = ((line.row.entry.id, program_of(line)) for line in simulated(found))
    runs = {name: agreement.check(case).counted for name, case in programs if case}
    return Counted.from_json(Counted(agreement.table(), runs).to_json())


def simulated(found: Assessment) -> list[Line]:
    """Return the predicted entries of the vendor's simulator."""
    return [line for line in found.lines if line.row.kind is Kind.SIMULATOR and line.prediction]


def program_of(line: Line) -> Case | None:
    """Return the program of an entry; None inside one element, where no wavelet moves, and where the grid is open."""
    assert line.row.question is not None
    asked = line.row.question.case
    work, machine = asked.workload, MACHINES[asked.machine_id]
    if isinstance(work, workloads.Gemm) and work.grid:
        shape = (work.m, work.k, work.n)
        return Case(work.kernel, "matmul", shape, (work.grid, work.grid), work.dtype, machine)
    if isinstance(work, workloads.Gemv) and work.grid:
        return Case("GEMV", "matmul", (1, work.k, work.n), (work.grid, work.grid), work.dtype, machine)
    return None


def interpreters(counted: Counted) -> list[str]:
    """Return the section on whether the interpreters agree."""
    rows = counted.agreement
    close, same = sum(row.agrees for row in rows), sum(row.same_bits for row in rows)
    return [
        "## Stimmen die Interpreter überein?",
        "",
        (
            "`predict` rechnet Takte aus Formen, `cycle` zählt sie Wavelet für Wavelet; gefordert sind höchstens "
            f"{agreement.LIMIT:.0%} Unterschied je Kernel und Ergebnisse, die denen von `functional` Bit für Bit gleichen. "
            f"Takte: **{close} von {len(rows)}** Fällen, der Rest mit Grund; Ergebnisse: **{same} von {len(rows)}**. "
            "Anlaufzeiten, die ein Netz nicht hervorbringt (`launch`, `step`), gehen in beide gleich ein."
        ).replace("5%", "5 %"),
        "",
        *agreement.text_de(rows).splitlines(),
        "",
    ]


def vendor_simulator(found: Assessment, counted: Counted) -> list[str]:
    """Return the section of the entries of the vendor's simulator."""
    lines = simulated(found)
    known = sum(line.row.kind is Kind.SIMULATOR for line in found.lines)
    return [
        "## Simulator des Herstellers",
        "",
        (
            "Nie angepasst, nie in der Schlagzeile: Was ein anderer Simulator zählt, ist keine Messung. „gezählt“ ist unser eigener "
            "Taktinterpreter, wo er ein Programm dafür hat; Produkte in einem einzigen Element (Schleifen und Vektoroperationen) "
            f"bewegen kein Wavelet. Vorhergesagt sind {len(lines)} von {known} Einträgen, die übrigen stehen unter „Abgelehnt“."
        ),
        "",
        *table(
            ("Eintrag", "veröffentlichte Takte>", "vorhergesagt>", "Fehler>", "gezählt>", "Fehler>"),
            [_simulated(line, counted.simulator.get(line.row.entry.id)) for line in lines],
        ),
    ]


def _simulated(line: Line, cycles: int | None) -> tuple[str, ...]:
    assert line.prediction is not None
    published = line.row.published_cycles
    predicted = line.prediction.cycles
    return (
        line.row.entry.id,
        amount(published) if published else "–",
        amount(predicted),
        signed_percent(predicted / published - 1) if published else "–",
        amount(cycles) if cycles else "–",
        signed_percent(cycles / published - 1) if published and cycles else "–",
    )
