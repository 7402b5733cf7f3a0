"""What a person may do with a request now, and the sentence that says so: data for the panel of its page.

Nothing is decided here: permission, segregation of duties, transitions and criteria are asked as the commands ask
them, so that a locked button and a direct request give the same answer (ui.md 3.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from qms.approvals import conditions, documents, rules, selectors, transitions
from qms.approvals.choices import ApprovalStatus, ApprovalType, Decision
from qms.approvals.dossier import BuiltDossier
from qms.approvals.models import Approval, DecisionRecord
from qms.approvals.services import requests
from qms.approvals.transitions import Trigger
from qms.core import clock
from qms.core.errors import NotVisible, Refusal
from qms.gates import services as gates
from qms.gates.engine import CriterionReport, GateReport
from qms.roles import guards, matrix
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.rules import SodAction, SodRule, violations
from qms.workloads.models import Workload


class PanelState(StrEnum):
    """Which of the panels of ui.md 3.3 is shown; internal."""

    NO_PERMISSION = "NO_PERMISSION"
    WAITING = "WAITING"
    SEGREGATED = "SEGREGATED"
    CRITERION_OPEN = "CRITERION_OPEN"
    READY_TO_VOTE = "READY_TO_VOTE"
    READY_TO_DECIDE = "READY_TO_DECIDE"
    VOTED = "VOTED"
    CHANGED = "CHANGED"
    TO_ANSWER = "TO_ANSWER"
    TO_COMPLETE = "TO_COMPLETE"
    DECIDED = "DECIDED"
    CLOSED = "CLOSED"


class Action(StrEnum):
    """What a person can do on the page of a request; internal."""

    RESUBMIT = "RESUBMIT"
    REVIEW = "REVIEW"
    ASK = "ASK"
    RETURN = "RETURN"
    ANSWER = "ANSWER"
    WITHDRAW = "WITHDRAW"
    DECIDE = "DECIDE"
    SEAL = "SEAL"


@dataclass(frozen=True, slots=True)
class _Offer:
    """One row: an action, the transitions of which one has to be possible, and what the person needs."""

    action: Action
    triggers: tuple[Trigger, ...]
    permission: Permission
    sod: SodAction | None = None


_REVIEWS: Final = (Permission.COMPLETE_REVIEW, SodAction.VOTE)
_OFFERS: Final = (
    _Offer(Action.RESUBMIT, (Trigger.SUBMIT,), Permission.REQUEST_APPROVAL),
    _Offer(Action.REVIEW, (Trigger.ACCEPT, Trigger.READY), *_REVIEWS),
    _Offer(Action.ASK, (Trigger.ACCEPT, Trigger.QUERY), *_REVIEWS),
    _Offer(Action.RETURN, (Trigger.RETURN,), *_REVIEWS),
    _Offer(Action.ANSWER, (Trigger.ANSWER,), Permission.REQUEST_APPROVAL),
    _Offer(Action.WITHDRAW, (Trigger.WITHDRAW,), Permission.WITHDRAW_APPROVAL),
    _Offer(Action.DECIDE, (Trigger.APPROVE, Trigger.REJECT), Permission.DECIDE_APPROVAL, SodAction.DECIDE),
)
_EMULATED_ONLY: Final = lazy("Auf Grundlage emulierter Ergebnisse ist nur eine Vorfreigabe möglich.")


@dataclass(frozen=True, slots=True)
class Panel:
    """The panel of one request for one person.

    ids: the rules the sentence rests on; locked: the action whose button is shown but locked; decisions: what may
    be chosen now; waiting_for: roles whose turn it is; given, required: acts so far and in the end; report: the
    gate report with G7, where it was evaluated; coverable: what is open and may be covered by conditions; record_id: the frozen decision another approver has signed.
    """

    state: PanelState
    sentence: str
    actions: frozenset[Action]
    ids: tuple[str, ...] = ()
    next_step: str = ""
    locked: Action | None = None
    decisions: tuple[Decision, ...] = ()
    waiting_for: tuple[str, ...] = ()
    given: int = 0
    required: int = 0
    notes: tuple[str, ...] = ()
    report: GateReport | None = None
    coverable: tuple[CriterionReport, ...] = ()
    record_id: UUID | None = None

    def may(self, action: Action) -> bool:
        """Return whether the person may do `action` now."""
        return action in self.actions


@dataclass(frozen=True, slots=True)
class _Look:
    """What the states are judged on, read once."""

    approval: Approval
    actor: User
    built: BuiltDossier
    rights: guards.Rights
    actions: frozenset[Action]
    sod: dict[SodAction, tuple[SodRule, ...]]

    def may(self, permission: Permission) -> bool:
        return self.rights.may(permission, self.approval.workload)

    @property
    def is_requester(self) -> bool:
        return self.approval.requester_id == self.actor.person_id


def panel(approval: Approval, *, actor: User, built: BuiltDossier) -> Panel:
    """Return the panel of the request; `built` is its dossier as it is now, at the time of its evaluation."""
    look = _look(approval, actor, built)
    found = _JUDGES.get(ApprovalStatus(approval.status), _settled)(look)
    given, required = progress(approval)
    undecided = approval.status in transitions.UNDECIDED
    emulated = built.facts.target is not None and built.facts.target.emulated
    notes = (str(_EMULATED_ONLY),) if undecided and emulated else ()
    return replace(found, given=given, required=required, notes=notes)


def progress(approval: Approval) -> tuple[int, int]:
    """Return how many signed acts the request has and how many it needs: the review and each approver (4.4)."""
    votes = approval.votes.filter(reset_at__isnull=True).count()
    needed = gates.votes_required(approval.workload, ApprovalType(approval.type)).approvers
    return votes + approval.decisions.count(), 1 + needed


@dataclass(frozen=True, slots=True)
class RequestPanel:
    """Whether the request may be made now (T-01); otherwise the refusal the command would answer with."""

    allowed: bool
    sentence: str = ""
    id: str = ""
    next_step: str = ""


def request_panel(workload: Workload, approval_type: ApprovalType, *, actor: User) -> RequestPanel:
    """Return whether `actor` may request an approval of this type for the workload now, and if not, why."""
    try:
        guards.require(actor=actor, permission=Permission.REQUEST_APPROVAL, workload=workload)
        requests.check_submittable(workload, approval_type)
    except Refusal as refusal:
        return RequestPanel(False, str(refusal.message), refusal.id, str(refusal.next_step))
    return RequestPanel(True)


def production_refusal(workload: Workload) -> str:
    """Return why no Produktionsfreigabe can be requested (G7-8, G7-1), or an empty text."""
    try:
        rules.check_type_allowed(ApprovalType.PRODUCTION, workload)
    except Refusal as refusal:
        return str(refusal.message)
    return ""


def record_to_sign(approval_id: UUID, record_id: UUID, *, actor: User) -> DecisionRecord:
    """Return the frozen decision the person is to sign; raises NotVisible unless it is theirs to sign."""
    approval = selectors.get(approval_id, actor=actor)
    frozen = approval.decision_records.filter(pk=record_id).select_related("approval__workload").first()
    if frozen is None or not documents.may_sign(frozen, actor):
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie dürfen sie nicht sehen."))
    return frozen


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the way of a request: its state and whether it is behind, here or ahead."""

    label: Promise | str
    state: str


