"""Describing the organisation's own platforms (P39); shipped and emulated profiles belong to the product."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from uuid import UUID

from django.utils.text import slugify
from django.utils.translation import gettext as _

from qms.audit.events import AuditKind
from qms.audit.services import audited, record, witnessed
from qms.core.errors import CriterionNotMet, NotVisible, WrongState
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.workloads.choices import PlatformKind
from qms.workloads.models import PlatformProfile

KINDS = tuple(kind for kind in PlatformKind if kind is not PlatformKind.DEVELOPMENT_MACHINE)


@dataclass(frozen=True, slots=True)
class PlatformData:
    """What a person says of a platform; a platform of which only the hardware is known stays incomplete (S037)."""

    name: str
    kind: PlatformKind
    is_existing: bool
    provider: str
    hardware_gen: str
    system_release: str
    framework_release: str
    operating_model: str


@witnessed
def check_may_describe(*, actor: User) -> Role:
    """Raise what keeps the person from describing platforms, before any content is looked at."""
    return _require(actor)


@audited
def register_platform(*, actor: User, data: PlatformData) -> PlatformProfile:
    """Add a platform of the organisation. Raises PermissionMissing (P39), CriterionNotMet (G4-7)."""
    role = _require(actor)
    _check(data, None)
    profile = PlatformProfile.objects.create(key=_free_key(data.name), **asdict(data))
    record(
        AuditKind.PLATFORM_PROFILE_CREATED,
        actor=actor.audit_actor(role),
        subject=profile,
        facts={"key": profile.key},
    )
    return profile


@audited
def update_platform(*, actor: User, platform_id: UUID, data: PlatformData) -> PlatformProfile:
    """Change a platform of the organisation into its next version; what was recorded for it has to be renewed.

    Raises PermissionMissing (P39), NotVisible, WrongState for a shipped profile, CriterionNotMet (G4-7).
    """
    role = _require(actor)
    profile = PlatformProfile.objects.select_for_update().filter(pk=platform_id).first()
    if profile is None:
        raise NotVisible(_("Diese Plattform gibt es nicht."))
    check_own(profile)
    _check(data, profile)
    before = {name: getattr(profile, name) for name in asdict(data)}
    if before == asdict(data):
        raise WrongState(
            _("Es wurde nichts geändert."), id="P39", next_step=_("Ändern Sie zuerst eine Angabe.")
        )
    for name, value in asdict(data).items():
        setattr(profile, name, value)
    profile.version += 1
    profile.save()
    record(
        AuditKind.PLATFORM_PROFILE_CHANGED,
        actor=actor.audit_actor(role),
        subject=profile,
        before={name: value for name, value in before.items() if value != getattr(profile, name)},
        after={
            name: getattr(profile, name) for name, value in before.items() if value != getattr(profile, name)
        },
        facts={"version": profile.version},
    )
    return profile


def check_own(profile: PlatformProfile) -> None:
    """Raise WrongState for an emulated platform and for the development machine."""
    if profile.is_emulated or profile.kind == PlatformKind.DEVELOPMENT_MACHINE:
        raise WrongState(
            _("Diese Plattform gehört zum Produkt und wird nicht von Hand geändert (P39)."),
            id="P39",
            next_step=_("Erfassen Sie eine eigene Plattform."),
        )


def _require(actor: User) -> Role:
    return guards.require(actor=actor, permission=Permission.CONFIGURE_SYSTEM)


def _check(data: PlatformData, profile: PlatformProfile | None) -> None:
    if not data.name or not data.hardware_gen:
        raise CriterionNotMet(_("Bitte nennen Sie Name und Hardware der Plattform (G4-7)."), id="G4-7")
    if data.kind not in KINDS:
        raise CriterionNotMet(_("Ein Entwicklungsrechner wird nicht von Hand erfasst (EM-12)."), id="EM-12")
    same = PlatformProfile.objects.filter(name__iexact=data.name)
    if (same.exclude(pk=profile.pk) if profile else same).exists():
        raise CriterionNotMet(_("Eine Plattform dieses Namens gibt es schon (G4-7)."), id="G4-7")


def _free_key(name: str) -> str:
    """Return a key made of the name that no platform has yet."""
    stem = slugify(name).upper()[:50].strip("-") or "PLATTFORM"
    taken = set(PlatformProfile.objects.filter(key__startswith=stem).values_list("key", flat=True))
    names = (stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 2)))
    return next(name for name in names if name not in taken)
