"""Changing the claims register (P40): a statement counts as confirmed only with a measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from qms.audit.actors import Actor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock
from qms.core.errors import CriterionNotMet, NotVisible, SodViolation, WrongState
from qms.core.values import Provenance
from qms.evidence import claims, selectors
from qms.evidence.choices import EvidenceStatus
from qms.evidence.claim_choices import ClaimKind, ClaimStatus
from qms.evidence.claims import Entry
from qms.evidence.models import Claim, EvidenceItem
from qms.roles import guards
from qms.roles.models import Person, User
from qms.roles.permissions import Permission
from qms.workloads.models import Organisation

MEASURED: Final = frozenset({ClaimStatus.CONFIRMED, ClaimStatus.REFUTED})
"""What only a measurement can show; the one who decides (letter D) says so."""
BYPASS_REASON: Final = "Teilweise – Off-Wafer-Verkehr nachgewiesen (S015)."


@dataclass(frozen=True, kw_only=True)
class ClaimChange:
    """What becomes of a claim. version: the one the person saw; next_review: None for the longest span of POL-55."""

    status: ClaimStatus
    reason: str
    version: int
    evidence_id: UUID | None = None
    next_review: date | None = None


@audited
def update_claim(*, actor: User, key: str, change: ClaimChange, longest_months: int) -> Claim:
    """Change what is known about a claim (P40); longest_months is POL-55.

    Raises NotVisible, PermissionMissing, SodViolation (SoD-03), WrongState, or CriterionNotMet.
    """
    Organisation.objects.select_for_update().first()  # two changes take turns: the first has no row of its own to lock
    found = claims.entry(key)
    if found is None:
        raise NotVisible(_("Diese Aussage steht nicht im Behauptungsregister."))
    item = selectors.get(change.evidence_id, actor=actor) if change.evidence_id else None
    if change.status in MEASURED and item is not None and item.producer_id == actor.person_id:
        raise SodViolation(
            _("Wer einen Nachweis erstellt hat, bestätigt mit ihm keine Behauptung (SoD-03)."), id="SoD-03"
        )
    letters = frozenset("D") if change.status in MEASURED else frozenset("CUD")
    role = guards.require(actor=actor, permission=Permission.MAINTAIN_CLAIMS, letters=letters)
    _check_version(found, change)
    _check(found, change, item)
    next_review = _next_review(change, longest_months)
    return _store(
        found, change, item, reviewer=actor.person, next_review=next_review, as_actor=actor.audit_actor(role)
    )


def note_target_report(item: EvidenceItem, facts: Mapping[str, Any], *, as_actor: Actor) -> None:
    """Note inside the caller's command that a run moved data across the edge of the wafer (S015, SZ-01.11).

    A status a person or a measurement gave stays as it is.
    """
    found = claims.entry(claims.BYPASS)
    waiting = {ClaimStatus.OPEN, ClaimStatus.REPRODUCED}
    if found is None or found.status not in waiting or not facts.get("off_wafer_bytes"):
        return
    change = ClaimChange(status=ClaimStatus.PARTLY, reason=BYPASS_REASON, version=found.version)
    _store(found, change, item, reviewer=None, next_review=None, as_actor=as_actor)


def _check_version(found: Entry, change: ClaimChange) -> None:
    if found.version != change.version:
        raise WrongState(
            _("Die Aussage wurde geändert, seit Sie die Seite geöffnet haben."),
            id="P40",
            next_step=_("Bitte laden Sie die Seite neu und prüfen Sie die Änderung."),
        )


def _check(found: Entry, change: ClaimChange, item: EvidenceItem | None) -> None:
    """Refuse what the register cannot say, with one sentence."""
    key = found.statement.key
    if found.statement.kind is ClaimKind.OPINION:
        raise CriterionNotMet(
            _(
                "Eine Meinung bleibt eine Meinung: Sie lässt sich weder messen noch mit einem Nachweis oder Kriterium "
                "verknüpfen."
            ),
            id=key,
        )
    if change.status is ClaimStatus.OPINION:
        raise CriterionNotMet(_("Diese Aussage ist messbar oder vergleichbar und keine Meinung."), id=key)
    if not change.reason.strip():
        raise CriterionNotMet(_("Bitte begründen Sie den Status in einem Satz."), id=key)
    if change.status in MEASURED and not _is_reviewed_measurement(item):
        raise CriterionNotMet(
            _("„%(status)s“ verlangt einen geprüften Nachweis mit der Herkunft GEMESSEN.")
            % {"status": change.status.label},
            id=key,
            next_step=_("Bitte verknüpfen Sie einen solchen Nachweis, oder wählen Sie einen anderen Status."),
        )
    if change.status is ClaimStatus.REPRODUCED and not _is_reproduced(found, item):
        raise CriterionNotMet(
            _(
                "Der Emulator stellt diese Aussage nicht nach. Bitte wählen Sie einen anderen Status, oder verknüpfen "
                "Sie einen emulierten Nachweis."
            ),
            id=key,
        )


def _is_reviewed_measurement(item: EvidenceItem | None) -> bool:
    return (
        item is not None and item.status == EvidenceStatus.REVIEWED and item.provenance == Provenance.MEASURED
    )


def _is_reproduced(found: Entry, item: EvidenceItem | None) -> bool:
    says_so = found.emulator is not None and found.emulator.status is ClaimStatus.REPRODUCED
    return says_so or (item is not None and item.provenance == Provenance.EMULATED)


def _next_review(change: ClaimChange, longest_months: int) -> date:
    today = timezone.localdate(clock.now())
    latest = claims.add_months(today, longest_months)
    chosen = change.next_review or latest
    if not today < chosen <= latest:
        raise CriterionNotMet(
            _("Die nächste Prüfung muss nach heute und spätestens in %(months)d Monaten liegen (POL-55).")
            % {"months": longest_months},
            id="POL-55",
        )
    return chosen


def _store(
    found: Entry,
    change: ClaimChange,
    item: EvidenceItem | None,
    *,
    reviewer: Person | None,
    next_review: date | None,
    as_actor: Actor,
) -> Claim:
    row, _made = Claim.objects.update_or_create(
        key=found.statement.key,
        defaults={
            "status": change.status.value,
            "reason": change.reason.strip(),
            "evidence": item,
            "reviewer": reviewer,
            "changed_at": clock.now(),
            "next_review": next_review,
            "version": found.version + 1,
        },
    )
    record(
        AuditKind.CLAIM_CHANGED,
        actor=as_actor,
        subject=row,
        before={"status": found.status.value},
        after={"status": row.status},
        facts={"claim": row.key, "version": row.version},
        refs=item.hashes() if item else None,
        private={"reason": row.reason},
    )
    return row
