"""Reading what somebody hands in as a run of a workload on a platform; nothing is stored here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from pilots import catalog
from pilots.catalog import ImportedRun, TableReading
from pilots.catalog.plausibility import impossible
from pilots.platforms import names_of
from pilots.services import measuring_keys
from qms.audit.services import witnessed
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.workloads import selectors as workloads
from qms.workloads.choices import TRAINING
from qms.workloads.models import PlatformProfile, Workload


@dataclass(frozen=True)
class ImportedFile:
    """A benchmark file as handed in: its bytes and its name."""

    data: bytes
    name: str


@witnessed
def check_may_hand_in(*, actor: User, workload_id: UUID) -> Role:
    """Raise what keeps the person from handing in a baseline (P12, P14), before any file is looked at."""
    workload = workloads.get(workload_id, actor=actor)
    guards.require(actor=actor, permission=Permission.START_BASELINE_RUN, workload=workload)
    return guards.require(actor=actor, permission=Permission.UPLOAD_EVIDENCE, workload=workload)


def read(
    files: Sequence[ImportedFile],
    *,
    workload: Workload,
    platform: PlatformProfile,
    number: int | None = None,
    table: TableReading | None = None,
) -> ImportedRun:
    """Return the files of one run with the assurance of their signature.

    Raises CriterionNotMet NACHWEIS_VERWEIGERT for what is not one run of this model, says nothing of its speed, or what
    no machine can do (EM-11).
    """
    found = measuring_keys.assured(
        catalog.read_handed_in([(file.data, file.name) for file in files], number, table),
        workload=workload,
        platform=platform,
    )
    found.check_says_how_fast()
    reason = impossible(
        found.joined.benchmark.metrics,
        workload.model_facts,
        names_of(platform),
        training=workload.mode in TRAINING,
    )
    if reason:
        raise catalog.refused(reason, "IMPOSSIBLE")
    return found
