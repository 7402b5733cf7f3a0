"""One number of a machine with its provenance and source, and the small records made of such numbers.

Source ids name entries of `data/reference.json`. A value worked out from entries is ABGELEITET; a value nobody
published is GESCHAETZT and says why (EM-03).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

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


class Density(StrEnum):
    """Whether a peak counts zeros that are never computed (EM-03)."""

    DENSE = "DICHT"
    SPARSE = "DUENNBESETZT"
    DISPUTED = "UMSTRITTEN"  # public texts disagree; never compared with a dense peak without its note


@dataclass(frozen=True, slots=True)
class Peak:
    """A theoretical peak of the whole machine; an upper bound, never an achieved value."""

    teraflops: Figure
    precision: str
    density: Density
    note_de: str

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        form = {"precision": self.precision, "density": self.density.value, "note_de": self.note_de}
        return form | {"teraflops": self.teraflops.to_json()}


@dataclass(frozen=True, slots=True)
class ClockProfile:
    """A named clock in Hz; `power` names the power profile that goes with it, "" if the machine's own stays."""

    name: str
    hz: Figure
    power: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {"name": self.name, "power": self.power, "hz": self.hz.to_json()}


@dataclass(frozen=True, slots=True)
class PowerProfile:
    """A named electrical power of one system in watts."""

    name: str
    watts: Figure

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {"name": self.name, "watts": self.watts.to_json()}


def vendor(value: int, source: str) -> Figure:
    """Return what the vendor states."""
    return Figure(value, Provenance.VENDOR_STATED, source)


def published(value: int, source: str) -> Figure:
    """Return somebody else's measurement of the machine, not of this workload: HERSTELLERANGABE (spec 3.7.4)."""
    return Figure(value, Provenance.VENDOR_STATED, f"{source} (published measurement)")


def derived(value: int, source: str) -> Figure:
    """Return a value worked out from entries."""
    return Figure(value, Provenance.DERIVED, source)


def chosen(value: int, reason: str) -> Figure:
    """Return a value nobody published, with the reason for it."""
    return Figure(value, Provenance.ESTIMATED, reason)
