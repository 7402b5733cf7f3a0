"""What an empty house needs before the first workload: the organisation and the shipped platform profiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.conf import settings

from qms.audit.actors import SYSTEM, HasActor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.workloads.models import Organisation, PlatformProfile

PLATFORMS_FILE = Path(__file__).parent.parent / "data" / "platforms.json"


@audited
def set_up_organisation(*, actor: HasActor, name: str, rule_set: str = "kompakt") -> Organisation:
    """Create or rename the organisation and add the shipped platform profiles that are missing."""
    organisation, _made = Organisation.objects.update_or_create(
        single=True, defaults={"name": name, "rule_set": rule_set}
    )
    record(
        AuditKind.ORGANISATION_CHANGED,
        actor=actor.audit_actor(),
        subject=organisation,
        after={"rule_set": rule_set},
        private={"name": name},
    )
    for row in _shipped_platforms():
        _add_platform(actor, row)
    return organisation


def complete_house() -> None:
    """Set up the organisation by its configured name, and platform profiles of a newer version; else do nothing."""
    found = Organisation.objects.first()
    name = settings.ORGANISATION_NAME or (found.name if found else settings.PUBLIC.host)
    keys = {str(row["key"]) for row in _shipped_platforms()}
    shipped = PlatformProfile.objects.filter(key__in=keys).count() == len(keys)
    if found is None:
        set_up_organisation(actor=SYSTEM, name=name)
    elif not shipped or found.name != name:
        set_up_organisation(actor=SYSTEM, name=name, rule_set=found.rule_set)


def _shipped_platforms() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(PLATFORMS_FILE.read_text(encoding="utf-8"))
    return rows


def _add_platform(actor: HasActor, row: dict[str, Any]) -> None:
    if PlatformProfile.objects.filter(key=row["key"]).exists():
        return
    profile = PlatformProfile.objects.create(**row)
    record(
        AuditKind.PLATFORM_PROFILE_CREATED,
        actor=actor.audit_actor(),
        subject=profile,
        facts={"key": profile.key},
    )
