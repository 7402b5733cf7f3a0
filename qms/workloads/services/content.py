"""What every command on a workload shares: states that lock it, and storing its new content."""

from __future__ import annotations

import re
from typing import Final

from django.utils.translation import gettext as _

from qms.audit.actors import Actor
from qms.audit.events import AuditKind
from qms.audit.services import record
from qms.core import canonical, clock
from qms.core.errors import CriterionNotMet, WrongState
from qms.roles import guards
from qms.roles.models import Person, User
from qms.workloads import providers, selectors
from qms.workloads.models import ContentVersion, Workload

OWNER_CODENAMES: tuple[guards.Codename, ...] = ("view_workload", "own_workload", "run_workload")


_CONFIRMATION: Final = re.compile(r"classification\[\w+\]\.(confirmed|protection|access_plan|retention_plan)")


def check_unchanged(workload: Workload, expected_sha256: str, *, or_confirmed: bool = False) -> None:
    """Refuse a form that was opened on other content; an empty expectation is not checked. Raises WrongState.

    or_confirmed: the confirmation of the classification does not count, for forms that the owner goes on with
    while a reviewer confirms.
    """
    if not expected_sha256 or expected_sha256 == workload.content_sha256:
        return
    if not (or_confirmed and _only_confirmed_since(workload, expected_sha256)):
        raise WrongState(
            _("Der Inhalt hat sich geändert, seit Sie die Seite geöffnet haben."),
            id="P01",
            next_step=_("Bitte laden Sie die Seite neu und prüfen Sie die Änderung."),
        )


def _only_confirmed_since(workload: Workload, sha256: str) -> bool:
    before = selectors.content_by_sha256(workload, sha256)
    if before is None:
        return False
    now = selectors.content(Workload.objects.get(pk=workload.pk))
    return all(_CONFIRMATION.fullmatch(path) for path, _old, _new in selectors.differences(before, now))


def check_not_frozen(workload: Workload) -> None:
    """Refuse to change frozen criteria (G3-7). Raises WrongState."""
    if workload.criteria_frozen_at is not None:
        raise WrongState(
            _("Kriterien eingefroren. Änderungen nur noch auf Antrag (P10)."),
            id="P10",
            next_step=_("Die Kriterien gelten seit dem Start des ersten Ziellaufs."),
        )


def store(workload: Workload, *, actor: User, as_actor: Actor, reason: str = "") -> None:
    """Store the current content as a new version, record the change, tell the hooks; nothing if unchanged."""
    current = Workload.objects.get(pk=workload.pk)
    content = selectors.content(current)
    sha256 = canonical.digest(content)
    if sha256 == workload.content_sha256:
        return
    before = selectors.content_by_sha256(workload, workload.content_sha256) or {}
    number = ContentVersion.objects.filter(workload=workload).count() + 1
    ContentVersion.objects.create(
        workload=workload,
        number=number,
        content=canonical.dumps(content).decode(),
        sha256=sha256,
        created_at=clock.now(),
        created_by=actor.person,
    )
    old_sha256, workload.content_sha256 = workload.content_sha256, sha256
    Workload.objects.filter(pk=workload.pk).update(content_sha256=sha256)
    record(
        AuditKind.WORKLOAD_CHANGED,
        actor=as_actor,
        subject=workload,
        before={"content_sha256": old_sha256},
        after={"content_sha256": sha256},
        facts={
            "version": number,
            "fields": [path for path, _old, _new in selectors.differences(before, content)][:60],
        },
        private={"reason": reason} if reason else None,
    )
    workload.refresh_from_db()
    providers.content_changed(workload, actor)


def store_changed(workload: Workload, *, actor: User, as_actor: Actor) -> None:
    """Store the content as `store` does, and refuse an act that changed nothing. Raises CriterionNotMet."""
    before = workload.content_sha256
    store(workload, actor=actor, as_actor=as_actor)
    if workload.content_sha256 == before:
        raise CriterionNotMet(
            _("Es wurde nichts geändert."), id="P01", code="AENDERUNG_VERWEIGERT", next_step=""
        )


def grant_person(person: Person, workload: Workload) -> None:
    """Give every account of the person the grants of somebody who works on the workload."""
    for account in person.accounts.filter(is_active=True, is_service=False):
        for codename in OWNER_CODENAMES:
            guards.grant(permission_codename=codename, holder=account, workload=workload)
