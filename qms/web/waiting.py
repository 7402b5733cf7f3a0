"""Who waits for what: the rows of the start page, each read in a constant number of queries.

Whether a person may act is asked of the rules themselves (`guards`, `check_segregation`); nothing is decided here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from qms.approvals import selectors as approvals
from qms.approvals.choices import ApprovalStatus, ConditionStatus
from qms.approvals.conditions import CONFIRMS, FULFILS
from qms.approvals.models import Approval, Condition
from qms.core import formats
from qms.evidence import selectors as evidence
from qms.evidence.models import EvidenceItem
from qms.roles import guards
from qms.roles import selectors as people
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.rules import Account, Case, SodAction, violations
from qms.signing.models import Document, DocumentState
from qms.web.answers import account
from qms.workloads import selectors as workloads
from qms.workloads.models import ObjectClassification, Workload

LIMIT: Final = 100  # rows of one kind; more would not be read anyway

_OPEN: Final = (
    ApprovalStatus.SUBMITTED,
    ApprovalStatus.IN_REVIEW,
    ApprovalStatus.QUERY,
    ApprovalStatus.READY_FOR_DECISION,
)
_TO_REVIEW: Final = frozenset({ApprovalStatus.SUBMITTED, ApprovalStatus.IN_REVIEW})


@dataclass(frozen=True, slots=True)
class Row:
    """One thing somebody has to do: a verb, what it concerns, since when, where it is done; who, if others."""

    verb: str
    subject: str
    note: str
    since: datetime | None
    url: str
    button: str
    who: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for the person, and what waits for others in cases of the person; oldest first."""

    mine: tuple[Row, ...]
    others: tuple[Row, ...]


def for_account(actor: User) -> Waiting:
    """Return both lists for the account."""
    mine: list[Row] = []
    others: list[Row] = []
    for part in (
        _owners,
        _classifications,
        _requests,
        _conditions,
        _unsealed,
        _recorded_once,
        _role_requests,
    ):
        own, foreign = part(actor)
        mine += own
        others += foreign
    return Waiting(_oldest_first(mine), _oldest_first(others))


def of(request: HttpRequest) -> Waiting:
    """Return both lists of the signed-in account, read once for page and navigation."""
    found: Waiting | None = getattr(request, "qms_waiting", None)
    if found is None:
        found = for_account(account(request))
        request.qms_waiting = found  # type: ignore[attr-defined]
    return found


