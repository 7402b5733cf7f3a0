"""From four answers to a confirmed classification, by two persons (P04, P05, P06, P07; G1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock
from qms.core.errors import CriterionNotMet, SodViolation, WrongState
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.rules import Account, Case, SodAction, check_segregation
from qms.workloads import inheritance, plans, questions, selectors
from qms.workloads.choices import Criticality, Flag, LeavesEnvironment, Level, LogContent, Mode, ObjectClass
from qms.workloads.classification import Proposal, propose
from qms.workloads.inheritance import ClassValue
from qms.workloads.models import ClassificationAnswers, ObjectClassification, ProcessingLocation, Workload
from qms.workloads.services import content


@dataclass(frozen=True)
class LocationData:
    """Where data go when they leave the own environment; asked only then."""

    provider: str = ""
    region: str = ""
    country: str = ""


@audited
def answer_questions(
    *,
    actor: User,
    workload_id: UUID,
    answers: questions.Answers,
    location: LocationData,
    expected_sha256: str,
) -> Workload:
    """Store the answers, turn them into a proposal for the seven object classes; replaces earlier ones (P04)."""
    workload = selectors.lock(workload_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.PROPOSE_CLASSIFICATION, workload=workload)
    content.check_unchanged(workload, expected_sha256)
    questions.check_answers(answers)
    if not workload.mode:
        raise CriterionNotMet(_("Bitte nennen Sie zuerst die Betriebsart des Workloads (G0-4)."), id="G0-4")
    proposal = proposal_for(workload, answers)
    ClassificationAnswers.objects.update_or_create(
        workload=workload,
        defaults={
            "answers": {key: sorted(codes) for key, codes in answers.items()},
            "rule_version": proposal.version,
            "answered_by": actor.person,
            "answered_at": clock.now(),
        },
    )
    _store_location(workload, proposal, location)
    _store_proposal(workload, proposal, actor)
    record(
        AuditKind.CLASSIFICATION_PROPOSED,
        actor=actor.audit_actor(role),
        subject=workload,
        facts={
            "rule_version": proposal.version,
            "levels": {key.value: row.level.value for key, row in proposal.rows.items()},
        },
    )
    content.store(workload, actor=actor, as_actor=actor.audit_actor(role))
    return workload


@audited
def adjust_classification(
    *,
    actor: User,
    workload_id: UUID,
    object_class: ObjectClass,
    level: Level,
    flags: tuple[Flag, ...],
    reason: str,
) -> Workload:
    """Set level and flags of one class by hand; below the proposal needs a reason; undoes its confirmation (P04)."""
    workload = selectors.lock(workload_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.PROPOSE_CLASSIFICATION, workload=workload)
    item = workload.classifications.filter(object_class=object_class.value).first()
    if item is None:
        raise WrongState(_("Bitte beantworten Sie zuerst die vier Fragen."), id="G1-1")
    answers = answers_of(workload)
    proposed = proposal_for(workload, answers).rows.get(object_class)
    inheritance.check_reason(object_class, proposed, ClassValue(level, flags), reason)
    item.level, item.flags = level.value, [flag.value for flag in flags]
    item.reason = reason or item.reason
    item.classified_by, item.confirmed_by, item.confirmed_at = actor.person, None, None
    item.save()
    record(
        AuditKind.CLASSIFICATION_PROPOSED,
        actor=actor.audit_actor(role),
        subject=item,
        facts={"object_class": object_class.value, "level": level.value, "flags": item.flags},
        private={"reason": reason} if reason else None,
    )
    content.store(workload, actor=actor, as_actor=actor.audit_actor(role))
    return workload


@audited
def confirm_classification(
    *, actor: User, workload_id: UUID, object_classes: tuple[ObjectClass, ...], expected_sha256: str = ""
) -> Workload:
    """Confirm proposed classes, with access and retention plan, in one act by another person (P05, P07, G1-1)."""
    workload = selectors.lock(workload_id, actor=actor)
    chosen = [item.value for item in object_classes]
    items = list(workload.classifications.select_for_update().filter(object_class__in=chosen))
    pilot = getattr(workload, "pilot", None)
    case = Case(
        actor=Account(actor.person_id, actor.pk, actor.is_service),
        owner=workload.owner_id,
        deputy=workload.deputy_id,
        lead=pilot.lead_id if pilot else None,
        workers=selectors.workers(workload),
    )
    check_segregation(case, SodAction.CONFIRM_CLASSIFICATION)
    if actor.person_id in {item.classified_by_id for item in items}:
        raise SodViolation(
            _("Wer die Einstufung vorschlägt, bestätigt sie nicht (G1-1)."),
            id="SoD-02",
            next_step=_("Eine andere Person bestätigt."),
        )
    role = guards.require(actor=actor, permission=Permission.CONFIRM_CLASSIFICATION, workload=workload)
    content.check_unchanged(workload, expected_sha256)
    if not items:
        raise WrongState(_("Es gibt nichts zu bestätigen; die vier Fragen sind noch offen."), id="G1-1")
    if all(item.confirmed_by_id for item in items):
        raise WrongState(
            _("Diese Objektklassen sind bereits bestätigt."),
            id="G1-1",
            next_step=_("Bitte laden Sie die Seite neu."),
        )
    inheritance.check_inheritance(class_values(workload), log_content(workload))
    now = clock.now()
    for item in items:
        if item.confirmed_by_id is None:
            item.confirmed_by, item.confirmed_at = actor.person, now
            item.save(update_fields=["confirmed_by", "confirmed_at"])
    record(
        AuditKind.CLASSIFICATION_CONFIRMED,
        actor=actor.audit_actor(role),
        subject=workload,
        facts={"object_classes": chosen, "levels": {item.object_class: item.level for item in items}},
    )
    content.store(workload, actor=actor, as_actor=actor.audit_actor(role))
    return workload


def proposal_for(workload: Workload, answers: questions.Answers) -> Proposal:
    """Return the proposal the rule table makes of these answers for this workload."""
    return propose(
        answers,
        mode=Mode(workload.mode),
        business_critical=workload.criticality == Criticality.BUSINESS_CRITICAL,
    )


def answers_of(workload: Workload) -> questions.Answers:
    """Return the stored answers, empty if none."""
    stored = ClassificationAnswers.objects.filter(workload=workload).first()
    return {key: frozenset(codes) for key, codes in stored.answers.items()} if stored else {}


def class_values(workload: Workload) -> dict[ObjectClass, ClassValue]:
    """Return level and flags of every classified object class."""
    return {
        ObjectClass(item.object_class): ClassValue(
            Level(item.level), tuple(Flag(flag) for flag in item.flags)
        )
        for item in workload.classifications.all()
    }


def log_content(workload: Workload) -> LogContent | None:
    """Return what the logs hold according to the answers."""
    answers = answers_of(workload)
    return proposal_for(workload, answers).log_content if answers and workload.mode else None


def _store_location(workload: Workload, proposal: Proposal, location: LocationData) -> None:
    if proposal.leaves_own_env is None:
        return
    leaves = proposal.leaves_own_env is LeavesEnvironment.YES
    if leaves and not (location.provider and location.region and location.country):
        raise CriterionNotMet(
            _("Bitte nennen Sie Anbieter, Region und Land, an die etwas geht (G1-3)."), id="G1-3"
        )
    values = asdict(location) if leaves else asdict(LocationData())
    ProcessingLocation.objects.update_or_create(
        workload=workload, defaults={"leaves_own_env": leaves, **values}
    )


def _store_proposal(workload: Workload, proposal: Proposal, actor: User) -> None:
    ObjectClassification.objects.filter(workload=workload).delete()
    if proposal.hard_stop:
        raise CriterionNotMet(
            _("Verschlusssachen dürfen hier nicht verarbeitet werden (G1-11)."),
            id="G1-11",
            next_step=_("Bitte wenden Sie sich an die Informationssicherheit."),
        )
    levels = {key: row.level for key, row in proposal.rows.items()}
    access = {entry.object_class: _plan(entry) for entry in plans.access_plan(levels)}
    logs = proposal.log_content or LogContent.TELEMETRY
    retention = {entry.object_class: _plan(entry) for entry in plans.retention_plan(levels, logs)}
    for key, row in proposal.rows.items():
        ObjectClassification.objects.create(
            workload=workload,
            object_class=key.value,
            level=row.level.value,
            flags=[flag.value for flag in row.flags],
            protection={
                "c": row.protection_c.value,
                "i": row.protection_i.value,
                "a": row.protection_a.value,
            },
            reason=row.reason_de,
            access_plan=access.get(key, {}),
            retention_plan=retention.get(key, {}),
            proposed_level=row.level.value,
            proposed_flags=[flag.value for flag in row.flags],
            classified_by=actor.person,
        )


def _plan(entry: Any) -> Mapping[str, Any]:
    values = {name: getattr(entry, name) for name in entry.__dataclass_fields__ if name != "object_class"}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
