"""What an entry of the claims register is made of (spec 0.4): kind, status, statement, assessment, numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

from pilots.wafer.machine import Machine
from pilots.wafer.scaling import ScalingRow
from qms.core.values import Provenance

SEED_DATE: Final = date(2026, 10, 20)
MAX_AGE_MONTHS: Final = 12  # POL-55


class Kind(StrEnum):
    """What sort of statement it is."""

    MEASURABLE = "MESSBAR"
    OPINION = "MEINUNG"
    COMPARISON = "VERGLEICH"


class ClaimStatus(StrEnum):
    """The statuses of the claims register (spec 0.4)."""

    OPEN = "OFFEN"
    REPRODUCED = "IM_EMULATOR_NACHGESTELLT"
    CONFIRMED = "GEMESSEN_BESTAETIGT"
    PARTLY = "TEILWEISE"
    REFUTED = "WIDERLEGT"
    NOT_APPLICABLE = "NICHT_ANWENDBAR"
    OPINION = "MEINUNG"


@dataclass(frozen=True, slots=True)
class Given:
    """What an assessment may look at. All but the machine is optional and comes from runs or tests of the caller.

    scaling: rows of a scaling table; model_bytes and off_wafer_bytes: of one workload; front_ends: those whose graphs
    were shown to give the same outputs, such as ("pytorch", "jax"); replayed: a replay gave the same digest; telemetry:
    a run delivered its synthetic series.
    """

    machine: Machine
    scaling: tuple[ScalingRow, ...] = ()
    model_bytes: int | None = None
    off_wafer_bytes: int | None = None
    front_ends: tuple[str, ...] = ()
    replayed: bool = False
    telemetry: bool = False


@dataclass(frozen=True, slots=True)
class ClaimFigure:
    """One number behind an assessment, as text with unit, with its provenance and its source."""

    label_de: str
    value_de: str
    provenance: Provenance
    source: str


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the model says about a claim: status, one sentence, and the numbers it rests on."""

    status: ClaimStatus
    sentence_de: str
    figures: tuple[ClaimFigure, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of seed A. seed_line: its line in the text; `assess` never raises for a machine of the register."""

    id: str
    seed_line: int
    statement_de: str
    kind: Kind
    assess: Callable[[Given], Assessment]

    def outdated(self, on: date) -> bool:
        """Say whether the text is older than POL-55 allows on a day."""
        months = (on.year - SEED_DATE.year) * 12 + on.month - SEED_DATE.month
        return (months, on.day) > (MAX_AGE_MONTHS, SEED_DATE.day)
