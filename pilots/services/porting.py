"""The effort of porting (G4-6): person days by category, entered by a person into the porting report (EV-05)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from pilots import selectors
from pilots.choices import EFFORT_LABELS
from pilots.models import Run
from qms.audit.services import audited
from qms.core import clock, store
from qms.core.errors import CriterionNotMet
from qms.core.values import Assurance, Axes, Origin, Provenance, decimal_text
from qms.evidence import services as evidence
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.evidence.services import Submission
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.workloads import selectors as workloads

MAX_DAYS: Final = Decimal(10_000)
EFFORT_KEYS: Final = ("porting_effort_pt", "effort_reasons", "effort_axes")
STATED: Final = Axes(
    Provenance.ESTIMATED, Assurance.SUBMITTED, Origin.OWN
)  # of person days, not of the report


@dataclass(frozen=True)
class Effort:
    """Person days of one category; a zero needs its reason."""

    days: Decimal
    reason: str = ""


@audited
def enter_effort(*, actor: User, workload_id: UUID, efforts: Mapping[str, Effort]) -> EvidenceItem:
    """Hand in the porting report again, with person days for every category (P13: who runs the target, G4-6).

    Raises CriterionNotMet (G4-6) without a report, for a missing category, an impossible number or a bare zero.
    """
    workload = workloads.lock(workload_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.START_TARGET_RUN, workload=workload)
    item = selectors.porting_evidence(workload)
    if item is None:
        raise CriterionNotMet(
            _(
                "Der Portierungsbericht entsteht mit dem Ziellauf; bitte starten Sie zuerst die Emulation (G4-6)."
            ),
            id="G4-6",
        )
    _check(efforts)
    try:
        reported = item.facts()
    except store.StoredFileError as error:
        raise evidence.tampered([item], actor.audit_actor(role)) from error
    facts = reported | {
        "porting_effort_pt": {name: decimal_text(row.days) for name, row in efforts.items()},
        "effort_reasons": {name: row.reason.strip() for name, row in efforts.items() if row.reason.strip()},
        "effort_axes": STATED.to_json(),
    }
    return evidence.submit(
        actor=actor.audit_actor(role),
        submission=Submission(
            workload=workload,
            type=EvidenceType.PORTING,
            title=item.title,
            facts=facts,
            axes=_axes(item),
            producer=actor.person,
            measured_at=clock.now(),
            run_id=item.run_id,
        ),
    )


def with_kept_effort(run: Run, facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a new porting report with the effort entered for the same model before."""
    item = selectors.porting_evidence(run.workload)
    before = Run.objects.filter(pk=item.run_id).first() if item and item.run_id else None
    if item is None or before is None or before.model_digest != run.model_digest:
        return facts
    try:
        old = item.facts()
    except (
        store.StoredFileError
    ):  # the damaged file has its own refusal; here the person enters the days again
        return facts
    return facts | {key: old[key] for key in EFFORT_KEYS if key in old}


def _axes(item: EvidenceItem) -> Axes:
    """Return the axes of a report: what the run found stays as it was, person days carry their own in the facts."""
    return Axes(Provenance(item.provenance), Assurance(item.assurance), Origin(item.origin))


def _check(efforts: Mapping[str, Effort]) -> None:
    for category, label in EFFORT_LABELS.items():
        row = efforts.get(category)
        name = {"name": str(label)}
        if row is None:
            raise CriterionNotMet(
                _("Bitte nennen Sie die Personentage für %(name)s (G4-6).") % name, id="G4-6"
            )
        if not row.days.is_finite() or not 0 <= row.days <= MAX_DAYS:
            raise CriterionNotMet(
                _("Die Personentage für %(name)s müssen zwischen 0 und 10.000 liegen (G4-6).") % name,
                id="G4-6",
            )
        if not row.days and not row.reason.strip():
            raise CriterionNotMet(
                _("Null Personentage für %(name)s brauchen eine Begründung (G4-6).") % name, id="G4-6"
            )