def steps(approval: Approval) -> tuple[Step, ...]:
    """Return the way from draft to approval along the transition table; side states are badges, never steps."""
    status = ApprovalStatus(approval.status)
    triggers = (Trigger.SUBMIT, Trigger.ACCEPT, Trigger.READY, Trigger.APPROVE)
    way = [ApprovalStatus.DRAFT, *(transitions.transition(trigger).to for trigger in triggers)]
    if status is ApprovalStatus.REJECTED:
        way = way[:-1]
    at = _reached(approval, status, way)
    done = status not in transitions.UNDECIDED
    names = [one.label for one in way]
    if status is ApprovalStatus.CONDITIONALLY_APPROVED:
        names[-1] = status.label
    return tuple(
        Step(
            name,
            "done" if index < at or (done and index == at) else "current" if index == at else "open",
        )
        for index, name in enumerate(names)
    )


def _reached(approval: Approval, status: ApprovalStatus, way: list[ApprovalStatus]) -> int:
    """Return the index of the newest step reached: the state itself, or what the request had reached before."""
    if status in way:
        return way.index(status)
    if status is ApprovalStatus.QUERY:
        return way.index(ApprovalStatus.IN_REVIEW)
    if status is ApprovalStatus.WITHDRAWN:
        before = ApprovalStatus.READY_FOR_DECISION if approval.reviewer_id else ApprovalStatus.SUBMITTED
        return way.index(before if approval.submitted_at else ApprovalStatus.DRAFT)
    return len(way) - 1


