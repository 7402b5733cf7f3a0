"""Verification of the stored log: every line against its leaf, the order, the head, the checkpoints, the pin."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from qms.audit import keys, pins
from qms.audit.errors import NoteInvalid
from qms.audit.merkle import Frontier, leaf_hash
from qms.audit.models import AuditEvent, AuditLeaf, Checkpoint, LogHead
from qms.audit.notes import open_head


@dataclass(frozen=True, slots=True)
class Report:
    """Outcome. size: events; signed_size: covered by the newest checkpoint; first_bad: seq or None; problem: German."""

    size: int
    signed_size: int
    first_bad: int | None = None
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing deviates."""
        return not self.problem


def check_log() -> Report:
    """Check the whole log, without any limit on its length."""
    head = LogHead.objects.get(pk=1)
    notes = {row.size: row.note for row in Checkpoint.objects.order_by("size").iterator(2000)}
    signed = max(notes, default=0)
    frontier, bad, problem = _follow(head.size, notes)
    if not problem and (frontier.size != head.size or frontier.root() != bytes(head.root)):
        bad, problem = frontier.size, _("fehlende Ereignisse")
    if not problem and AuditEvent.objects.filter(leaf__isnull=True).exists():
        problem = _("Ereignis ohne Platz in der Reihenfolge")
    if problem:
        text = _(
            "Abweichung ab Ereignis %(number)s: %(what)s. Freigaben sind gesperrt, bis die Abweichung geklärt ist."
        )
        return Report(head.size, signed, bad, text % {"number": "?" if bad is None else bad, "what": problem})
    return Report(head.size, signed, None, pins.compare().problem)


def _follow(size: int, notes: dict[int, str]) -> tuple[Frontier, int | None, str]:
    verifiers = keys.verifiers()
    frontier = Frontier.empty()
    rows = AuditLeaf.objects.filter(seq__lt=size).order_by("seq").values_list("seq", "hash", "event__body")
    for seq, stored, body in rows.iterator(2000):
        leaf = leaf_hash(body.encode())
        if seq != frontier.size:
            return frontier, frontier.size, _("fehlende Ereignisse")
        if leaf != bytes(stored):
            return frontier, seq, _("Inhalt")
        frontier = frontier.append(leaf)
        note = notes.get(frontier.size)
        if note is None:
            continue
        try:
            signed = open_head(note, verifiers)
        except NoteInvalid:
            return frontier, seq, _("Unterschrift")
        if signed.root != frontier.root():
            return frontier, seq, _("Reihenfolge")
    return frontier, None, ""
