"""One number of a device or a link with its unit, provenance, source and date (EM-03)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pilots.cluster.errors import RequestError
from qms.core.values import Provenance


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, where it comes from, and the source or the reason for an estimate."""

    value: float
    unit: str
    provenance: Provenance
    source: str
    date: str

    def to_json(self) -> dict[str, Any]:
        """Return the form the catalogue is written in."""
        return {
            "value": self.value,
            "unit": self.unit,
            "provenance": self.provenance.value,
            "source": self.source,
            "date": self.date,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Figure:
        """Read the form of the catalogue; raises RequestError for a number without source."""
        if not data.get("source"):
            sentence = "Eine Zahl des Katalogs hat keine Quelle."
            raise RequestError(f"figure without source: {data}", message_de=sentence)
        return cls(
            float(data["value"]),
            data["unit"],
            Provenance(data["provenance"]),
            data["source"],
            data["date"],
        )