def _look(approval: Approval, actor: User, built: BuiltDossier) -> _Look:
    rights = guards.prefetch(actor, [approval.workload])
    case = selectors.sod_case(approval, actor)
    sod = {action: violations(case, action) for action in (SodAction.VOTE, SodAction.DECIDE)}
    actions = {
        offer.action
        for offer in _OFFERS
        if any(transitions.can_step(approval.status, trigger) for trigger in offer.triggers)
        and rights.may(offer.permission, approval.workload)
        and not (offer.sod and sod[offer.sod])
    }
    sealable = approval.decided_at is not None and bool(selectors.seal_of(approval).error)
    if sealable and rights.may(Permission.SEAL_DOCUMENT, approval.workload):
        actions.add(Action.SEAL)
    return _Look(approval, actor, built, rights, frozenset(actions), sod)


def _draft(look: _Look) -> Panel:
    if Action.RESUBMIT in look.actions:
        text = _("Der Antrag ist als unvollständig zurückgegeben. Sie können ihn ergänzen und neu stellen.")
        return Panel(PanelState.TO_COMPLETE, text, look.actions)
    text = _("Der Antrag ist zurückgegeben. Am Zug ist die antragstellende Person.")
    return Panel(PanelState.WAITING, text, look.actions)


def _under_review(look: _Look) -> Panel:
    waiting = _roles(Permission.COMPLETE_REVIEW)
    if Action.REVIEW in look.actions:
        text = _("Die Prüfung liegt bei Ihnen: Nachweise, Gates und Ziele auf einer Seite, eine Bestätigung.")
        return Panel(PanelState.READY_TO_VOTE, text, look.actions, waiting_for=waiting)
    if look.sod[SodAction.VOTE] and look.may(Permission.COMPLETE_REVIEW):
        return _segregated(look, look.sod[SodAction.VOTE][0], Action.REVIEW, waiting)
    if look.is_requester:
        text = _("Ihr Antrag wartet auf die Prüfung.")
        return Panel(PanelState.WAITING, text, look.actions, waiting_for=waiting)
    return _spectator(look, waiting)


def _query(look: _Look) -> Panel:
    if Action.ANSWER in look.actions:
        text = _("Eine Rückfrage wartet auf Ihre Antwort.")
        return Panel(PanelState.TO_ANSWER, text, look.actions, ids=("T-05",))
    text = _("Eine Rückfrage ist offen. Am Zug ist die antragstellende Person.")
    return Panel(PanelState.WAITING, text, look.actions)


def _ready(look: _Look) -> Panel:
    approval, waiting = look.approval, _roles(Permission.DECIDE_APPROVAL)
    if look.built.sha256 != approval.dossier_sha256:
        text = _(
            "Der Inhalt hat sich geändert, seit der Antrag geprüft wurde. Eine Entscheidung ist nicht möglich."
        )
        step = _("Die antragstellende Person zieht den Antrag zurück und stellt ihn neu.")
        left = look.actions - {Action.DECIDE}
        return Panel(PanelState.CHANGED, text, left, ids=("T-05",), next_step=step)
    if look.actor.person_id in _acted(approval):
        text = _("Ihre Stimme liegt vor. Es fehlt noch eine Stimme.")
        return Panel(PanelState.VOTED, text, look.actions, waiting_for=waiting)
    violated = look.sod[SodAction.DECIDE]
    if violated and (look.is_requester or look.may(Permission.DECIDE_APPROVAL)):
        return _segregated(look, violated[0], Action.DECIDE, waiting)
    if Action.DECIDE not in look.actions:
        return _spectator(look, waiting)
    return _decidable(look, waiting)


