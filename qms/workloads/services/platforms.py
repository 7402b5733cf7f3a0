"""Describing the organisation's own platforms (P39); shipped and emulated profiles belong to the product."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.utils.text import slugify
from django.utils.translation import gettext as _

from qms.audit.events import AuditKind
from qms.audit.services import audited, record, witnessed
from qms.core import clock
from qms.core.errors import CriterionNotMet, NotVisible, WrongState
from qms.core.values import Provenance, decimal_text
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.workloads.choices import PlatformKind
from qms.workloads.models import PlatformProfile

KINDS = tuple(kind for kind in PlatformKind if kind is not PlatformKind.DEVELOPMENT_MACHINE)
LARGEST_FIGURE: Final = Decimal(10) ** 9


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of a platform: its parameter, the unit stored there, and what one unit of the entry is in it."""

    parameter: str
    unit: str
    scale: Decimal


FIGURES: Final[dict[str, Figure]] = {
    "devices": Figure("devices", "1", Decimal(1)),
    "memory_gb": Figure("memory_bytes", "B", Decimal(10) ** 9),
    "peak_tflops": Figure("peak_flops_16bit", "FLOP/s", Decimal(10) ** 12),
}
"""The numbers a person enters: devices, memory of one in GB (1e9 bytes), dense 16-bit peak of one in TFLOP/s."""
_TEXTS: Final = (
    "name",
    "kind",
    "is_existing",
    "provider",
    "hardware_gen",
    "system_release",
    "framework_release",
    "operating_model",
)


@dataclass(frozen=True, slots=True)
class PlatformData:
    """What a person says of a platform; a platform of which only the hardware is known stays incomplete (S037).

    Numbers that are not known are None: nothing is computed with them then (EM-11, G2-1, G3-9).
    """

    name: str
    kind: PlatformKind
    is_existing: bool
    provider: str
    hardware_gen: str
    system_release: str
    framework_release: str
    operating_model: str
    devices: Decimal | None = None
    memory_gb: Decimal | None = None
    peak_tflops: Decimal | None = None
    figures_source: str = ""


@witnessed
def check_may_describe(*, actor: User) -> Role:
    """Raise what keeps the person from describing platforms, before any content is looked at."""
    return _require(actor)


@audited
def register_platform(*, actor: User, data: PlatformData) -> PlatformProfile:
    """Add a platform of the organisation. Raises PermissionMissing (P39), CriterionNotMet (G4-7)."""
    role = _require(actor)
    _check(data, None)
    profile = PlatformProfile.objects.create(key=_free_key(data.name), **_fields(data, []))
    record(
        AuditKind.PLATFORM_PROFILE_CREATED,
        actor=actor.audit_actor(role),
        subject=profile,
        facts={"key": profile.key},
    )
    return profile


@audited
def update_platform(
    *, actor: User, platform_id: UUID, data: PlatformData, expected_version: int | None = None
) -> PlatformProfile:
    """Change a platform of the organisation into its next version; what was recorded for it has to be renewed.

    expected_version: the one the person saw, None where nobody saw one. Raises PermissionMissing (P39), NotVisible,
    WrongState for a shipped profile or a form opened on another version, CriterionNotMet (G4-7).
    """
    role = _require(actor)
    profile = PlatformProfile.objects.select_for_update().filter(pk=platform_id).first()
    if profile is None:
        raise NotVisible(_("Diese Plattform gibt es nicht."))
    check_own(profile)
    if expected_version not in {None, profile.version}:
        raise WrongState(
            _("Die Angaben zur Plattform wurden geändert, seit Sie die Seite geöffnet haben."),
            id="P39",
            next_step=_("Bitte laden Sie die Seite neu und prüfen Sie die Änderung."),
        )
    _check(data, profile)
    after = _fields(data, profile.parameters)
    before = {name: getattr(profile, name) for name in after}
    if before == after:
        raise WrongState(
            _("Es wurde nichts geändert."), id="P39", next_step=_("Ändern Sie zuerst eine Angabe.")
        )
    for name, value in after.items():
        setattr(profile, name, value)
    profile.version += 1
    profile.save()
    record(
        AuditKind.PLATFORM_PROFILE_CHANGED,
        actor=actor.audit_actor(role),
        subject=profile,
        before={name: value for name, value in before.items() if value != after[name]},
        after={name: value for name, value in after.items() if value != before[name]},
        facts={"version": profile.version},
    )
    return profile


