"""Recording evidence once at a platform or the organisation, from where workloads take it over (spec 3.7.5)."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final
from uuid import UUID

from django.utils import timezone, translation
from django.utils.translation import gettext as _

from qms.audit.events import AuditKind
from qms.audit.services import audited, record, witnessed
from qms.core import clock
from qms.core.errors import CriterionNotMet
from qms.core.values import Assurance, Axes, Origin, Provenance
from qms.evidence import selectors, services
from qms.evidence.choices import TYPE_LABELS, EvidenceType
from qms.evidence.holder_facts import Entry, Offer
from qms.evidence.models import EvidenceItem
from qms.evidence.services import Submission
from qms.roles import guards
from qms.roles.models import User
from qms.roles.permissions import Permission
from qms.roles.roles import Role
from qms.signing import glyphs
from qms.signing.errors import GlyphMissing
from qms.workloads.models import Organisation, PlatformProfile

PERMISSIONS: Final[dict[EvidenceType, Permission]] = {
    EvidenceType.LEVELS: Permission.ASSESS_THREE_LEVELS,
    EvidenceType.OFFER: Permission.EDIT_TCO_SHEET,
    EvidenceType.ENVIRONMENT: Permission.UPLOAD_EVIDENCE,
    EvidenceType.CAPABILITY: Permission.UPLOAD_EVIDENCE,
}
HELD_AT: Final[dict[EvidenceType, type[PlatformProfile | Organisation]]] = {
    EvidenceType.LEVELS: PlatformProfile,
    EvidenceType.OFFER: PlatformProfile,
    EvidenceType.ENVIRONMENT: PlatformProfile,
    EvidenceType.CAPABILITY: Organisation,
}
CREATES: Final = frozenset("C")
MAX_FILE_BYTES: Final = 8 * 2**20

_STATED: Final = Axes(Provenance.ESTIMATED, Assurance.SUBMITTED, Origin.OWN)
_OFFERED: Final = Axes(Provenance.VENDOR_STATED, Assurance.SUBMITTED, Origin.THIRD_PARTY)


@dataclass(frozen=True, slots=True)
class Recording:
    """What is recorded, until when it holds (the last day), and the file it was taken from, if there is one."""

    entry: Entry
    valid_until: date
    raw: bytes = b""
    raw_name: str = ""


@witnessed
def check_may_record(*, actor: User, kind: EvidenceType) -> Role:
    """Raise what keeps the person from recording this type anywhere, before any content is looked at."""
    return _require(actor, kind)


@audited
def record_at_holder(
    *, actor: User, holder_id: UUID, recording: Recording, longest: timedelta
) -> EvidenceItem:
    """Hand in what is recorded once at a platform or the organisation; it counts when somebody else accepted it.

    longest: how far ahead `valid_until` may lie (POL-60). Raises NotVisible, PermissionMissing, CriterionNotMet.
    """
    role = _require(actor, recording.entry.type)
    holder = selectors.holder(HELD_AT[recording.entry.type], holder_id, actor=actor, lock=True)
    today = timezone.localdate(clock.now())
    _check(recording, today, longest)
    as_actor = actor.audit_actor(role)
    platform = holder if isinstance(holder, PlatformProfile) else None
    with translation.override("de"):
        title = str(TYPE_LABELS[recording.entry.type])
    item = services.submit(
        actor=as_actor,
        submission=Submission(
            platform=platform,
            organisation=holder if isinstance(holder, Organisation) else None,
            valid_until=recording.valid_until,
            type=recording.entry.type,
            title=title,
            facts=_facts(recording.entry, platform),
            axes=_OFFERED if recording.raw else _STATED,
            producer=actor.person,
            measured_at=clock.now(),
            raw=recording.raw,
            raw_name=recording.raw_name,
        ),
    )
    record(
        AuditKind.ORGANISATION_FACT_RECORDED,
        actor=as_actor,
        subject=holder,
        facts={"type": item.type, "valid_until": recording.valid_until.isoformat()},
        refs=item.hashes(),
    )
    return item


def _facts(entry: Entry, platform: PlatformProfile | None) -> dict[str, Any]:
    if platform is None:
        return entry.facts("")
    return entry.facts(platform.key) | {"platform_version": platform.version}


def last_day(entry: Entry, today: date, longest: timedelta) -> date:
    """Return the last day an entry may hold: POL-60, of a contract the end of its term (spec 3.7.5)."""
    if isinstance(entry, Offer):
        return months_after(entry.offered_at, entry.term_months)
    return today + longest


def months_after(day: date, months: int) -> date:
    """Return the day that many months later, the last of its month where that is shorter; never after the year 9999."""
    years, month = divmod(day.month - 1 + months, 12)
    if day.year + years > date.max.year:
        return date.max
    last = monthrange(day.year + years, month + 1)[1]
    return date(day.year + years, month + 1, min(day.day, last))


def _require(actor: User, kind: EvidenceType) -> Role:
    selectors.check_sees_holders(actor)
    return guards.require(actor=actor, permission=PERMISSIONS[kind], letters=CREATES)


def _check(recording: Recording, today: date, longest: timedelta) -> None:
    """Raise CriterionNotMet for the first thing that is missing, impossible, too old or promised too long."""
    entry = recording.entry
    for criterion, sentence in entry.problems():
        raise CriterionNotMet(sentence, id=criterion)
    if isinstance(entry, Offer) and entry.offered_at > today:
        raise CriterionNotMet(_("Ein Angebot kann nicht in der Zukunft liegen (G6-9)."), id="G6-9")
    if len(recording.raw) > MAX_FILE_BYTES:
        raise CriterionNotMet(_("Die Datei ist größer als 8\u00a0MiB; bitte kürzen Sie sie."), id="P14")
    if recording.valid_until < today:
        raise CriterionNotMet(_("„Gültig bis“ liegt in der Vergangenheit (POL-60)."), id="POL-60")
    latest = last_day(entry, today, longest)
    if recording.valid_until > latest:
        raise CriterionNotMet(
            _("„Gültig bis“ darf höchstens am %(day)s liegen (POL-60).") % {"day": f"{latest:%d.%m.%Y}"},
            id="POL-60",
        )
    try:
        glyphs.check_all([entry.facts("")])
    except GlyphMissing as error:
        raise CriterionNotMet(
            str(error), id="G7-9", next_step=_("Ersetzen oder entfernen Sie das Zeichen.")
        ) from error
