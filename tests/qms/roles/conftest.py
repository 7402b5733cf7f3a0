"""People for the tests: made by the commands, under the matrix of `kompakt`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from qms.audit.actors import SYSTEM
from qms.audit.events import AuditKind
from qms.audit.models import AuditEvent
from qms.audit.services import record, unit
from qms.core import canonical, clock
from qms.roles import links, matrix, services
from qms.roles.models import Person, RoleAction, User
from qms.roles.permissions import Permission
from qms.roles.roles import Role

PASSWORD = "korrekt-pferd-batterie"
_ROWS = {
    "P01": {"WO": "CU", "PR": "R", "FG": "r", "AU": "R"},
    "P05": {"PR": "VD", "FG": "r", "AU": "R"},
    "P10": {"WO": "S", "PR": "V", "FG": "D", "AU": "R"},
    "P12": {"WO": "X", "AU": "R"},
    "P14": {"WO": "C", "PR": "C", "AU": "R"},
    "P23": {"FG": "D", "AU": "R"},
    "P33": {"WO": "r", "PR": "R", "FG": "r", "AU": "R"},
    "P36": {"PR": "V", "AU": "R", "AD": "X"},
    "P39": {"WO": "R", "PR": "R", "AU": "R", "AD": "X"},
}
KOMPAKT: matrix.Matrix = {
    Permission(row): {Role(role): frozenset(letters) for role, letters in cells.items()}
    for row, cells in _ROWS.items()
}


@pytest.fixture
def kompakt(settings: Any) -> Iterator[None]:
    settings.ROOT_URLCONF = "tests.qms.roles.urls"
    before = list(matrix._source)
    matrix.set_source(lambda: KOMPAKT)
    cache.clear()
    yield
    cache.clear()
    matrix._source[:] = before


@dataclass
class House:
    """An organisation that grows during a test; every step is a command."""

    administrator: User
    people: dict[str, User] = field(default_factory=dict)

    def join(self, name: str) -> User:
        """Invite a person and accept the invitation."""
        invitation = services.invite_person(
            actor=self.administrator, display_name=name, email=f"{name}@example.org"
        )
        token = links.invitation_token(invitation.pk)
        self.people[name] = services.accept_invitation(
            actor=SYSTEM, token=token, username=name, password=PASSWORD
        )
        return self.people[name]

    def second_account(self, person: Person, username: str) -> User:
        """Give a person another account, which it accepts signed in with the first one."""
        first = person.accounts.filter(is_service=False)[0]
        invitation = services.invite_account(actor=self.administrator, person_id=person.pk)
        token = links.invitation_token(invitation.pk)
        return services.accept_invitation(actor=first, token=token, username=username, password=PASSWORD)

    def request(self, subject: User, role: Role, action: RoleAction = RoleAction.GRANT) -> Any:
        """Ask for a role as administrator."""
        return services.request_role(
            actor=self.administrator, person_id=subject.person_id, role=role, action=action, reason="Aufgabe"
        )

    def give(self, subject: User, role: Role, confirmer: User) -> User:
        """Request and confirm a role."""
        services.confirm_role(actor=confirmer, request_id=self.request(subject, role).pk)
        return subject


@pytest.fixture
def signed_in(client: Client) -> Callable[[User], Client]:
    """Sign in as an account, without the pages."""

    def sign_in(account: User) -> Client:
        client.force_login(account, backend="allauth.account.auth_backends.AuthenticationBackend")
        return client

    return sign_in


@pytest.fixture
def house(db: None, kompakt: None) -> House:
    token = services.issue_first_run_link(actor=SYSTEM)
    administrator = services.create_first_administrator(
        actor=SYSTEM,
        token=token,
        display_name="Administration 1",
        email="ad01@example.org",
        username="ad01",
        password=PASSWORD,
    )
    return House(administrator)


@pytest.fixture
def staffed(house: House) -> House:
    """Administrator, a reviewer, an owner, an approver, and somebody without a role."""
    for name in ("pr01", "wo01", "fg01", "ohne"):
        house.join(name)
    house.give(house.people["pr01"], Role.REVIEWER, confirmer=house.people["ohne"])
    house.give(house.people["wo01"], Role.WORKLOAD_OWNER, confirmer=house.people["pr01"])
    house.give(house.people["fg01"], Role.APPROVER, confirmer=house.people["pr01"])
    return house


@pytest.fixture
def workload(staffed: House) -> Any:
    """A workload nobody holds a grant on."""
    from qms.workloads.models import Workload

    with unit(actor=SYSTEM):
        made = Workload.objects.create(
            title="Muster", created_by=staffed.people["wo01"].person, created_at=clock.now()
        )
        record(AuditKind.WORKLOAD_CREATED, actor=SYSTEM, subject=made)
    return made


def change(write: Callable[[], Any]) -> Any:
    """Run a raw write inside an announced unit, past the commands, to reach the database's own rules."""
    with unit(actor=SYSTEM):
        result = write()
        record(AuditKind.DEMO_SEEDED, actor=SYSTEM, subject_ref=("Test", "1"))
    return result


def events(kind: AuditKind) -> list[dict[str, Any]]:
    """Return the lines of a kind in order."""
    rows = AuditEvent.objects.filter(kind=kind.value).order_by("leaf__seq")
    return [canonical.loads(row.body) for row in rows]
