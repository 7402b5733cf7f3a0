"""The metric catalogue (spec 3.10) as data: keys, units, direction and German grammar. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from qms.core import canonical
from qms.core.coded import localized
from qms.core.values import Better

_FILE: Final = Path(__file__).parent / "data" / "metrics.json"


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """One row of the catalogue.

    unit: "ratio" for 0–1, "n" for counts, "*" if the quality target names it; gender: of the German noun
    (m, f, n); genitive: German genitive with article; catalogue: id of the row it comes from.
    """

    key: str
    catalogue: str
    unit: str
    better: Better | None
    gender: str
    row: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return the noun in the active language."""
        return localized(self.row, "name")

    @property
    def genitive(self) -> str:
        """Return "of the …" in the active language: German genitive with article, English noun."""
        return localized({**self.row, "genitive_en": self.row["name_en"]}, "genitive")


@cache
def catalogue() -> Mapping[str, MetricDefinition]:
    """Return all metrics by key."""
    rows = canonical.loads(_FILE.read_bytes())["metrics"]
    return {
        row["key"]: MetricDefinition(
            row["key"],
            row["catalogue"],
            row["unit"],
            Better(row["better"]) if row["better"] else None,
            row["gender"],
            row,
        )
        for row in rows
    }
