"""Keeps Django's groups equal to the roles: every personal account of a person is in the groups of its roles."""

from __future__ import annotations

from qms.roles import guards, selectors
from qms.roles.models import Person


def sync_groups(person: Person) -> None:
    """Put every personal account of the person into the groups of its roles and no other; inside a command."""
    groups = [guards.role_group(role) for role in selectors.roles_of(person)]
    for account in person.accounts.filter(is_service=False):
        account.groups.set(groups)
