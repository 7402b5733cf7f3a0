"""Who may do what on which workload: role matrix and grant rows, read afresh; the one home of guardian.

`has_perm` is never asked: it answers yes to superusers, who are not exempt here (architecture 4, stack 7).
Grants stand on the workload only; what belongs to a workload inherits them by join. A grant to one account counts
for every account of its person (SoD-15).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from django.apps import apps
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from guardian.shortcuts import assign_perm, remove_perm

from qms.core.errors import NotVisible, PermissionMissing, SodViolation
from qms.roles import matrix
from qms.roles.models import RoleAssignment, User
from qms.roles.permissions import Permission
from qms.roles.roles import Role

Codename: TypeAlias = Literal[
    "view_workload", "own_workload", "run_workload", "review_workload", "decide_workload"
]

VIEW: Final[Codename] = "view_workload"
OWN: Final[Codename] = "own_workload"
RUN: Final[Codename] = "run_workload"
REVIEW: Final[Codename] = "review_workload"
DECIDE: Final[Codename] = "decide_workload"
CODENAMES: Final[tuple[Codename, ...]] = (VIEW, OWN, RUN, REVIEW, DECIDE)
WORKING_CODENAMES: Final[tuple[Codename, ...]] = (OWN, RUN)
"""Grants that, held in person, make their holder involved in the workload for good (SoD-02)."""

# Permissions whose grant is the same whoever acts.
PERMISSION_CODENAME: Final[dict[Permission, Codename]] = {
    Permission.EDIT_WORKLOAD: OWN,
    Permission.ACCEPT_OWNERSHIP: OWN,
    Permission.PROPOSE_CLASSIFICATION: OWN,
    Permission.CONFIRM_CLASSIFICATION: REVIEW,
    Permission.EDIT_CRITERIA: OWN,
    Permission.CONFIRM_FROZEN_CRITERIA: REVIEW,
    Permission.ASSESS_SUITABILITY: OWN,
    Permission.START_BASELINE_RUN: RUN,
    Permission.START_TARGET_RUN: RUN,
    Permission.REVIEW_EVIDENCE: REVIEW,
    Permission.REQUEST_APPROVAL: OWN,
    Permission.WITHDRAW_APPROVAL: OWN,
    Permission.COMPLETE_REVIEW: REVIEW,
    Permission.CAST_VOTE: REVIEW,
    Permission.DECIDE_APPROVAL: DECIDE,
    Permission.REPORT_INCIDENT: VIEW,
    Permission.READ_AUDIT: VIEW,
    Permission.EXPORT_AUDIT: VIEW,
    Permission.ASK_OR_ANSWER_QUERY: VIEW,
}

# Every other permission names several acts (propose, vote, decide): the grant follows from the acting role.
ROLE_CODENAME: Final[dict[Role, Codename]] = {
    Role.WORKLOAD_OWNER: OWN,
    Role.PILOT_LEAD: RUN,
    Role.OPERATIONS: RUN,
    Role.DATA_PROTECTION: REVIEW,
    Role.SECURITY: REVIEW,
    Role.CONTROLLING: REVIEW,
    Role.QUALITY: REVIEW,
    Role.REVIEWER: REVIEW,
    Role.APPROVER: DECIDE,
    Role.AUDITOR: VIEW,
    Role.ADMINISTRATOR: VIEW,
}


def required_codename(permission: Permission, role: Role) -> Codename:
    """Return the grant that `role` needs on a workload for `permission`."""
    if permission is Permission.UPLOAD_EVIDENCE:
        return REVIEW if ROLE_CODENAME[role] == REVIEW else RUN  # EV-28 comes from the reviewer (spec 3.19)
    return PERMISSION_CODENAME.get(permission) or ROLE_CODENAME[role]


@dataclass(frozen=True, slots=True)
class Rights:
    """What one account may do, read once: its roles, and per workload key the grants it holds."""

    roles: tuple[Role, ...]
    grants: Mapping[Any, frozenset[str]]
    # The matrix comes from the rule set in force, which costs a query each time it is asked.
    _rows: dict[tuple[Permission, matrix.Letters | None], frozenset[Role]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def acting_role(
        self,
        permission: Permission,
        workload: models.Model | None = None,
        letters: matrix.Letters | None = None,
    ) -> Role | None:
        """Return the first held role that may do `permission` (on `workload`), or None."""
        if (permission, letters) not in self._rows:
            self._rows[permission, letters] = matrix.roles_for(permission, letters)
        allowed = self._rows[permission, letters]
        held = self.grants.get(workload.pk, frozenset()) if workload is not None else None
        for role in self.roles:
            if role in allowed and (held is None or required_codename(permission, role) in held):
                return role
        return None

    def may(self, permission: Permission, workload: models.Model | None = None) -> bool:
        """Return whether one of the roles may do `permission` (on `workload`)."""
        return self.acting_role(permission, workload) is not None


def prefetch(actor: User, workloads: Iterable[models.Model] = ()) -> Rights:
    """Return the rights of `actor` on `workloads` in three queries, however many workloads there are.

    An inactive or a service account has none (SoD-16).
    """
    if not _may_act(actor):
        return Rights((), {})
    return Rights(roles_of(actor), _grants(actor, [workload.pk for workload in workloads]))


def require(
    *,
    actor: User,
    permission: Permission,
    workload: models.Model | None = None,
    letters: matrix.Letters | None = None,
) -> Role:
    """Return the role under which `actor` may do `permission`; with `workload` a direct grant is needed too.

    letters: restricts to acts of that kind, such as {"V"}; default: any acting letter of the row.
    Raises SodViolation (SoD-16) for a service account and PermissionMissing, naming the permission, otherwise.
    """
    if actor.is_service:
        raise SodViolation(
            _(
                "Dienstkonten dürfen nur anfügen, nicht mitzeichnen, prüfen, entscheiden oder löschen (SoD-16)."
            ),
            id="SoD-16",
            next_step=_("Mit dem Konto einer Person anmelden."),
        )
    role = prefetch(actor, [workload] if workload is not None else []).acting_role(
        permission, workload, letters
    )
    if role is None:
        raise PermissionMissing(
            _("Ihnen fehlt die Berechtigung %(id)s „%(name)s“.")
            % {"id": permission.value, "name": permission.label},
            id=permission.value,
            next_step=_next_step(permission, letters),
        )
    return role


def may(*, actor: User, permission: Permission, workload: models.Model | None = None) -> bool:
    """Return whether `require` would allow it; records nothing."""
    return prefetch(actor, [workload] if workload is not None else []).may(permission, workload)


def roles_of(actor: User) -> tuple[Role, ...]:
    """Return the active roles of the account's person, in the order of `Role`."""
    codes = set(
        RoleAssignment.objects.filter(person_id=actor.person_id, active=True).values_list("role", flat=True)
    )
    return tuple(role for role in Role if role.value in codes)


