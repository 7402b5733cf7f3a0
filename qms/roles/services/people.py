"""Commands about people and their accounts (P36)."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from qms.audit.actors import Actor, HasActor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock, tasks
from qms.core.characters import first_hidden
from qms.core.errors import CriterionNotMet, SodViolation, WrongState
from qms.core.ids import uuid7
from qms.roles import guards, links, selectors
from qms.roles.models import FirstRunLink, Invitation, Person, RoleAction, RoleAssignment, User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.roles.services.membership import sync_groups
from qms.roles.services.sign_in import NOTICE_TASK

MAIL_TASK: Final = "roles.mail_invitation"
FURTHER_ACCOUNT: Final = "WEITERES_KONTO"
_P36: Final = Permission.ASSIGN_ROLES.value


@audited
def issue_first_run_link(*, actor: HasActor) -> str:
    """Make a new one-time link for the first administrator and return its token; earlier links end.

    Raises WrongState once somebody holds the administrator role.
    """
    _check_no_administrator()
    now = clock.now()
    FirstRunLink.objects.filter(used_at=None, expires_at__gt=now).update(expires_at=now)
    token = links.random_token()
    link = FirstRunLink.objects.create(
        token_sha256=links.token_sha256(token), created_at=now, expires_at=now + links.FIRST_RUN_LIFETIME
    )
    record(
        AuditKind.ACCESS_TOKEN_CREATED,
        actor=actor.audit_actor(),
        subject=link,
        facts={"use": "ERSTEINRICHTUNG"},
    )
    return token


@audited
def create_first_administrator(
    *, actor: HasActor, token: str, display_name: str, email: str, username: str, password: str
) -> User:
    """Make the first person with the administrator role, by the one-time link; the only role without a request.

    Raises NotVisible for an unknown link, WrongState for a used or expired one or if there is an administrator,
    CriterionNotMet for an unfit name or password.
    """
    link = selectors.first_run_link_by_token(token)
    link = FirstRunLink.objects.select_for_update().get(pk=link.pk)
    _check_no_administrator()
    _check_open(used=link.used_at is not None, expired=link.expires_at <= clock.now())
    _check_name(display_name)
    person = Person.objects.create(display_name=display_name, email=email)
    account = _create_account(person, username=username, password=password)
    assignment = RoleAssignment.objects.create(person=person, role=Role.ADMINISTRATOR.value)
    sync_groups(person)
    link.used_at = clock.now()
    link.save(update_fields=["used_at"])
    as_actor = person.audit_actor(Role.ADMINISTRATOR.value)
    _record_person(person, as_actor)
    _record_account(account, as_actor, {"first_run": True})
    facts = {"role": Role.ADMINISTRATOR.value, "action": RoleAction.GRANT.value, "person": person.pid}
    record(AuditKind.ROLE_CHANGED, actor=as_actor, subject=assignment, facts=facts)
    record(AuditKind.SETUP_COMPLETED, actor=as_actor, subject=link, facts={"person": person.pid})
    return account


@audited
def invite_person(*, actor: User, display_name: str, email: str) -> Invitation:
    """Record a new person and send a one-time link with which it makes its account."""
    role = guards.require(actor=actor, permission=Permission.ASSIGN_ROLES, letters=selectors.EXECUTES)
    if Person.objects.filter(email__iexact=email).exists():
        raise WrongState(
            _("Diese E-Mail-Adresse gehört schon zu einer Person."),
            id=_P36,
            next_step=_("Laden Sie die vorhandene Person zu einem weiteren Konto ein."),
        )
    _check_name(display_name)
    person = Person.objects.create(display_name=display_name, email=email)
    _record_person(person, actor.audit_actor(role))
    return _invite(person, actor, role)


@audited
def invite_account(*, actor: User, person_id: UUID) -> Invitation:
    """Send a recorded person a new one-time link: for its first or for a further account. Earlier links end."""
    person = selectors.lock_person(person_id, actor=actor)
    _check_other_person(
        actor, person, _("Ein weiteres Konto für Sie selbst legt eine andere Person an (SoD-07).")
    )
    role = guards.require(actor=actor, permission=Permission.ASSIGN_ROLES, letters=selectors.EXECUTES)
    if not person.is_active:
        raise WrongState(
            _("Die Person ist deaktiviert."), id=_P36, next_step=_("Aktivieren Sie zuerst ein Konto.")
        )
    person.invitations.filter(accepted_at=None, expires_at__gt=clock.now()).update(expires_at=clock.now())
    return _invite(person, actor, role)


@audited
def accept_invitation(*, actor: HasActor, token: str, username: str, password: str) -> User:
    """Make the invited person's account; the link works once, and for a further account only for the person itself.

    Raises NotVisible for an unknown link, WrongState for a used or expired one, PermissionMissing where the person
    has an account and is not signed in with it, CriterionNotMet for an unfit name or password.
    """
    found = selectors.invitation_by_token(token)
    person = selectors.lock_person(found.person_id)
    invitation = Invitation.objects.select_for_update().get(pk=found.pk)
    expired = invitation.expires_at <= clock.now() or not person.is_active
    _check_open(used=invitation.accepted_at is not None, expired=expired)
    selectors.require_invited(actor, invitation)
    further = person.accounts.filter(is_service=False).exists()
    account = _create_account(person, username=username, password=password)
    sync_groups(person)
    invitation.accepted_at, invitation.account = clock.now(), account
    invitation.save(update_fields=["accepted_at", "account"])
    facts = {"person": person.pid, "invitation": str(invitation.pk)}
    record(AuditKind.INVITATION_ACCEPTED, actor=person.audit_actor(), subject=invitation, facts=facts)
    _record_account(account, person.audit_actor(), {"invitation": str(invitation.pk)})
    if further:
        tasks.enqueue(task=NOTICE_TASK, payload={"account_id": str(account.pk), "notice": FURTHER_ACCOUNT})
    return account


@audited
def register_service_account(*, actor: User, username: str, person_id: UUID) -> User:
    """Make a service account that counts as its responsible person, holds no role and cannot sign in (SoD-16)."""
    person = selectors.lock_person(person_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.ASSIGN_ROLES, letters=selectors.EXECUTES)
    _check_username(username)
    # Without an address no password reset can reach it.
    account = User.objects.create_user(username, person=person, email="", is_service=True)
    _record_account(account, actor.audit_actor(role), {})
    return account


@audited
def deactivate_account(*, actor: User, account_id: int, reason: str) -> User:
    """Switch an account off at once; with its last personal account the person counts as inactive."""
    account = selectors.lock_account(account_id, actor=actor)
    _check_other_person(actor, account.person, _("Das eigene Konto deaktiviert eine andere Person (SoD-07)."))
    role = guards.require(actor=actor, permission=Permission.ASSIGN_ROLES, letters=selectors.EXECUTES)
    if not account.is_active:
        raise WrongState(_("Das Konto ist schon deaktiviert."), id=_P36)
    return _set_active(account, active=False, actor=actor.audit_actor(role), reason=reason)


@audited
def reactivate_account(*, actor: User, account_id: int, reason: str) -> User:
    """Switch a deactivated account on again; the roles of the person are what they were."""
    account = selectors.lock_account(account_id, actor=actor)
    _check_other_person(actor, account.person, _("Das eigene Konto aktiviert eine andere Person (SoD-07)."))
    role = guards.require(actor=actor, permission=Permission.ASSIGN_ROLES, letters=selectors.EXECUTES)
    if account.is_active:
        raise WrongState(_("Das Konto ist schon aktiv."), id=_P36)
    return _set_active(account, active=True, actor=actor.audit_actor(role), reason=reason)


def _invite(person: Person, actor: User, role: Role) -> Invitation:
    now = clock.now()
    key = uuid7()
    invitation = Invitation.objects.create(
        id=key,
        person=person,
        token_sha256=links.token_sha256(links.invitation_token(key)),
        invited_by=actor.person,
        created_at=now,
        expires_at=now + links.INVITATION_LIFETIME,
    )
    tasks.enqueue(task=MAIL_TASK, payload={"invitation_id": str(key)})
    facts = {"person": person.pid, "expires_at": invitation.expires_at}
    record(AuditKind.ACCOUNT_INVITED, actor=actor.audit_actor(role), subject=invitation, facts=facts)
    return invitation


def _set_active(account: User, *, active: bool, actor: Actor, reason: str) -> User:
    account.is_active = active
    account.save(update_fields=["is_active"])
    person = account.person
    person.is_active = active or person.accounts.filter(is_active=True, is_service=False).exists()
    person.save(update_fields=["is_active"])
    record(
        AuditKind.ACCOUNT_CHANGED,
        actor=actor,
        subject=account,
        before={"active": not active},
        after={"active": active},
        facts={"person": person.pid, "person_active": person.is_active},
        private={"reason": reason} if reason else None,
    )
    return account


def _create_account(person: Person, *, username: str, password: str) -> User:
    _check_username(username)
    try:
        validate_password(password, User(username=username, email=person.email, person=person))
    except ValidationError as error:
        raise CriterionNotMet(
            " ".join(error.messages), id=_P36, next_step=_("Wählen Sie ein anderes Passwort.")
        ) from error
    return User.objects.create_user(username, person=person, password=password)


def _check_name(display_name: str) -> None:
    """Refuse a name with hidden characters: it stands on pages, in mails and beside signatures."""
    hidden = first_hidden(display_name)
    if hidden:
        message = _("Der Name enthält das unsichtbare Zeichen %(code)s.") % {"code": hidden}
        raise CriterionNotMet(message, id=_P36, next_step=_("Geben Sie den Namen ohne dieses Zeichen ein."))


def _record_person(person: Person, actor: Actor) -> None:
    private = {"display_name": person.display_name, "email": person.email}
    record(
        AuditKind.PERSON_CREATED, actor=actor, subject=person, facts={"person": person.pid}, private=private
    )


def _record_account(account: User, actor: Actor, facts: dict[str, Any]) -> None:
    facts = {"person": account.person.pid, "service": account.is_service, **facts}
    record(AuditKind.ACCOUNT_CREATED, actor=actor, subject=account, facts=facts)


def _check_username(username: str) -> None:
    try:
        User._meta.get_field("username").run_validators(username)
    except ValidationError as error:
        raise CriterionNotMet(" ".join(error.messages), id=_P36) from error
    if selectors.username_taken(username):
        raise WrongState(
            _("Dieser Benutzername ist vergeben."),
            id=_P36,
            next_step=_("Wählen Sie einen anderen Benutzernamen."),
        )


def _check_no_administrator() -> None:
    if selectors.has_administrator():
        raise WrongState(
            _("Die erste Anmeldung ist abgeschlossen: Es gibt eine Person mit der Rolle Administrator(in)."),
            id="SoD-07",
            next_step=_("Lassen Sie sich einladen."),
        )


def _check_open(*, used: bool, expired: bool) -> None:
    if used:
        raise WrongState(
            _("Dieser Link wurde schon benutzt."), id=_P36, next_step=_("Melden Sie sich mit Ihrem Konto an.")
        )
    if expired:
        raise WrongState(
            _("Dieser Link ist abgelaufen."), id=_P36, next_step=_("Bitten Sie um eine neue Einladung.")
        )


def _check_other_person(actor: User, person: Person, message: str) -> None:
    if actor.person_id == person.pk:
        raise SodViolation(
            message,
            id="SoD-07",
            next_step=_("Eine andere Person mit der Rolle Administrator(in) führt dies aus."),
        )