def _oldest_first(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(
        sorted(rows, key=lambda row: (row.since is None, row.since.timestamp() if row.since else 0.0))
    )


Lists = tuple[list[Row], list[Row]]


def _owners(actor: User) -> Lists:
    """Workloads whose named owner has not accepted, or that have no owner yet and were recorded by the person."""
    person = actor.person
    concerned = Q(owner=person) | Q(deputy=person) | Q(created_by=person) | Q(pilot__lead=person)
    found = _visible(actor).filter(concerned, owner_accepted_at__isnull=True)[:LIMIT]
    mine: list[Row] = []
    others: list[Row] = []
    for workload in found:
        url = reverse("workload", args=[workload.pk])
        if workload.owner_id == actor.person_id or (not workload.owner_id and _recorded_by(workload, actor)):
            note = _("Owner-Rolle annehmen: Sie verantworten dann diesen Workload.")
            mine.append(Row(_("Annehmen"), workload.title, note, workload.created_at, url, _("Annehmen")))
        elif workload.owner:
            note = _("Owner-Rolle annehmen")
            who = workload.owner.display_name
            others.append(
                Row(_("Annehmen"), workload.title, note, workload.created_at, url, _("Ansehen"), who)
            )
    return mine, others


def _classifications(actor: User) -> Lists:
    """Workloads with a proposed classification that nobody has confirmed."""
    unconfirmed = ObjectClassification.objects.filter(workload=OuterRef("pk"), confirmed_by__isnull=True)
    found = list(_visible(actor).filter(Exists(unconfirmed)).select_related("answers")[:LIMIT])
    rights = guards.prefetch(actor, found)
    workers = workloads.workers_of(found)
    mine: list[Row] = []
    others: list[Row] = []
    for workload in found:
        since = workload.answers.answered_at if hasattr(workload, "answers") else workload.created_at
        may = rights.may(Permission.CONFIRM_CLASSIFICATION, workload)
        case = _workload_case(workload, actor, workers[workload.pk])
        if may and not violations(case, SodAction.CONFIRM_CLASSIFICATION):
            url, note = (
                reverse("workload_confirm", args=[workload.pk]),
                _("Datenklassifizierung, 7 Objektklassen"),
            )
            mine.append(Row(_("Bestätigen"), workload.title, note, since, url, _("Bestätigen")))
        elif _involved(workload, actor):
            url, note = reverse("workload_data", args=[workload.pk]), _("Datenklassifizierung bestätigen")
            others.append(
                Row(_("Bestätigen"), workload.title, note, since, url, _("Ansehen"), _("Prüfer(in)"))
            )
    return mine, others


def _requests(actor: User) -> Lists:
    """Undecided requests, by what their state asks for."""
    candidates = approvals.visible_to(actor).filter(status__in=_OPEN).order_by("submitted_at", "id")
    related = ("workload__pilot", "requester", "requester_account", "reviewer_account")
    found = list(
        candidates.select_related(*related).prefetch_related("decisions__account", "questions")[:LIMIT]
    )
    rights = guards.prefetch(actor, [approval.workload for approval in found])
    producers = _producers(found)
    workers = workloads.workers_of(approval.workload for approval in found)
    mine: list[Row] = []
    others: list[Row] = []
    for approval in found:
        key = approval.workload_id
        case = _approval_case(approval, actor, producers[key], workers[key])
        row = _own_row(approval, rights, case)
        if row is not None:
            mine.append(row)
        elif _takes_part(approval, actor):
            others.append(_foreign_row(approval))
    return mine, others


def _own_row(approval: Approval, rights: guards.Rights, case: Case) -> Row | None:
    """Return what the person has to do with the request, None if it is somebody else's turn."""
    workload, subject = approval.workload, f"{approval.workload.title} · {approval.number}"
    if approval.status == ApprovalStatus.QUERY:
        if approval.requester_id != case.actor.person_id or not rights.may(
            Permission.REQUEST_APPROVAL, workload
        ):
            return None
        url, note = reverse("approval", args=[approval.pk]), _("Rückfrage zum Antrag")
        return Row(_("Beantworten"), subject, note, _asked_at(approval), url, _("Beantworten"))
    if approval.status in _TO_REVIEW:
        if not rights.may(Permission.COMPLETE_REVIEW, workload) or violations(case, SodAction.VOTE):
            return None
        url, note = reverse("approval_review", args=[approval.pk]), _("Freigabeantrag")
        return Row(_("Prüfen"), subject, note, approval.submitted_at, url, _("Prüfen"))
    if not rights.may(Permission.DECIDE_APPROVAL, workload) or violations(case, SodAction.DECIDE):
        return None
    url, note = reverse("approval_decide", args=[approval.pk]), _("Freigabeantrag, geprüft")
    return Row(_("Entscheiden"), subject, note, approval.evaluated_at, url, _("Entscheiden"))


def _foreign_row(approval: Approval) -> Row:
    subject = f"{approval.workload.title} · {approval.number}"
    url = reverse("approval", args=[approval.pk])
    if approval.status == ApprovalStatus.QUERY:
        who, verb, since = approval.requester.display_name, _("Beantworten"), _asked_at(approval)
    elif approval.status in _TO_REVIEW:
        who, verb, since = _("Prüfer(in)"), _("Prüfen"), approval.submitted_at
    else:
        who, verb, since = _("Freigeber(in)"), _("Entscheiden"), approval.evaluated_at
    return Row(verb, subject, _("Freigabeantrag"), since, url, _("Ansehen"), who)


def _conditions(actor: User) -> Lists:
    """Conditions that wait for the proof of their owner or for its confirmation, and approvals ready for the addendum."""
    visible = approvals.visible_to(actor).filter(status=ApprovalStatus.CONDITIONALLY_APPROVED)
    found = list(
        visible.select_related("workload__pilot")
        .prefetch_related("conditions__owner")
        .order_by("decided_at")[:LIMIT]
    )
    rights = guards.prefetch(actor, [approval.workload for approval in found])
    mine: list[Row] = []
    others: list[Row] = []
    for approval in found:
        judges = not _involved(approval.workload, actor) and rights.acting_role(
            Permission.FULFIL_CONDITION, approval.workload, CONFIRMS
        )
        proves = rights.acting_role(Permission.FULFIL_CONDITION, approval.workload, FULFILS) is not None
        rows = [
            _condition_row(approval, item, actor, judges=bool(judges), proves=proves)
            for item in approval.conditions.all()
        ]
        if all(item.status == ConditionStatus.MET for item in approval.conditions.all()):
            rows = [_addendum_row(approval, bool(judges))]
        mine += [row for row in rows if row and not row.who]
        others += [row for row in rows if row and row.who and _takes_part(approval, actor)]
    return mine, others


def _condition_row(
    approval: Approval, item: Condition, actor: User, *, judges: bool, proves: bool
) -> Row | None:
    """Return what waits about one condition; `who` is empty where it is the person's turn.

    Once its owner has left, it is the turn of everybody who can prove it.
    """
    subject = f"{approval.workload.title} · {approval.number}"
    url = f"{reverse('approval', args=[approval.pk])}#auflagen"
    note = _("Auflage %(position)d (%(criterion)s), fällig am %(day)s") % {
        "position": item.position,
        "criterion": item.criterion,
        "day": formats.day(item.due),
    }
    if item.status == ConditionStatus.OPEN:
        own = proves and (item.owner_id == actor.person_id or not item.owner.is_active)
        button, who = (_("Nachweisen"), "") if own else (_("Ansehen"), item.owner.display_name)
        return Row(_("Auflage nachweisen"), subject, note, approval.decided_at, url, button, who)
    if item.status == ConditionStatus.PROVEN:
        button, who = (_("Bestätigen"), "") if judges else (_("Ansehen"), _("Prüfer(in)"))
        return Row(_("Erfüllung bestätigen"), subject, note, item.proven_at, url, button, who)
    return None


def _addendum_row(approval: Approval, judges: bool) -> Row:
    subject = f"{approval.workload.title} · {approval.number}"
    url = reverse("approval_addendum", args=[approval.pk])
    button, who = (_("Nachtrag erstellen"), "") if judges else (_("Ansehen"), _("Prüfer(in)"))
    note = _("Alle Auflagen sind erfüllt")
    return Row(_("Nachtrag erstellen"), subject, note, approval.decided_at, url, button, who)


def _unsealed(actor: User) -> Lists:
    """Decided approvals whose newest document could not be sealed; until it is, they are not in force."""
    failed = Document.objects.filter(state=DocumentState.FAILED).values_list("subject_id", flat=True)
    concerned = list(
        approvals.visible_to(actor)
        .filter(Q(pk__in=failed) | Q(addendum__pk__in=failed))
        .select_related("workload__pilot", "addendum")[:LIMIT]
    )
    rights = guards.prefetch(actor, [approval.workload for approval in concerned])
    mine: list[Row] = []
    others: list[Row] = []
    newest = {document.subject_id: document for document in _documents(concerned)}
    for approval in concerned:
        addendum = getattr(approval, "addendum", None)
        document = newest[addendum.pk if addendum else approval.pk]
        if document.state != DocumentState.FAILED:
            continue
        subject, url = (
            f"{approval.workload.title} · {approval.number}",
            reverse("approval", args=[approval.pk]),
        )
        note = _("Das Dokument konnte nicht gesiegelt werden; die Freigabe ist noch nicht wirksam")
        if rights.may(Permission.SEAL_DOCUMENT, approval.workload):
            mine.append(
                Row(_("Erneut siegeln"), subject, note, document.requested_at, url, _("Erneut siegeln"))
            )
        elif _takes_part(approval, actor):
            who = _("Prüfer(in)")
            others.append(
                Row(_("Erneut siegeln"), subject, note, document.requested_at, url, _("Ansehen"), who)
            )
    return mine, others


def _documents(found: list[Approval]) -> QuerySet[Document]:
    addenda = [approval.addendum.pk for approval in found if hasattr(approval, "addendum")]
    rows = Document.objects.filter(subject_id__in=[*(approval.pk for approval in found), *addenda])
    return rows.order_by("requested_at", "id")


def _recorded_once(actor: User) -> Lists:
    """What was recorded at a platform or the organisation and waits for a second person (spec 3.7.5)."""
    may = guards.prefetch(actor).may(Permission.REVIEW_EVIDENCE)
    mine: list[Row] = []
    others: list[Row] = []
    for item in evidence.to_review()[:LIMIT]:
        case = Case(_account(actor), producers=frozenset({item.producer_id}))
        url, subject, note = reverse("evidence", args=[item.pk]), str(item.holder), item.title
        if may and not violations(case, SodAction.REVIEW_EVIDENCE):
            mine.append(Row(_("Prüfen"), subject, note, item.uploaded_at, url, _("Prüfen")))
        elif item.producer_id == actor.person_id:
            who = _("Prüfer(in)")
            others.append(Row(_("Prüfen"), subject, note, item.uploaded_at, url, _("Ansehen"), who))
    return mine, others


def _role_requests(actor: User) -> Lists:
    """Role changes that a second person has to confirm."""
    rights = guards.prefetch(actor)
    may = (
        rights.acting_role(Permission.ASSIGN_ROLES, letters=people.CONFIRMS) is not None
        or people.is_bootstrap()
    )
    mine: list[Row] = []
    others: list[Row] = []
    for request in people.open_requests()[:LIMIT] if may or rights.may(Permission.ASSIGN_ROLES) else []:
        executor = request.requested_by_id
        case = Case(_account(actor), role_target=request.subject_id, role_executor=executor)
        url = reverse("people_list")
        subject, note = request.subject.display_name, _("Rollenänderung")
        if may and not violations(case, SodAction.CONFIRM_ROLES):
            mine.append(Row(_("Bestätigen"), subject, note, request.requested_at, url, _("Bestätigen")))
        elif executor == actor.person_id:
            who = _("Prüfer(in)")
            others.append(Row(_("Bestätigen"), subject, note, request.requested_at, url, _("Ansehen"), who))
    return mine, others


def _visible(actor: User) -> QuerySet[Workload]:
    found = Workload.objects.visible_to(actor).select_related("owner", "pilot")
    return found.order_by("created_at", "id")


def _recorded_by(workload: Workload, actor: User) -> bool:
    return workload.created_by_id == actor.person_id


def _people(workload: Workload) -> set[UUID | None]:
    pilot = getattr(workload, "pilot", None)
    return {workload.owner_id, workload.deputy_id, workload.created_by_id, pilot and pilot.lead_id}


def _involved(workload: Workload, actor: User) -> bool:
    return actor.person_id in _people(workload)


def _takes_part(approval: Approval, actor: User) -> bool:
    people_of = _people(approval.workload) | {approval.requester_id, approval.reviewer_id}
    asked = {question.asked_by_id for question in approval.questions.all()}
    return actor.person_id in people_of | asked


def _asked_at(approval: Approval) -> datetime | None:
    asked = [question.asked_at for question in approval.questions.all() if question.answered_at is None]
    return max(asked) if asked else approval.submitted_at


def _account(user: User) -> Account:
    return Account(user.person_id, user.pk, user.is_service)


def _workload_case(workload: Workload, actor: User, workers: frozenset[UUID]) -> Case:
    pilot = getattr(workload, "pilot", None)
    return Case(
        _account(actor),
        owner=workload.owner_id,
        deputy=workload.deputy_id,
        lead=pilot.lead_id if pilot else None,
        workers=workers,
    )


def _approval_case(
    approval: Approval, actor: User, producers: frozenset[UUID], workers: frozenset[UUID]
) -> Case:
    workload = approval.workload
    pilot = getattr(workload, "pilot", None)
    return Case(
        _account(actor),
        requester=_account(approval.requester_account),
        owner=workload.owner_id,
        deputy=workload.deputy_id,
        lead=pilot.lead_id if pilot else None,
        workers=workers | producers,
        producers=producers,
        reviewer=_account(approval.reviewer_account) if approval.reviewer_account else None,
        deciders=tuple(_account(decision.account) for decision in approval.decisions.all()),
    )


def _producers(found: list[Approval]) -> dict[UUID, frozenset[UUID]]:
    rows = EvidenceItem.objects.filter(workload__in=[approval.workload_id for approval in found])
    made: defaultdict[UUID, set[UUID]] = defaultdict(set)
    for workload_id, person_id in rows.values_list("workload_id", "producer_id").distinct():
        made[workload_id].add(person_id)
    return defaultdict(frozenset, {key: frozenset(ids) for key, ids in made.items()})
