"""Template context that every page has: demo mark, organisation, navigation, and who is signed in."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise, SimpleLazyObject
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.roles import guards, matrix
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.web import waiting
from qms.web.answers import account

# Label, name of the address, and the row of the permission matrix without which the page does not exist for a person.
_ENTRIES: Final[tuple[tuple[Promise, str, Permission | None], ...]] = (
    (lazy("Wartet auf mich"), "start", None),
    (lazy("Workloads"), "workloads", None),
    (lazy("Freigaben"), "approvals", None),
    (lazy("Emulator"), "emulator", None),
    (lazy("Plattformen"), "platforms", None),
    (lazy("Protokoll"), "audit_log", Permission.READ_AUDIT),
    (lazy("Personen"), "people_list", Permission.ASSIGN_ROLES),
)


def page(request: HttpRequest) -> dict[str, Any]:
    """Return what the page frame shows; navigation and roles are read only when a template asks for them."""
    context: dict[str, Any] = {"demo": settings.DEMO, "organisation_name": settings.ORGANISATION_NAME}
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return context
    roles = SimpleLazyObject(lambda: guards.roles_of(account(request)))
    return context | {
        "nav": SimpleLazyObject(lambda: _nav(request, tuple(roles))),
        "user_label": account(request).person.display_name,
        "reads_claims": SimpleLazyObject(lambda: _any_letter(Permission.MAINTAIN_CLAIMS, tuple(roles))),
        "user_roles": SimpleLazyObject(lambda: ", ".join(str(role.label) for role in roles)),
        "user_links": [
            {"label": _("Profil und Anmeldung"), "url": reverse("people_profile")},
            {"label": _("Zustand des Systems"), "url": reverse("health")},
        ],
    }


def _nav(request: HttpRequest, roles: tuple[Role, ...]) -> list[dict[str, Any]]:
    shown = [entry for entry in _ENTRIES if entry[2] is None or _any_letter(entry[2], roles)]
    places = [(label, name, reverse(name)) for label, name, _permission in shown]
    return [
        {
            "label": label,
            "url": url,
            "current": request.path == url if url == "/" else request.path.startswith(url),
            "count": len(waiting.of(request).mine) if name == "start" else 0,
        }
        for label, name, url in places
    ]


def _any_letter(permission: Permission, roles: tuple[Role, ...]) -> bool:
    return any(matrix.letters(permission, role) for role in roles)
