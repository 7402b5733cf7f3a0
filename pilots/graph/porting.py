"""The porting report (EV-05): what became of every operation of a model, and what is left for people to fill in.

Kernels are not known here: whoever knows them passes a table of operation -> kernel in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import prod
from typing import Any, Final

from pilots.graph.ir import Graph
from pilots.graph.trail import Adaptation, Origin, Trail

MAX_PLACES: Final = 20  # places listed per operation
NO_KERNEL_DE: Final = "für die entsprechende Operation des Graphen gibt es keinen Kernel"
EFFORT_CATEGORIES: Final = {  # code of the evidence file -> what people read (S086)
    "MODELLCODE": "Modellcode",
    "DATENPIPELINE": "Datenpipeline",
    "PLATTFORMBETRIEB": "Plattformbetrieb",
    "SICHERHEIT_DATENSCHUTZ": "Sicherheit und Datenschutz",
    "TESTS": "Tests",
}
BRIDGES_DE: Final = {"jax": "eigene Brücke (Emulator)"}  # the vendor documents no front end for it (S024)
_RATIO_STEP: Final = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of operation of the framework: how often, what it became, which kernels compute it, and where it stands.

    reason: German sentence why it is unsupported, "" if it is supported; places: file and line, at most MAX_PLACES.
    """

    op: str
    count: int
    became: tuple[str, ...]
    kernels: tuple[str, ...]
    places: tuple[str, ...]
    reason: str
    custom: bool

    def to_json(self) -> dict[str, Any]:
        """Return the row of the evidence file."""
        return {
            "op": self.op,
            "count": self.count,
            "became": list(self.became),
            "kernels": list(self.kernels),
            "places": list(self.places),
            "reason": self.reason,
            "custom": self.custom,
        }


@dataclass(frozen=True, slots=True)
class PortingReport:
    """Coverage of a model. partitioning_required is None where no capacity was given."""

    framework: str
    version: str
    operations: tuple[Operation, ...]
    weight_bytes: int | None
    partitioning_required: bool | None
    partitioning_reason_de: str
    adaptations: tuple[Adaptation, ...] = ()

    @property
    def provenance_de(self) -> str:
        """Whose translation the report is about, where the vendor documents none for the framework; else ""."""
        return BRIDGES_DE.get(self.framework, "")

    @property
    def total(self) -> int:
        """Operations before adaptation."""
        return sum(item.count for item in self.operations)

    @property
    def unsupported(self) -> tuple[Operation, ...]:
        """Kinds of operations that cannot be computed."""
        return tuple(item for item in self.operations if item.reason)

    @property
    def unsupported_ratio(self) -> str:
        """Unsupported operations by all operations (M-41) as a decimal from 0 to 1, rounded up."""
        missing = sum(item.count for item in self.unsupported)
        ratio = Decimal(missing) / Decimal(max(self.total, 1))
        return format(ratio.quantize(_RATIO_STEP, rounding="ROUND_UP").normalize(), "f")

    def to_json(self) -> dict[str, Any]:
        """Return the evidence file; person days are left for people."""
        return {
            "format": "porting-report-1",
            "framework": self.framework,
            "version": self.version,
            "provenance": self.provenance_de,
            "operations": [item.to_json() for item in self.operations],
            "total_ops": self.total,
            "unsupported_ops": sum(item.count for item in self.unsupported),
            "unsupported_ratio": self.unsupported_ratio,
            "custom_ops": sum(item.count for item in self.operations if item.custom),
            "weight_bytes": self.weight_bytes,
            "partitioning_required": self.partitioning_required,
            "partitioning_reason": self.partitioning_reason_de,
            "adaptations": [item.to_json() for item in self.adaptations],
            "porting_effort_pt": dict.fromkeys(EFFORT_CATEGORIES),
        }


def porting_report(
    trail: Trail,
    graph: Graph | None,
    *,
    kernels: Mapping[str, str] | None = None,
    capacity_bytes: int | None = None,
) -> PortingReport:
    """Return the report of a capture, or of a model that could not be captured (`graph` is None).

    kernels: operation of the graph -> kernel, "" or missing where there is none; None leaves kernels open.
    capacity_bytes: memory for weights of one system. A graph without a trail is reported by its own operations.
    """
    rows = trail.rows
    if not rows and graph is not None:
        rows = tuple(Origin(node.op, f"node {index}", (node.op,)) for index, node in enumerate(graph.nodes))
    kinds: dict[tuple[str, str], list[Origin]] = {}
    for row in rows:
        reason = row.reason or _without_kernel(row, kernels)
        kinds.setdefault((row.op, reason), []).append(row)
    operations = tuple(
        _operation(op, reason, found, kernels) for (op, reason), found in sorted(kinds.items())
    )
    size = None if graph is None else weight_bytes(graph)
    needed, why = _partitioning(size, capacity_bytes)
    return PortingReport(trail.framework, trail.version, operations, size, needed, why, trail.adaptations)


def byte_text(size: int) -> str:
    """Return a number of bytes as people read it: in groups, from 1 MiB on with the MiB beside it."""
    grouped = f"{size:,}".replace(",", ".")
    mebibytes = f"{size / 2**20:,.1f}".translate(str.maketrans(",.", ".,"))
    return f"{grouped}\u00a0Byte ({mebibytes}\u00a0MiB)" if size >= 2**20 else f"{grouped}\u00a0Byte"


def weight_bytes(graph: Graph) -> int:
    """Return the bytes of all constants."""
    return sum(
        prod(size or 1 for size in item.tensor.shape) * item.tensor.dtype.item_bytes
        for item in graph.constants
    )


def _operation(op: str, reason: str, rows: list[Origin], kernels: Mapping[str, str] | None) -> Operation:
    became = tuple(sorted({name for row in rows for name in row.became}))
    used = tuple(sorted({(kernels or {}).get(name, "") for name in became} - {""}))
    places = tuple(dict.fromkeys(row.place for row in rows if row.place))[:MAX_PLACES]
    return Operation(op, len(rows), became, used, places, reason, custom=any(row.custom for row in rows))


def _without_kernel(row: Origin, kernels: Mapping[str, str] | None) -> str:
    if kernels is None:
        return ""
    missing = sorted({name for name in row.became if not kernels.get(name)})
    return f"{NO_KERNEL_DE}: {', '.join(missing)}" if missing else ""


def _partitioning(size: int | None, capacity: int | None) -> tuple[bool | None, str]:
    if size is None or capacity is None:
        return None, "Nicht geprüft: Größe der Gewichte oder Speicher des Systems ist nicht bekannt."
    weights, memory = byte_text(size), byte_text(capacity)
    if size <= capacity:
        return False, f"Die Gewichte, {weights}, passen in den Speicher eines Systems, {memory}."
    return True, f"Die Gewichte, {weights}, sind größer als der Speicher eines Systems, {memory}."
