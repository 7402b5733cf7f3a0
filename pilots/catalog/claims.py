"""What seed A claims about wafer-scale hardware, and what the emulator says about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pilots.catalog.scaling import Grown
from pilots.wafer.claim_types import Kind
from pilots.wafer.claims import Given, assess_all
from pilots.wafer.estimate import Estimate
from pilots.wafer.facts import FRAMEWORKS
from pilots.wafer.machine import find
from pilots.wafer.scaling import ScalingRow
from qms.core.values import Assurance, Axes, Origin, Provenance
from qms.evidence.claim_choices import ClaimStatus, EmulatorAnswer

FRONT_ENDS: Final = FRAMEWORKS
"""Names of the frameworks whose graphs are read, by the key an answer takes."""
REGISTER_MACHINE: Final = "wse-3"
"""The machine the vendor text speaks of: 900,000 cores, 44 GB, 21 PB/s."""


@dataclass(frozen=True, slots=True)
class Basis:
    """One number behind an answer, as German text with its unit and its source."""

    label_de: str
    value_de: str
    axes: Axes


@dataclass(frozen=True, slots=True)
class ClaimAnswer:
    """A statement of seed A and what the emulator says: status of the claims register, one German sentence, numbers."""

    id: str
    statement_de: str
    status: str
    sentence_de: str
    basis: tuple[Basis, ...]


def claims_about(found: Estimate, grown: tuple[Grown, ...]) -> tuple[ClaimAnswer, ...]:
    """Return every claim with its answer for this machine and this model, in the order of the text."""
    given = Given(
        machine=found.machine,
        scaling=_comparable(grown),
        model_bytes=found.capacity.weight_bytes,
        off_wafer_bytes=found.decode.prediction.off_wafer_bytes,
    )
    return tuple(
        ClaimAnswer(
            id=claim.id,
            statement_de=claim.statement_de,
            status=said.status.value,
            sentence_de=said.sentence_de,
            basis=tuple(Basis(item.label_de, item.value_de, _axes(item.provenance)) for item in said.figures),
        )
        for claim, said in assess_all(given)
    )


def about_machine(
    machine_id: str = REGISTER_MACHINE, *, replayed: bool = False, front_ends: tuple[str, ...] = ()
) -> dict[str, EmulatorAnswer]:
    """Return, by its key, what the emulator says about each claim for a machine and no model (claims register).

    replayed: a replay gave the same digest; front_ends: frameworks whose graphs gave the same outputs. An opinion is
    said of no machine.
    """
    machine = find(machine_id)
    given = Given(machine=machine, replayed=replayed, front_ends=front_ends)
    return {
        claim.id: EmulatorAnswer(
            ClaimStatus(said.status.value),
            said.sentence_de,
            "" if claim.kind is Kind.OPINION else machine.name,
        )
        for claim, said in assess_all(given)
    }


def _axes(provenance: Provenance) -> Axes:
    origin = Origin.OWN if provenance is Provenance.EMULATED else Origin.PUBLISHED
    return Axes(provenance, Assurance.SUBMITTED, origin)


def _comparable(grown: tuple[Grown, ...]) -> tuple[ScalingRow, ...]:
    """Return the rows if they are compared with a single system, as the claim does."""
    return tuple(item.row for item in grown) if grown and grown[0].systems == 1 else ()
