"""Registering a workload and taking responsibility for it (P01-P03)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.contrib.auth.models import Group
from django.utils.translation import gettext as _

from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock
from qms.core.errors import SodViolation, WrongState
from qms.roles import guards
from qms.roles.models import Person, User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.workloads import providers, selectors
from qms.workloads.models import Workload
from qms.workloads.services import content

# What each role group may do with every workload; owners, deputies and leads get personal grants instead.
GROUP_CODENAMES: dict[Role, tuple[guards.Codename, ...]] = {
    Role.REVIEWER: ("view_workload", "review_workload"),
    Role.QUALITY: ("view_workload", "review_workload"),
    Role.SECURITY: ("view_workload", "review_workload"),
    Role.DATA_PROTECTION: ("view_workload", "review_workload"),
    Role.CONTROLLING: ("view_workload", "review_workload"),
    Role.OPERATIONS: ("view_workload", "run_workload", "review_workload"),
    Role.APPROVER: ("view_workload", "decide_workload"),
    Role.AUDITOR: ("view_workload",),
}


NO_FILE: Final = dict.fromkeys(("model_file_sha256", "model_file_name", "model_file_level"), "")


@dataclass(frozen=True)
class WorkloadData:
    """The eight fields of the first screen; `deputy` is a person or None."""

    title: str
    purpose: str
    business_process: str
    criticality: str
    mode: str
    model_text: str
    deputy: Person | None
    ai_act_risk_class: str
    ai_act_role: str = "BETREIBER"

    def values(self, *, keep_file: bool = False) -> dict[str, Any]:
        """Return the model fields, with digest and facts read from the model text, which replaces a file.

        keep_file: the model is a file; without a text it stays as it is.
        """
        values = dict(self.__dict__)
        if keep_file and not self.model_text:
            return values
        facts = providers.read_model(self.model_text) if self.model_text else providers.ModelFacts("", {})
        return values | {"model_digest": facts.digest, "model_facts": facts.facts} | NO_FILE


@audited
def register_workload(*, actor: User, data: WorkloadData, accept_owner: bool = False) -> Workload:
    """Create a workload; with `accept_owner` the creator takes the owner role in the same act (P01, P02)."""
    role = guards.require(actor=actor, permission=Permission.EDIT_WORKLOAD)
    as_actor = actor.audit_actor(role)
    if accept_owner:
        _check_deputy(data.deputy, actor.person)
    workload = Workload.objects.create(
        **data.values(), created_by=actor.person, created_at=clock.now(), status="ENTWURF"
    )
    content.grant_person(actor.person, workload)
    for group_role, codenames in GROUP_CODENAMES.items():
        group = Group.objects.get_or_create(name=group_role.value)[0]
        for codename in codenames:
            guards.grant(permission_codename=codename, holder=group, workload=workload)
    if data.deputy:
        content.grant_person(data.deputy, workload)
    record(AuditKind.WORKLOAD_CREATED, actor=as_actor, subject=workload, facts={"mode": workload.mode})
    if accept_owner:
        _take_ownership(workload, actor)
    content.store(workload, actor=actor, as_actor=as_actor)
    return workload


@audited
def update_workload(*, actor: User, workload_id: UUID, data: WorkloadData, expected_sha256: str) -> Workload:
    """Change what the first screen asks; refuses a form opened on other content (P01)."""
    workload = selectors.lock(workload_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.EDIT_WORKLOAD, workload=workload)
    content.check_unchanged(workload, expected_sha256, or_confirmed=True)
    if workload.criteria_frozen_at and data.model_text != workload.model_text:
        content.check_not_frozen(workload)
    _check_deputy(data.deputy, workload.owner)
    for name, value in data.values(keep_file=bool(workload.model_file_sha256)).items():
        setattr(workload, name, value)
    workload.save()
    if data.deputy:
        content.grant_person(data.deputy, workload)
    content.store_changed(workload, actor=actor, as_actor=actor.audit_actor(role))
    return workload


@audited
def name_owner(*, actor: User, workload_id: UUID, owner: Person) -> Workload:
    """Name the person who shall own the workload; the person still has to accept (P03)."""
    workload = selectors.lock(workload_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.ASSIGN_OWNER, workload=workload)
    _check_deputy(workload.deputy, owner)
    workload.owner, workload.owner_accepted_at = owner, None
    workload.save(update_fields=["owner", "owner_accepted_at"])
    content.grant_person(owner, workload)
    content.store_changed(workload, actor=actor, as_actor=actor.audit_actor(role))
    return workload


@audited
def accept_ownership(*, actor: User, workload_id: UUID) -> Workload:
    """Accept the owner role; only the named person can, or anyone entitled while nobody is named (P02)."""
    workload = selectors.lock(workload_id, actor=actor)
    role = guards.require(actor=actor, permission=Permission.ACCEPT_OWNERSHIP, workload=workload)
    if workload.owner_id not in {None, actor.person_id}:
        raise WrongState(_("Für die Owner-Rolle ist eine andere Person benannt."), id="P02")
    if workload.owner_accepted_at:
        raise WrongState(
            _("Die Owner-Rolle ist bereits angenommen."),
            id="P02",
            next_step=_("Bitte laden Sie die Seite neu."),
        )
    _check_deputy(workload.deputy, actor.person)
    _take_ownership(workload, actor)
    content.store(workload, actor=actor, as_actor=actor.audit_actor(role))
    return workload


def _take_ownership(workload: Workload, actor: User) -> None:
    workload.owner, workload.owner_accepted_at = actor.person, clock.now()
    workload.save(update_fields=["owner", "owner_accepted_at"])
    record(
        AuditKind.OWNER_ACCEPTED,
        actor=actor.audit_actor(Role.WORKLOAD_OWNER),
        subject=workload,
        facts={"owner": actor.person.pid},
    )


def _check_deputy(deputy: Person | None, owner: Person | None) -> None:
    if deputy is not None and owner is not None and deputy.pk == owner.pk:
        raise SodViolation(
            _("Owner und Stellvertretung müssen zwei verschiedene Personen sein (G0-2)."), id="SoD-15"
        )
