"""Commands that change roles: one person requests, a second one confirms, nobody their own (SoD-07)."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from qms.audit.actors import Actor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock
from qms.core.errors import CriterionNotMet, PermissionMissing, SodViolation, WrongState
from qms.roles import guards, selectors
from qms.roles.models import Person, RoleAction, RoleAssignment, RoleRequest, User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.roles.rules import Account, Case, SodAction, check_role_conflicts, check_segregation
from qms.roles.services.membership import sync_groups

_P36: Final = Permission.ASSIGN_ROLES.value


@audited
def request_role(*, actor: User, person_id: UUID, role: Role, action: RoleAction, reason: str) -> RoleRequest:
    """Ask for a role to be granted to or revoked from another person; nothing changes until it is confirmed.

    Raises SodViolation (SoD-05, -07, -08, -16), PermissionMissing (P36), WrongState or CriterionNotMet.
    """
    subject = selectors.lock_person(person_id, actor=actor)
    check_segregation(_case(actor, subject), SodAction.CHANGE_ROLES)
    if action is RoleAction.GRANT:
        _check_conflicts(subject, role)
    acting = guards.require(actor=actor, permission=Permission.ASSIGN_ROLES, letters=selectors.EXECUTES)
    if selectors.grant_request_exists(subject, role):
        raise WrongState(_("Zu dieser Rolle ist schon ein Antrag offen."), id=_P36)
    _check_applicable(subject, role, action)
    if not reason.strip():
        raise CriterionNotMet(
            _("Eine Begründung fehlt."), id=_P36, next_step=_("Begründen Sie die Änderung.")
        )
    request = RoleRequest.objects.create(
        subject=subject,
        role=role.value,
        action=action.value,
        reason=reason.strip(),
        requested_by=actor.person,
    )
    _record(AuditKind.ROLE_REQUESTED, request, actor.audit_actor(acting), reason=reason.strip())
    return request


@audited
def confirm_role(*, actor: User, request_id: UUID) -> RoleRequest:
    """Confirm a role request as the second person; the role and the groups change in the same transaction.

    Who may: holders of the confirming letter of P36, or anybody with an account while there are none (decision
    0170). Raises SodViolation, PermissionMissing or WrongState.
    """
    request = selectors.lock_request(request_id, actor=actor)
    subject, role, action = request.subject, Role(request.role), selectors.requested_action(request)
    check_segregation(_case(actor, subject, executor=request.requested_by_id), SodAction.CONFIRM_ROLES)
    if action is RoleAction.GRANT and request.is_open:
        _check_conflicts(subject, role)
    acting, bootstrap = _require_confirmer(actor)
    _check_undecided(request)
    _check_applicable(subject, role, action)
    request.confirmed_by, request.decided_at = actor.person, clock.now()
    request.save(update_fields=["confirmed_by", "decided_at"])
    assignment = _apply(request, subject, action)
    sync_groups(subject)
    as_actor = actor.audit_actor(acting)
    _record(AuditKind.ROLE_CONFIRMED, request, as_actor, bootstrap=bootstrap)
    facts = {"role": role.value, "action": action.value, "person": subject.pid, "request": str(request.pk)}
    record(AuditKind.ROLE_CHANGED, actor=as_actor, subject=assignment, facts=facts)
    return request


@audited
def reject_role(*, actor: User, request_id: UUID, reason: str) -> RoleRequest:
    """Reject a role request, or take back one's own; roles stay as they are."""
    request = selectors.lock_request(request_id, actor=actor)
    if actor.person_id == request.requested_by_id:
        acting = guards.require(
            actor=actor, permission=Permission.ASSIGN_ROLES, letters=selectors.EXECUTES
        ).value
    else:
        check_segregation(_case(actor, request.subject), SodAction.CONFIRM_ROLES)
        acting, _bootstrap = _require_confirmer(actor)
    _check_undecided(request)
    request.rejected_by, request.decided_at = actor.person, clock.now()
    request.save(update_fields=["rejected_by", "decided_at"])
    _record(AuditKind.ROLE_REJECTED, request, actor.audit_actor(acting), reason=reason.strip())
    return request


def _case(actor: User, subject: Person, executor: UUID | None = None) -> Case:
    account = Account(person_id=actor.person_id, account_id=actor.pk, is_service=actor.is_service)
    return Case(actor=account, role_target=subject.pk, role_executor=executor)


def _check_conflicts(subject: Person, role: Role) -> None:
    check_role_conflicts(selectors.roles_of(subject), role)
    if role is Role.AUDITOR and selectors.roles_ended_recently(subject):
        raise SodViolation(
            _("Auditor(in) wird nur, wer in den letzten 365 Tagen keine andere Rolle hatte (SoD-08)."),
            id="SoD-08",
            next_step=_("Benennen Sie eine andere, auch externe Person."),
            facts={"role": role.value},
        )


def _require_confirmer(actor: User) -> tuple[str, bool]:
    """Return the acting role and whether the rule of the first days applied."""
    if not selectors.is_bootstrap():
        role = guards.require(actor=actor, permission=Permission.ASSIGN_ROLES, letters=selectors.CONFIRMS)
        return role.value, False
    if not (actor.is_active and actor.person.is_active):
        raise PermissionMissing(_("Ihr Konto ist deaktiviert."), id=_P36)
    held = guards.roles_of(actor)
    return (held[0].value if held else ""), True


def _check_undecided(request: RoleRequest) -> None:
    if not request.is_open:
        raise WrongState(_("Über diesen Antrag ist schon entschieden."), id=_P36)


def _check_applicable(subject: Person, role: Role, action: RoleAction) -> None:
    if role not in selectors.available_roles():
        raise CriterionNotMet(
            _("Das geltende Regelwerk kennt die Rolle %(role)s nicht.") % {"role": role.label}, id=_P36
        )
    held = role in selectors.roles_of(subject)
    if action is RoleAction.GRANT and held:
        raise WrongState(_("Die Person hat diese Rolle schon."), id=_P36)
    if action is RoleAction.GRANT and not subject.is_active:
        raise WrongState(_("Die Person ist deaktiviert."), id=_P36)
    if action is RoleAction.REVOKE and not held:
        raise WrongState(_("Die Person hat diese Rolle nicht."), id=_P36)
    if action is RoleAction.REVOKE and role is Role.ADMINISTRATOR and not _another_administrator(subject):
        raise WrongState(
            _("Die letzte Person mit der Rolle Administrator(in) behält sie."),
            id=_P36,
            next_step=_("Benennen Sie zuerst eine weitere Person."),
        )


def _another_administrator(subject: Person) -> bool:
    return selectors.able_holders(Role.ADMINISTRATOR).exclude(pk=subject.pk).exists()


def _apply(request: RoleRequest, subject: Person, action: RoleAction) -> RoleAssignment:
    if action is RoleAction.GRANT:
        return RoleAssignment.objects.create(person=subject, role=request.role, granted_request=request)
    assignment = RoleAssignment.objects.select_for_update().get(
        person=subject, role=request.role, active=True
    )
    assignment.active, assignment.ended_at, assignment.revoked_request = False, clock.now(), request
    assignment.save(update_fields=["active", "ended_at", "revoked_request"])
    return assignment


def _record(
    kind: AuditKind, request: RoleRequest, actor: Actor, *, reason: str = "", bootstrap: bool | None = None
) -> None:
    facts: dict[str, Any] = {"role": request.role, "action": request.action, "person": request.subject.pid}
    if bootstrap is not None:
        facts["bootstrap"] = bootstrap
    private = {"reason": reason} if reason else None
    record(kind, actor=actor, subject=request, facts=facts, private=private)
