"""Who may use the log itself. Roles lie above this package, so they hand their check in when they are ready."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.utils.translation import gettext as _

from qms.audit.actors import Actor, HasActor
from qms.core.errors import PermissionMissing

EXPORT: Final = "P34"
ERASE: Final = "P38"
OPERATE: Final = "P39"

Require = Callable[[HasActor, str], str]
_checks: list[Require] = []


def set_require(check: Require) -> None:
    """Take the check of the package above: `check(actor, permission)` returns the acting role code or refuses."""
    _checks[:] = [check]


def require(actor: HasActor, permission: str) -> Actor:
    """Return the actor under the role that carries the permission; raises PermissionMissing.

    Plain actors are services and operators at the console. Without a check handed in everybody else is refused.
    """
    if isinstance(actor, Actor):
        return actor
    if not _checks:
        raise PermissionMissing(_("Die Berechtigung kann nicht geprüft werden."), id=permission)
    return actor.audit_actor(_checks[0](actor, permission))
