"""Reading the log for pages: by object, by actor, by kind, newest first, in pages by sequence number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from qms.audit.events import SENTENCES, AuditKind
from qms.audit.models import Anchor, AuditEvent, AuditLeaf, Checkpoint, Disclosure, LogHead
from qms.core import canonical


@dataclass(frozen=True, slots=True)
class Entry:
    """One event for a page.

    pid, role, delegated_for: who acted, as in the line; data: facts in clear; texts: clear text of commitments
    still there, by path; withheld: number of commitments without clear text (redacted or erased).
    """

    seq: int
    uid: UUID
    ts: datetime
    kind: AuditKind
    sentence: str
    pid: str
    role: str
    delegated_for: str | None
    obj_type: str
    obj_id: str
    data: dict[str, Any]
    refs: tuple[str, ...]
    texts: dict[str, Any] = field(default_factory=dict)
    withheld: int = 0


@dataclass(frozen=True, slots=True)
class LogStatus:
    """Where the log stands. signed: events under the newest checkpoint; pinned: under a pin outside the system."""

    size: int
    root: str
    signed: int
    pinned: int
    pinned_at: datetime | None
    pinned_where: str

    @property
    def sentences(self) -> list[str]:
        """The German sentences for the page (audit.md, section 12)."""
        found: list[str] = []
        if self.size > self.signed:
            text = _("%(count)d Ereignisse nach dem letzten Kontrollpunkt sind noch nicht signiert.")
            found.append(text % {"count": self.size - self.signed})
        if self.pinned:
            text = _(
                "Zuletzt außerhalb des Systems verankert: Ereignis %(number)d (%(where)s). Spätere Änderungen durch"
                " jemanden mit Zugriff auf den Protokollschlüssel wären nicht erkennbar."
            )
            found.append(text % {"number": self.pinned - 1, "where": self.pinned_where})
        return found


def history(
    obj_type: str, obj_id: str, *, before: int | None = None, limit: int = 50, with_texts: bool = False
) -> list[Entry]:
    """Return the events of one object, newest first; `before`: only those with a smaller seq (keyset)."""
    rows = AuditLeaf.objects.filter(event__obj_type=obj_type, event__obj_id=str(obj_id))
    return _page(rows, before, limit, with_texts)


def histories(
    objects: Sequence[tuple[str, str]],
    *,
    before: int | None = None,
    limit: int = 50,
    with_texts: bool = False,
) -> list[Entry]:
    """Return the events of several objects (a workload with its requests), newest first; keyset as in `history`."""
    rows = AuditLeaf.objects.none()
    for obj_type, obj_id in objects:
        rows |= AuditLeaf.objects.filter(event__obj_type=obj_type, event__obj_id=str(obj_id))
    return _page(rows, before, limit, with_texts)


def newest(
    *,
    kinds: Sequence[AuditKind] = (),
    pid: str = "",
    obj_ids: Sequence[str] | None = None,
    before: int | None = None,
    limit: int = 50,
    with_texts: bool = False,
) -> list[Entry]:
    """Return the newest events, of some kinds, by one person or about some objects only; keyset as in `history`."""
    rows = AuditLeaf.objects.all()
    if obj_ids is not None:
        rows = rows.filter(event__obj_id__in=obj_ids)
    if kinds:
        rows = rows.filter(event__kind__in=[kind.value for kind in kinds])
    if pid:
        rows = rows.filter(event__actor_ref=pid)
    return _page(rows, before, limit, with_texts)


def entry(seq: int, *, with_texts: bool = False) -> Entry | None:
    """Return one event by its place in the log, or None."""
    found = _page(AuditLeaf.objects.filter(seq=seq), None, 1, with_texts)
    return found[0] if found else None


def seq_of(event_uid: UUID) -> int | None:
    """Return the place of an event in the log once it is committed."""
    return AuditLeaf.objects.filter(event__uid=event_uid).values_list("seq", flat=True).first()


def sentence(event: AuditEvent) -> str:
    """Return the German sentence of an event; ValueError for an unknown kind."""
    return str(SENTENCES[AuditKind(event.kind)])


def log_status() -> LogStatus:
    """Return size, root, signed part and reach of the pins."""
    head = LogHead.objects.get(pk=1)
    signed = Checkpoint.objects.order_by("-size").values_list("size", flat=True).first() or 0
    anchor = Anchor.objects.filter(size__lte=head.size).order_by("-size").first()
    return LogStatus(
        size=head.size,
        root=bytes(head.root).hex(),
        signed=signed,
        pinned=anchor.size if anchor else 0,
        pinned_at=anchor.at if anchor else None,
        pinned_where=str(anchor.get_kind_display()) if anchor else "",
    )


def _page(rows: QuerySet[AuditLeaf], before: int | None, limit: int, with_texts: bool) -> list[Entry]:
    if before is not None:
        rows = rows.filter(seq__lt=before)
    leaves = list(rows.select_related("event").order_by("-seq")[:limit])
    texts: dict[int, dict[str, Any]] = {}
    if with_texts:
        for row in Disclosure.objects.filter(event__in=[leaf.event_id for leaf in leaves]).order_by("pk"):
            texts.setdefault(row.event_id, {})[row.path] = canonical.loads(row.value)
    return [_entry(leaf, texts.get(leaf.event_id, {})) for leaf in leaves]


def _entry(leaf: AuditLeaf, texts: dict[str, Any]) -> Entry:
    line = canonical.loads(leaf.event.body)
    return Entry(
        seq=leaf.seq,
        uid=leaf.event.uid,
        ts=leaf.event.ts,
        kind=AuditKind(leaf.event.kind),
        sentence=sentence(leaf.event),
        pid=line["actor"]["pid"],
        role=line["acting_role"],
        delegated_for=line["delegated_for"],
        obj_type=line["object"]["type"],
        obj_id=line["object"]["id"],
        data=line["data"],
        refs=tuple(line["refs"]),
        texts=texts,
        withheld=len(line["_sd"]) - len(texts),
    )