def visible_workload_ids(actor: User) -> QuerySet[Any, Any]:
    """Return the keys of all workloads on which the person or one of the role groups holds any grant."""
    workloads = apps.get_model("workloads", "Workload")._base_manager  # noqa: SLF001 - Django's documented name
    if not actor.is_active or not actor.person.is_active:
        return workloads.none().values("pk")
    by_user = _user_grants().filter(user__person_id=actor.person_id).values("content_object_id")
    by_group = _group_grants().filter(group__user=actor.pk).values("content_object_id")
    return workloads.filter(Q(pk__in=by_user) | Q(pk__in=by_group)).values("pk")


def is_visible(actor: User, workload: models.Model) -> bool:
    """Return whether `actor` may know that `workload` exists."""
    return visible_workload_ids(actor).filter(pk=workload.pk).exists()


def require_visible(actor: User, workload: models.Model | None) -> None:
    """Raise NotVisible (404, no event) if there is no such workload or `actor` may not know that there is."""
    if workload is None or not is_visible(actor, workload):
        raise NotVisible(_("Diese Seite gibt es nicht, oder Sie haben keinen Zugang."))


def grant(*, permission_codename: Codename, holder: User | Group, workload: models.Model) -> None:
    """Give `holder` a direct grant on `workload`; call inside an audited command. Granting twice changes nothing."""
    _check_holder(holder)
    assign_perm(permission_codename, holder, workload)


def revoke(*, permission_codename: Codename, holder: User | Group, workload: models.Model) -> None:
    """Take a direct grant on `workload` from `holder`, an account with all accounts of its person (SoD-15)."""
    accounts = holder.person.accounts.all() if isinstance(holder, User) else [holder]
    for account in accounts:
        remove_perm(permission_codename, account, workload)


def role_group(role: Role) -> Group:
    """Return the group of everyone who holds `role`; its name is the role's code."""
    group, _created = Group.objects.get_or_create(name=role.value)
    return group


def _check_holder(holder: User | Group) -> None:
    if isinstance(holder, User) and holder.is_service:
        raise SodViolation(
            _("Ein Dienstkonto erhält keine Rechte an einem Workload (SoD-16)."),
            id="SoD-16",
            next_step=_("Das Recht einer Person geben."),
        )


def _may_act(actor: User) -> bool:
    return actor.is_active and not actor.is_service and actor.person.is_active


def _grants(actor: User, keys: list[Any]) -> dict[Any, frozenset[str]]:
    if not keys:
        return {}
    found: defaultdict[Any, set[str]] = defaultdict(set)
    columns = ("content_object_id", "permission__codename")
    by_user = _user_grants().filter(user__person_id=actor.person_id, content_object_id__in=keys)
    by_group = _group_grants().filter(group__user=actor.pk, content_object_id__in=keys)
    for rows in (by_user.values_list(*columns), by_group.values_list(*columns)):
        for key, codename in rows:
            found[key].add(codename)
    return {key: frozenset(codenames) for key, codenames in found.items()}


def _user_grants() -> models.Manager[Any]:
    return apps.get_model("workloads", "WorkloadUserGrant")._base_manager  # noqa: SLF001 - Django's documented name


def _group_grants() -> models.Manager[Any]:
    return apps.get_model("workloads", "WorkloadGroupGrant")._base_manager  # noqa: SLF001 - Django's documented name


def _next_step(permission: Permission, letters: matrix.Letters | None) -> str:
    names = ", ".join(str(role.label) for role in Role if role in matrix.roles_for(permission, letters))
    if not names:
        return _("Das geltende Regelwerk vergibt diese Berechtigung nicht.")
    return _("Nötig ist eine dieser Rollen, am Workload zugewiesen: %(roles)s.") % {"roles": names}
