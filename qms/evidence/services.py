"""Handing in and reviewing evidence (P14, P15)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from qms.audit.actors import Actor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record, witnessed
from qms.core import canonical, clock, store
from qms.core.errors import CriterionNotMet, NotVisible, WrongState
from qms.core.values import Assurance, Axes, Provenance
from qms.evidence import selectors
from qms.evidence.choices import CURRENT, EvidenceStatus, EvidenceType
from qms.evidence.models import EvidenceItem
from qms.roles import guards
from qms.roles.models import Person, User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.roles.rules import Account, Case, SodAction, check_segregation
from qms.workloads.models import Organisation, PlatformProfile, Workload


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What is handed in: facts in canonical form, axes, producer, and the raw file if a person brought one.

    Exactly one of workload, platform and organisation is given; valid_until: the last day of what is recorded once.
    invalid: of a run that does not count; kept as UNGUELTIG, and it replaces nothing.
    """

    workload: Workload | None = None
    platform: PlatformProfile | None = None
    organisation: Organisation | None = None
    valid_until: date | None = None
    type: EvidenceType
    title: str
    facts: dict[str, Any]
    axes: Axes
    producer: Person
    measured_at: datetime
    run_id: UUID | None = None
    raw: bytes = b""
    raw_name: str = ""
    invalid: bool = False


def submit(*, actor: Actor, submission: Submission) -> EvidenceItem:
    """Store one piece of evidence inside the caller's audited command; a newer item of the type replaces the old."""
    facts = canonical.dumps(submission.facts)
    item = EvidenceItem.objects.create(
        workload=submission.workload,
        platform=submission.platform,
        platform_version=submission.platform.version if submission.platform else None,
        organisation=submission.organisation,
        valid_until=submission.valid_until,
        type=submission.type,
        title=submission.title,
        run_id=submission.run_id,
        facts_sha256=store.put(facts),
        raw_sha256=store.put(submission.raw) if submission.raw else "",
        raw_name=submission.raw_name,
        size_bytes=len(submission.raw or facts),
        provenance=submission.axes.provenance,
        assurance=submission.axes.assurance,
        origin=submission.axes.origin,
        producer=submission.producer,
        measured_at=submission.measured_at,
        uploaded_at=clock.now(),
        status=EvidenceStatus.INVALID if submission.invalid else EvidenceStatus.NEW,
    )
    _replace(item)
    record(
        AuditKind.EVIDENCE_SUBMITTED,
        actor=actor,
        subject=item,
        facts={"type": submission.type.value, "axes": submission.axes.to_json()},
        refs=item.hashes(),
    )
    return item


def _replace(item: EvidenceItem) -> None:
    """Let a new item take the place of the old one, unless it may not.

    What does not count replaces nothing, and an emulation no measurement (decision 0117). At a platform or the
    organisation only what nobody has reviewed is replaced: workloads rely on the accepted item until the new one is
    accepted, too (decision 0155).
    """
    older = selectors.others_of_type(item)
    if item.status == EvidenceStatus.INVALID:
        return
    if item.workload_id is None:
        older = older.filter(status=EvidenceStatus.NEW)
    measured = older.filter(provenance=Provenance.MEASURED, status__in=CURRENT).first()
    if item.provenance == Provenance.EMULATED and measured is not None:
        item.replaced_by = measured
        item.save(update_fields=["replaced_by"])
        return
    older.update(replaced_by=item)


@witnessed
def check_may_review(*, actor: User, evidence_id: UUID) -> Role:
    """Raise what keeps the person from reviewing this item (SoD-03, P15), before any content is looked at."""
    item = selectors.get(evidence_id, actor=actor)
    check_reviewer(item, actor)
    return guards.require(actor=actor, permission=Permission.REVIEW_EVIDENCE, workload=item.workload)


@audited
def review_evidence(
    *, actor: User, evidence_id: UUID, accept: bool, compared_with: str, reason: str
) -> EvidenceItem:
    """Accept or reject one piece of evidence; the producer never can (SoD-03, P15)."""
    item = selectors.lock(evidence_id, actor=actor)
    check_reviewer(item, actor)
    role = guards.require(actor=actor, permission=Permission.REVIEW_EVIDENCE, workload=item.workload)
    _check_reviewable(item)
    if not accept and not reason.strip():
        raise CriterionNotMet(_("Bitte begründen Sie, warum Sie den Nachweis ablehnen."), id="P15")
    settle(item, actor=actor, as_actor=actor.audit_actor(role), accept=accept, reason=reason)
    if accept and item.workload_id is None:
        selectors.others_of_type(item).update(replaced_by=item)
    if accept and compared_with:
        raise_assurance(item, as_actor=actor.audit_actor(role), compared_with=compared_with)
    return item


