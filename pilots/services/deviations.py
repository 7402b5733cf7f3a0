"""The list of deviations (spec 3.7.3): where baseline and target run are not one workload, the owner says in what and why.

It stands in the lineage manifest (EV-16); the review of the manifest approves it (G4-1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from pilots import selectors
from qms.audit.services import audited
from qms.core import clock, store
from qms.core.errors import CriterionNotMet
from qms.core.values import Assurance, Axes, Origin, Provenance
from qms.evidence import services as evidence
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.evidence.services import Submission
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.workloads import selectors as workloads
from qms.workloads.choices import DeviationField

MOST: Final = 5
LONGEST: Final = 300


@dataclass(frozen=True, slots=True)
class Deviation:
    """One deviation: which input, its value on both sides, why, and what it changes in the result."""

    field: DeviationField
    baseline: str
    target: str
    reason: str
    effect: str


@audited
def list_deviations(*, actor: User, workload_id: UUID, deviations: Sequence[Deviation]) -> EvidenceItem:
    """Hand in the lineage manifest again with what differs from the baseline of today (P13).

    Raises CriterionNotMet (G4-1) without baseline or manifest, and for a list that is empty, too long or incomplete.
    """
    workload = workloads.lock(workload_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.START_TARGET_RUN, workload=workload)
    baseline, manifest = selectors.baseline_evidence(workload), selectors.lineage_evidence(workload)
    if baseline is None or manifest is None:
        raise _refused(_("Abweichungen lassen sich nach Vergleichsbasis und Ziellauf auflisten (G4-1)."))
    _check(deviations)
    try:
        facts, compared = manifest.facts(), baseline.facts()
    except store.StoredFileError as error:
        raise evidence.tampered([manifest, baseline], actor.audit_actor(role)) from error
    return evidence.submit(
        actor=actor.audit_actor(role),
        submission=Submission(
            workload=workload,
            type=EvidenceType.LINEAGE,
            title=manifest.title,
            facts=facts
            | {
                "deviations": [asdict(row) | {"field": row.field.value} for row in deviations],
                "deviations_from": str(compared["run_id"]),
            },
            axes=Axes(
                Provenance(manifest.provenance), Assurance(manifest.assurance), Origin(manifest.origin)
            ),
            producer=actor.person,
            measured_at=clock.now(),
            run_id=manifest.run_id,
        ),
    )


def _check(deviations: Sequence[Deviation]) -> None:
    if not 1 <= len(deviations) <= MOST:
        raise _refused(_("Bitte nennen Sie eine bis fünf Abweichungen (G4-1)."))
    for row in deviations:
        texts = (row.baseline, row.target, row.reason, row.effect)
        if not all(text.strip() for text in texts) or max(map(len, texts)) > LONGEST:
            raise _refused(
                _("Bitte nennen Sie zu jeder Abweichung beide Werte, den Grund und die Wirkung (G4-1).")
            )


def _refused(message: str) -> CriterionNotMet:
    return CriterionNotMet(message, id="G4-1")
