"""What the claims register shows of each claim. No rules."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from qms.audit import selectors as audit
from qms.core import clock, formats
from qms.evidence import selectors as evidence
from qms.evidence.choices import EvidenceStatus
from qms.evidence.claim_choices import ClaimStatus
from qms.evidence.claims import Entry
from qms.evidence.models import EvidenceItem
from qms.gates import services as gates
from qms.roles.models import User
from qms.web import approval_page

TONES: Final[dict[ClaimStatus, str]] = {
    ClaimStatus.OPEN: "open",
    ClaimStatus.REPRODUCED: "info",
    ClaimStatus.CONFIRMED: "ok",
    ClaimStatus.PARTLY: "warn",
    ClaimStatus.REFUTED: "bad",
    ClaimStatus.NOT_APPLICABLE: "neutral",
    ClaimStatus.OPINION: "neutral",
}
SHOWN_EVIDENCE: Final = 200


def longest_months() -> int:
    """Return how long the word about a claim holds (POL-55)."""
    return gates.policy().integer("POL-55", "max")


def rows(entries: list[Entry], actor: User) -> list[dict[str, Any]]:
    """Return the claims for the list and the page of one."""
    months, today = longest_months(), timezone.localdate(clock.now())
    linked = [item.stored.evidence_id for item in entries if item.stored and item.stored.evidence_id]
    visible = set(evidence.visible_to(actor).filter(pk__in=linked).values_list("pk", flat=True))
    return [_row(item, months, today, visible) for item in entries]


def history(entry: Entry) -> list[dict[str, Any]]:
    """Return the last changes, newest first: when, to which status, by whom."""
    if entry.stored is None:
        return []
    found = audit.history(entry.stored.audit_type, str(entry.stored.pk), limit=approval_page.HISTORY)
    names = approval_page.names_of(item.pid for item in found)
    return [
        {
            "at": item.ts,
            "sentence": _("Status: %(status)s") % {"status": ClaimStatus(item.data["after"]["status"]).label},
            "detail": names.get(item.pid, _("ein Lauf")),
        }
        for item in found
    ]


def summary(entries: list[Entry]) -> str:
    """Return how many claims there are in each status, as one sentence."""
    counts = Counter(item.status for item in entries)
    parts = [f"{status.label} {counts[status]}" for status in ClaimStatus if counts[status]]
    number = ngettext("%(n)d Aussage", "%(n)d Aussagen", len(entries)) % {"n": len(entries)}
    return f"{number}: {', '.join(parts)}."


def choosable(actor: User) -> QuerySet[EvidenceItem]:
    """Return the reviewed evidence the person sees, newest first."""
    found = evidence.visible_to(actor).filter(status=EvidenceStatus.REVIEWED).order_by("-uploaded_at")
    newest = list(found.values_list("pk", flat=True)[:SHOWN_EVIDENCE])  # a form cannot look into a slice
    chosen = EvidenceItem.objects.filter(pk__in=newest).order_by("-uploaded_at")
    return chosen.select_related("workload", "platform", "organisation")


def _row(item: Entry, months: int, today: date, visible: set[UUID]) -> dict[str, Any]:
    due = item.review_due(months)
    said = item.emulator
    return {
        "key": item.statement.key,
        "text": item.statement.text_de,
        "kind": item.statement.kind.label,
        "status": item.status.value,
        "label": item.status.label,
        "tone": TONES[item.status],
        "reason": item.stored.reason if item.stored else "",
        "said": said and {"label": said.status.label, "sentence": said.sentence_de, "machine": said.machine},
        "outdated": today > due,
        "facts": _facts(item, due, visible),
        "url": reverse("claim", args=[item.statement.key]),
    }


def _facts(item: Entry, due: date, visible: set[UUID]) -> list[dict[str, Any]]:
    statement, stored = item.statement, item.stored
    values = {"source": statement.source_de, "line": statement.line, "day": formats.day(statement.stated_on)}
    found: list[dict[str, Any]] = [
        {"label": _("Quelle"), "value": _("%(source)s, Zeile %(line)d, %(day)s") % values},
        {"label": _("Art"), "value": statement.kind.label},
        {"label": _("Kriterien"), "value": ", ".join(statement.criteria) or _("keines")},
        {"label": _("Nächste Prüfung"), "value": formats.day(due)},
    ]
    if stored is None:
        return found
    who = stored.reviewer.display_name if stored.reviewer else _("ein Lauf")
    changed = {"day": formats.day(stored.changed_at), "who": who, "version": stored.version}
    found.append(
        {
            "label": _("Zuletzt geändert"),
            "value": _("%(day)s durch %(who)s (Version %(version)d)") % changed,
        }
    )
    if stored.evidence is not None:
        label = _("Nachweis")
        if stored.evidence_id in visible:
            url = reverse("evidence", args=[stored.evidence_id])
            found.append({"label": label, "value": str(stored.evidence), "url": url})
        else:
            found.append({"label": label, "value": _("gehört zu einem Workload, den Sie nicht sehen")})
    return found
