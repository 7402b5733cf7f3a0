"""What the pages of platforms and of the organisation show: what is recorded, until when, and who may act. No rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.core import clock, formats, store
from qms.core.errors import WrongState
from qms.core.values import Provenance
from qms.evidence import holders, selectors
from qms.evidence.choices import EvidenceStatus, EvidenceType
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.web import evidence_holders, tables
from qms.web.approval_gates import axes_of
from qms.web.platform_forms import CapabilityForm, EnvironmentForm, HolderForm, LevelsForm
from qms.web.platform_offer_form import OfferForm
from qms.workloads.choices import PlatformKind
from qms.workloads.models import Organisation, PlatformProfile
from qms.workloads.services import platforms


@dataclass(frozen=True, slots=True)
class Kind:
    """One thing that is recorded once: its page, its form, its words."""

    code: EvidenceType
    address: str
    form: type[HolderForm]
    title: str | Promise
    lead: str | Promise


KINDS: Final = {
    kind.code: kind
    for kind in (
        Kind(
            EvidenceType.LEVELS,
            "platform_levels",
            LevelsForm,
            lazy("Dreiebenenbewertung"),
            lazy(
                "Hardware, Systemsoftware und Liefermodell werden getrennt bewertet, jede Ebene von einer anderen "
                "Person. Es entscheidet die schwächste Note; ein Mittelwert wird nicht gebildet."
            ),
        ),
        Kind(
            EvidenceType.OFFER,
            "platform_offer",
            OfferForm,
            lazy("Angebot, Vertrag und Ausstieg"),
            lazy("Wie Rechenzeit bezogen wird, wie lange der Vertrag bindet und was der Ausstieg kostet."),
        ),
        Kind(
            EvidenceType.ENVIRONMENT,
            "platform_environment",
            EnvironmentForm,
            lazy("Umfeld"),
            lazy("Fünf Punkte, die so viel zählen können wie die Rechenleistung."),
        ),
        Kind(
            EvidenceType.CAPABILITY,
            "organisation_capability",
            CapabilityForm,
            lazy("Fähigkeitsmatrix"),
            lazy("Wer die vier Aufgaben des Betriebs verantwortet, und woran man das sieht."),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class SectionView:
    """One section of a page.

    counts: what workloads take over now; newest: a later version that waits for its review or was rejected; ended:
    the reviewed version where nothing counts any more; may_record: whether the person may record a new one.
    """

    kind: Kind
    url: str
    counts: dict[str, Any] | None
    newest: dict[str, Any] | None
    ended: EvidenceItem | None
    may_record: bool


_SCALED: Final = frozenset({"B", "B/s", "FLOP/s", "Hz"})
# Decimal steps, as vendors state sizes and clocks ("40 GB", "850 MHz").
_STEPS: Final = tuple((Decimal(10) ** (3 * power), "kMGTP"[power - 1]) for power in range(5, 0, -1))
_PARAMETERS: Final = {
    "cores": lazy("Kerne"),
    "usable_pes": lazy("nutzbare Kerne"),
    "devices": lazy("Geräte"),
    "memory_bytes": lazy("Speicher je Gerät"),
    "peak_flops_16bit": lazy("Rechenleistung je Gerät, 16 Bit, dicht"),
    "sram_bytes": lazy("SRAM"),
    "sram_bandwidth_bytes_per_s": lazy("Bandbreite des SRAM"),
    "clock_hz": lazy("Takt"),
    "topology": lazy("Topologie"),
}
_UNDER_REVIEW: Final = (EvidenceStatus.NEW, EvidenceStatus.REJECTED)


def today() -> date:
    """Return the day it is here."""
    return timezone.localdate(clock.now())


def sections(holder: PlatformProfile | Organisation, actor: User) -> list[SectionView]:
    """Return the sections of a platform or of the organisation."""
    items = selectors.recorded(holder)
    rights = guards.prefetch(actor)
    wanted = [kind for kind in KINDS.values() if isinstance(holder, holders.HELD_AT[kind.code])]
    found = []
    for kind in wanted:
        own = [item for item in items if item.type == kind.code]
        reviewed = next((item for item in reversed(own) if item.status == EvidenceStatus.REVIEWED), None)
        holds = reviewed is not None and selectors.still_holds(reviewed, holder, today())
        newest = own[-1] if own and own[-1].status in _UNDER_REVIEW else None
        may = rights.acting_role(holders.PERMISSIONS[kind.code], letters=holders.CREATES) is not None
        found.append(
            SectionView(
                kind,
                address(kind, holder),
                counts=_shown(reviewed) if holds else None,
                newest=_shown(newest),
                ended=reviewed if reviewed and not holds else None,
                may_record=may,
            )
        )
    return found


def address(kind: Kind, holder: PlatformProfile | Organisation) -> str:
    """Return the address of the form."""
    return reverse(kind.address, args=[holder.pk] if isinstance(holder, PlatformProfile) else [])


def last_facts(holder: PlatformProfile | Organisation, kind: EvidenceType) -> dict[str, Any]:
    """Return what was recorded last, {} before or where its file is damaged: the person then starts afresh."""
    own = [item for item in selectors.recorded(holder) if item.type == kind]
    try:
        return own[-1].facts() if own else {}
    except store.StoredFileError:
        return {}


def platform_rows() -> dict[str, Any]:
    """Return the table of all platforms."""
    found = PlatformProfile.objects.prefetch_related("evidence")
    columns = [(_("Plattform"), False), (_("Art"), False), (_("Stand"), False), (_("Erfasst"), False)]
    rows = [
        [
            {"text": platform.name, "url": reverse("platform", args=[platform.pk])},
            {"text": str(PlatformKind(platform.kind).label)},
            {"text": state(platform)},
            {"text": _recorded_words(platform)},
        ]
        for platform in found
    ]
    return tables.table(_("Plattformen"), columns, rows)


def state(platform: PlatformProfile) -> str:
    """Return whether a platform can be chosen, and then whether it is in use, emulated, or neither (S037)."""
    if not platform.is_complete:
        return _("unvollständig")
    if platform.is_existing:
        return _("heute in Betrieb")
    return _("emuliert") if platform.is_emulated else _("nicht in Betrieb")


def may_edit(platform: PlatformProfile, actor: User) -> bool:
    """Return whether the person may describe the platform, and it is not one that belongs to the product."""
    try:
        platforms.check_own(platform)
    except WrongState:
        return False
    return guards.may(actor=actor, permission=Permission.CONFIGURE_SYSTEM)


def platform_facts(platform: PlatformProfile) -> list[dict[str, str]]:
    """Return the platform tuple in words (G4-7)."""
    values = [
        (_("Art"), str(PlatformKind(platform.kind).label)),
        (_("Stand"), state(platform)),
        (_("Anbieter"), platform.provider),
        (_("Hardware"), platform.hardware_gen),
        (_("Systemsoftware"), platform.system_release),
        (_("Framework"), platform.framework_release),
        (_("Betriebsmodell"), platform.operating_model),
        (_("Kennung und Fassung"), f"{platform.key}, {platform.version}"),
    ]
    return [{"label": label, "value": value} for label, value in values if value]


def parameters(platform: PlatformProfile) -> dict[str, Any] | None:
    """Return the parameters of a platform with source and date; None where it has none."""
    if not platform.parameters:
        return None
    columns = [(_("Parameter"), False), (_("Wert"), True), (_("Herkunft"), False), (_("Quelle"), False)]
    rows = [
        [
            {"text": str(_PARAMETERS.get(row["name"], row["name"]))},
            {"text": _parameter_value(row["value"], row["unit"])},
            {"text": str(formats.AXIS_WORDS[Provenance(row["provenance"])])},
            {"text": row["source"], "small": row["date"]},
        ]
        for row in platform.parameters
    ]
    return tables.table(_("Parameter"), columns, rows)


def _parameter_value(value: str, unit: str) -> str:
    try:
        number = Decimal(value)
    except InvalidOperation:
        return value
    if unit in {"", "1"}:
        return formats.exact(number)
    for step, prefix in _STEPS if unit in _SCALED else ():
        if abs(number) >= step:
            return formats.exact_quantity(number / step, f"{prefix}{unit}")
    return formats.exact_quantity(number, unit)


def latest_day() -> date:
    """Return the last day POL-60 allows from today."""
    return today() + gates.policy().span("POL-60", "max")


def _shown(item: EvidenceItem | None) -> dict[str, Any] | None:
    if item is None:
        return None
    found: dict[str, Any] = {"item": item, "axes": axes_of(item), "table": None, "sentence": ""}
    try:
        facts = item.facts()
    except store.StoredFileError:
        return found | {"damaged": True}
    sentence = evidence_holders.lowest_level(facts) if item.type == EvidenceType.LEVELS else ""
    return found | {"table": evidence_holders.table_of(item.type, facts), "sentence": sentence}


def _recorded_words(platform: PlatformProfile) -> str:
    day, items = today(), [item for item in platform.evidence.all() if item.replaced_by_id is None]
    words = [
        _("%(title)s bis %(day)s") % {"title": item.title, "day": formats.day(item.valid_until)}
        for item in items
        if item.valid_until and selectors.still_holds(item, platform, day)
    ]
    waiting = sum(item.status == EvidenceStatus.NEW for item in items)
    if waiting:
        words.append(_("wartet auf Prüfung: %(count)s") % {"count": waiting})
    return "; ".join(words) or _("noch nichts")