@audited
def retrieve_evidence(*, actor: User, evidence_id: UUID, raw: bool = False) -> tuple[EvidenceItem, bytes]:
    """Record the download of one piece of evidence and return its facts, or the file that was handed in.

    Raises NotVisible (also where no file was handed in), CriterionNotMet (G7-4) if the stored bytes changed.
    """
    item = selectors.get(evidence_id, actor=actor)
    sha256 = item.raw_sha256 if raw else item.facts_sha256
    if not sha256:
        raise NotVisible(_("Zu diesem Nachweis wurde keine Datei eingereicht."))
    try:
        data = store.get(sha256)
    except store.StoredFileError as error:
        raise tampered([item], actor.audit_actor()) from error
    record(AuditKind.EVIDENCE_RETRIEVED, actor=actor.audit_actor(), subject=item, refs=[sha256])
    return item, data


def _check_reviewable(item: EvidenceItem) -> None:
    """Raise WrongState for what is reviewed already, and for what a newer item at the same holder replaced."""
    if item.status != EvidenceStatus.NEW:
        raise WrongState(
            _("Dieser Nachweis ist bereits geprüft."), id="P15", next_step=_("Bitte laden Sie die Seite neu.")
        )
    if item.workload_id is None and item.replaced_by_id is not None:
        raise WrongState(
            _("Dieser Nachweis ist durch einen neueren ersetzt."),
            id="P15",
            next_step=_("Bitte prüfen Sie den neueren Nachweis."),
        )


def check_reviewer(item: EvidenceItem, actor: User) -> None:
    """Raise SodViolation naming SoD-03 if the actor produced the item."""
    case = Case(
        actor=Account(actor.person_id, actor.pk, actor.is_service),
        producers=frozenset({item.producer_id}),
    )
    check_segregation(case, SodAction.REVIEW_EVIDENCE)


def settle(item: EvidenceItem, *, actor: User, as_actor: Actor, accept: bool, reason: str = "") -> None:
    """Write the outcome of a review inside the caller's audited command."""
    item.status = EvidenceStatus.REVIEWED if accept else EvidenceStatus.REJECTED
    item.reviewer, item.reviewed_at = actor.person, clock.now()
    item.save(update_fields=["status", "reviewer", "reviewed_at"])
    record(
        AuditKind.EVIDENCE_REVIEWED if accept else AuditKind.EVIDENCE_REJECTED,
        actor=as_actor,
        subject=item,
        facts={"type": item.type},
        private={"reason": reason} if reason else None,
        refs=item.hashes(),
    )


def raise_assurance(item: EvidenceItem, *, as_actor: Actor, compared_with: str) -> None:
    """Note that a second person compared the item with its source (spec 3.7.4); never lowers it."""
    if Assurance(item.assurance).rank >= Assurance.CROSS_CHECKED.rank:
        return
    before, item.assurance = item.assurance, Assurance.CROSS_CHECKED
    item.save(update_fields=["assurance"])
    record(
        AuditKind.ASSURANCE_CHANGED,
        actor=as_actor,
        subject=item,
        before={"assurance": before},
        after={"assurance": item.assurance.value},
        private={"compared_with": compared_with},
    )


def check_files(workload: Workload, *, as_actor: Actor) -> None:
    """Raise CriterionNotMet (G7-4) if a file of the evidence that counts was changed; the items are marked for it."""
    broken = selectors.damaged(selectors.counting(workload))
    if broken:
        raise tampered(broken, as_actor)


def tampered(broken: list[EvidenceItem], as_actor: Actor) -> CriterionNotMet:
    """Return the refusal; what it demands happens beside its event, after the action was rolled back (spec 3.5.4)."""
    ids = [item.pk for item in broken]

    def mark() -> None:
        for item in EvidenceItem.objects.select_for_update().filter(pk__in=ids).order_by("pk"):
            mark_tampered(item, as_actor=as_actor)

    return CriterionNotMet(
        _("Nachweis verändert: Die Datei zu %(types)s stimmt nicht mit ihrer Prüfsumme überein (G7-4).")
        % {"types": ", ".join(item.type for item in broken)},
        id="G7-4",
        next_step=_("Bitte den Nachweis neu erbringen und das Qualitätsmanagement informieren."),
        demands=mark,
    )


def mark_tampered(item: EvidenceItem, *, as_actor: Actor) -> None:
    """Mark an item whose stored file no longer matches its digest, once, inside the caller's unit (G7-4)."""
    if item.status == EvidenceStatus.TAMPERED:
        return
    item.status = EvidenceStatus.TAMPERED
    item.save(update_fields=["status"])
    record(AuditKind.EVIDENCE_TAMPERED, actor=as_actor, subject=item, facts={"type": item.type})