def entered(profile: PlatformProfile) -> dict[str, Any]:
    """Return the numbers of a platform as a person enters them, with the source of the first one."""
    rows = {row["name"]: row for row in profile.parameters}
    found = {name: rows[item.parameter] for name, item in FIGURES.items() if item.parameter in rows}
    sources = [row["source"] for row in found.values()]
    values = {name: Decimal(row["value"]) / FIGURES[name].scale for name, row in found.items()}
    return {**values, "figures_source": sources[0] if sources else ""}


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


def _fields(data: PlatformData, parameters: list[dict[str, str]]) -> dict[str, Any]:
    """Return the fields of the profile: what is not entered here stays, an unchanged number keeps its source and date."""
    given = asdict(data)
    own = {item.parameter for item in FIGURES.values()}
    old = {row["name"]: row for row in parameters}
    kept = [row for row in parameters if row["name"] not in own]
    return {name: given[name] for name in _TEXTS} | {
        "parameters": kept
        + [
            _row(item, given[name], data.figures_source, old.get(item.parameter))
            for name, item in FIGURES.items()
            if given[name] is not None
        ]
    }


def _row(item: Figure, entry: Decimal, source: str, old: dict[str, str] | None) -> dict[str, str]:
    value = decimal_text(entry * item.scale)
    if old is not None and (old["value"], old["source"]) == (value, source):
        return old
    return {
        "name": item.parameter,
        "value": value,
        "unit": item.unit,
        "provenance": Provenance.VENDOR_STATED.value,
        "source": source,
        "date": clock.now().date().isoformat(),
    }


def _check(data: PlatformData, profile: PlatformProfile | None) -> None:
    if not data.name or not data.hardware_gen:
        raise CriterionNotMet(_("Bitte nennen Sie Name und Hardware der Plattform (G4-7)."), id="G4-7")
    if data.kind not in KINDS:
        raise CriterionNotMet(_("Ein Entwicklungsrechner wird nicht von Hand erfasst (EM-12)."), id="EM-12")
    _check_figures(data)
    same = PlatformProfile.objects.filter(name__iexact=data.name)
    if (same.exclude(pk=profile.pk) if profile else same).exists():
        raise CriterionNotMet(_("Eine Plattform dieses Namens gibt es schon (G4-7)."), id="G4-7")


def _check_figures(data: PlatformData) -> None:
    given = [value for value in (data.devices, data.memory_gb, data.peak_tflops) if value is not None]
    if any(not 0 < value <= LARGEST_FIGURE for value in given):
        raise CriterionNotMet(
            _("Bitte geben Sie Zahlen über null an, oder lassen Sie das Feld leer (G3-9)."), id="G3-9"
        )
    if data.devices is not None and data.devices != data.devices.to_integral_value():
        raise CriterionNotMet(_("Bitte geben Sie die Geräte als ganze Zahl an (G3-9)."), id="G3-9")
    if given and not data.figures_source:
        raise CriterionNotMet(
            _("Bitte nennen Sie die Quelle der Zahlen, zum Beispiel das Datenblatt (EM-03)."), id="EM-03"
        )


def _free_key(name: str) -> str:
    """Return a key made of the name that no platform has yet."""
    stem = slugify(name).upper()[:50].strip("-") or "PLATTFORM"
    taken = set(PlatformProfile.objects.filter(key__startswith=stem).values_list("key", flat=True))
    names = (stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 2)))
    return next(name for name in names if name not in taken)