def _decidable(look: _Look, waiting: tuple[str, ...]) -> Panel:
    earlier = look.approval.decisions.order_by("created_at").select_related("record").first()
    facts = documents.decision_facts(
        look.approval,
        look.built,
        actor=look.actor,
        at=clock.now(),
        frozen=earlier.record if earlier else None,
    )
    report = gates.evaluate_decision(facts)
    blocking = report.blocking_decision()
    coverable = conditions.coverable(facts)
    if coverable:
        text = rules.without_conditions([item.row.id for item in coverable])
    elif blocking:
        text = ngettext(
            "Freigeben ist noch nicht möglich: %(n)d Kriterium ist nicht erfüllt.",
            "Freigeben ist noch nicht möglich: %(n)d Kriterien sind nicht erfüllt.",
            len(blocking),
        ) % {"n": len(blocking)}
    else:
        text = _("Vier-Augen-Prinzip: Prüfung liegt vor, Ihre Entscheidung fehlt.")
    return Panel(
        PanelState.CRITERION_OPEN if blocking else PanelState.READY_TO_DECIDE,
        text,
        look.actions,
        ids=tuple(item.row.id for item in coverable or blocking),
        decisions=_possible(blocked=bool(blocking), coverable=bool(coverable)),
        coverable=coverable,
        waiting_for=waiting,
        report=report,
        record_id=earlier.record_id if earlier else None,
    )


def _possible(*, blocked: bool, coverable: bool) -> tuple[Decision, ...]:
    if coverable:
        return (Decision.APPROVE_WITH_CONDITIONS, Decision.REJECT)
    return (Decision.REJECT,) if blocked else (Decision.APPROVE, Decision.REJECT)


def _settled(look: _Look) -> Panel:
    status = ApprovalStatus(look.approval.status)
    if look.approval.decided_at is None:
        text = _("Der Antrag ist %(status)s.") % {"status": str(status.label).lower()}
        return Panel(PanelState.CLOSED, text, look.actions)
    return Panel(PanelState.DECIDED, str(status.label), look.actions)


def _segregated(look: _Look, rule: SodRule, locked: Action, waiting: tuple[str, ...]) -> Panel:
    return Panel(
        PanelState.SEGREGATED,
        str(rule.message),
        look.actions,
        ids=(rule.id,),
        next_step=str(rule.next_step),
        locked=locked,
        waiting_for=waiting,
    )


def _spectator(look: _Look, waiting: tuple[str, ...]) -> Panel:
    text = _("Sie können diesen Antrag einsehen, aber nicht entscheiden.")
    return Panel(PanelState.NO_PERMISSION, text, look.actions, waiting_for=waiting)


def _acted(approval: Approval) -> set[UUID]:
    voters = approval.votes.filter(reset_at__isnull=True).values_list("person_id", flat=True)
    return {*voters, *approval.decisions.values_list("person_id", flat=True)}


def _roles(permission: Permission) -> tuple[str, ...]:
    rule_set, wanted = gates.rule_set(), matrix.roles_for(permission)
    return tuple(rule_set.role_name(role) for role in rule_set.roles if role in wanted)


_JUDGES: Final[dict[ApprovalStatus, Callable[[_Look], Panel]]] = {
    ApprovalStatus.DRAFT: _draft,
    ApprovalStatus.SUBMITTED: _under_review,
    ApprovalStatus.IN_REVIEW: _under_review,
    ApprovalStatus.QUERY: _query,
    ApprovalStatus.READY_FOR_DECISION: _ready,
}
