"""Reading people, roles and invitations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.utils.translation import gettext as _

from qms.audit.actors import HasActor
from qms.core import clock
from qms.core.errors import NotVisible, PermissionMissing, Refusal
from qms.roles import guards, links, matrix
from qms.roles.models import FirstRunLink, Invitation, Person, RoleAction, RoleAssignment, RoleRequest, User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.roles.rules import check_role_conflicts

EXECUTES: Final = frozenset("X")
CONFIRMS: Final = frozenset("V")
AUDITOR_DISTANCE: Final = timedelta(days=365)  # SoD-08


def roles_of(person: Person) -> frozenset[Role]:
    """Return the roles the person holds now."""
    return frozenset(
        Role(code) for code in person.assignments.filter(active=True).values_list("role", flat=True)
    )


def available_roles() -> tuple[Role, ...]:
    """Return the roles that the rule set in force knows."""
    known = {role for row in matrix.current().values() for role in row}
    return tuple(role for role in Role if role in known)


def able_holders(role: Role) -> QuerySet[Person]:
    """Return the people who hold `role` and can act: person and at least one personal account are active."""
    return Person.objects.filter(
        pk__in=RoleAssignment.objects.filter(role=role.value, active=True).values("person_id"),
        is_active=True,
        accounts__in=User.objects.filter(is_active=True, is_service=False),
    ).distinct()


def has_administrator() -> bool:
    """Return whether somebody holds the administrator role."""
    return RoleAssignment.objects.filter(role=Role.ADMINISTRATOR.value, active=True).exists()


def is_bootstrap() -> bool:
    """Return whether nobody able to act may confirm role changes yet (decision 0170)."""
    confirming = matrix.roles_for(Permission.ASSIGN_ROLES, CONFIRMS)
    return not any(able_holders(role).exists() for role in confirming)


def conflict_of(person: Person, role: Role) -> Refusal | None:
    """Return the refusal that `role` would meet with what the person holds or held (SoD-05, -07, -08), or None."""
    try:
        check_role_conflicts(roles_of(person), role)
    except Refusal as refusal:
        return refusal
    return None


def roles_ended_recently(person: Person) -> bool:
    """Return whether the person gave up a role other than auditor within the distance of SoD-08."""
    since = clock.now() - AUDITOR_DISTANCE
    ended = person.assignments.filter(active=False, ended_at__gt=since)
    return ended.exclude(role=Role.AUDITOR.value).exists()


def require_knowing_people(actor: User, letters: matrix.Letters) -> None:
    """Refuse, naming P36, who holds no letter of it at all: before looking, so that nobody learns who is recorded.

    letters: the act that was tried, named in the next step. Raises PermissionMissing, SodViolation (SoD-16).
    """
    rights = guards.prefetch(actor)
    if rights.acting_role(Permission.ASSIGN_ROLES, letters=matrix.ALL_LETTERS) is None:
        guards.require(actor=actor, permission=Permission.ASSIGN_ROLES, letters=letters)


def lock_person(person_id: UUID, *, actor: User | None = None) -> Person:
    """Return the person, locked; raises NotVisible, and PermissionMissing where `actor` may not know other people."""
    if actor is not None and actor.person_id != person_id:
        require_knowing_people(actor, EXECUTES)
    person = Person.objects.select_for_update().filter(pk=person_id).first()
    if person is None:
        raise NotVisible(_("Diese Person gibt es nicht."))
    return person


def lock_request(request_id: UUID, *, actor: User) -> RoleRequest:
    """Return the role request, locked, its subject first; raises NotVisible, PermissionMissing.

    Known to who may know people, to the person concerned, and to everybody in the first days (decision 0170).
    """
    found = RoleRequest.objects.filter(pk=request_id).first()
    if not (found is not None and found.subject_id == actor.person_id) and not is_bootstrap():
        require_knowing_people(actor, CONFIRMS)
    if found is None:
        raise NotVisible(_("Diesen Antrag gibt es nicht."))
    lock_person(found.subject_id)
    return RoleRequest.objects.select_for_update(of=("self",)).select_related("subject").get(pk=request_id)


def lock_account(account_id: int, *, actor: User) -> User:
    """Return the account, locked with its person; raises NotVisible, and PermissionMissing like `lock_person`."""
    account = User.objects.filter(pk=account_id).first()
    if account is None or account.person_id != actor.person_id:
        require_knowing_people(actor, EXECUTES)
    if account is None:
        raise NotVisible(_("Dieses Konto gibt es nicht."))
    lock_person(account.person_id)
    return User.objects.select_for_update(of=("self",)).select_related("person").get(pk=account_id)


def invitation_by_token(token: str) -> Invitation:
    """Return the invitation behind a link; raises NotVisible."""
    found = Invitation.objects.select_related("person").filter(token_sha256=links.token_sha256(token)).first()
    if found is None:
        raise NotVisible(_("Diese Einladung gibt es nicht."))
    return found


def require_invited(actor: HasActor, invitation: Invitation) -> None:
    """Refuse, for a person who has an account, everybody but that person, signed in: whoever invites sees the link.

    A switched-off account counts too. Raises PermissionMissing.
    """
    person = invitation.person
    if not person.accounts.filter(is_service=False).exists():
        return
    if isinstance(actor, User) and actor.person_id == person.pk and actor.is_active and not actor.is_service:
        return
    raise PermissionMissing(
        _(
            "Für diese Person gibt es schon ein Konto: Ein weiteres legt nur an, wer mit dem vorhandenen angemeldet ist."
        ),
        id=Permission.ASSIGN_ROLES.value,
        next_step=_(
            "Melden Sie sich zuerst mit Ihrem vorhandenen Konto an und öffnen Sie dann den Link noch einmal."
        ),
        facts={"person": person.pid, "invitation": str(invitation.pk)},
    )


def first_run_link_by_token(token: str) -> FirstRunLink:
    """Return the first-run link behind a token; raises NotVisible."""
    found = FirstRunLink.objects.filter(token_sha256=links.token_sha256(token)).first()
    if found is None:
        raise NotVisible(_("Diesen Link gibt es nicht."))
    return found


def username_taken(username: str) -> bool:
    """Return whether an account of that name exists, whatever the case of its letters."""
    return User.objects.filter(username__iexact=username).exists()


def addresses_of(person: Person) -> list[str]:
    """Return where mail reaches the person: its own address and those of its active accounts, each once."""
    accounts = person.accounts.filter(is_active=True, is_service=False).values_list("email", flat=True)
    return list({address.casefold(): address for address in (*accounts, person.email)}.values())


def people() -> QuerySet[Person]:
    """Return all people with accounts, active roles and open invitations, in a constant number of queries."""
    active = RoleAssignment.objects.filter(active=True)
    waiting = Invitation.objects.filter(accepted_at=None, expires_at__gt=clock.now())
    return Person.objects.prefetch_related(
        "accounts",
        Prefetch("assignments", queryset=active, to_attr="active_assignments"),
        Prefetch("invitations", queryset=waiting, to_attr="open_invitations"),
    )


def open_requests() -> QuerySet[RoleRequest]:
    """Return the role requests nobody has decided yet, oldest first."""
    return RoleRequest.objects.filter(decided_at=None).select_related("subject", "requested_by")


@dataclass(frozen=True, slots=True)
class DemoLogin:
    """One account offered on the login page of a demo."""

    account_id: int
    username: str
    name: str
    roles: tuple[Role, ...]


def demo_logins() -> list[DemoLogin]:
    """Return the accounts a demo offers, those with roles first in the order of `Role`; call in demo mode only."""
    accounts = User.objects.filter(is_active=True, is_service=False, person__is_active=True).select_related(
        "person"
    )
    held: dict[UUID, list[Role]] = {}
    for person_id, code in RoleAssignment.objects.filter(active=True).values_list("person_id", "role"):
        held.setdefault(person_id, []).append(Role(code))
    order = {role: position for position, role in enumerate(Role)}
    rows = [
        DemoLogin(
            account.pk,
            account.username,
            account.person.display_name,
            tuple(sorted(held.get(account.person_id, []), key=order.__getitem__)),
        )
        for account in accounts
    ]
    return sorted(rows, key=lambda row: ([order[role] for role in row.roles] or [len(order)], row.username))


def grant_request_exists(person: Person, role: Role) -> bool:
    """Return whether an undecided request concerns this role of the person."""
    return RoleRequest.objects.filter(subject=person, role=role.value, decided_at=None).exists()


def requested_action(request: RoleRequest) -> RoleAction:
    """Return the action of a request as its enum member."""
    return RoleAction(request.action)
