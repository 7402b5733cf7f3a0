"""Short ways to events for the tests of the log."""

from __future__ import annotations

from qms.audit.actors import SYSTEM, Actor
from qms.audit.events import AuditKind
from qms.audit.models import AuditEvent, AuditLeaf, LogHead
from qms.audit.services import record, unit

PERSON = Actor("a" * 32, "QM")


def log(count: int = 1, *, kind: AuditKind = AuditKind.WORKLOAD_CHANGED, **details) -> None:
    """Record `count` events in one unit."""
    with unit(actor=SYSTEM):
        for number in range(count):
            record(kind, actor=SYSTEM, subject_ref=("Workload", str(number % 3)), **details)


def size() -> int:
    """Return how many events the head counts."""
    return LogHead.objects.get(pk=1).size


def kinds() -> list[str]:
    """Return the codes of all events in log order."""
    return list(AuditLeaf.objects.order_by("seq").values_list("event__kind", flat=True))


def last() -> AuditEvent:
    """Return the newest event."""
    return AuditLeaf.objects.order_by("-seq").select_related("event")[0].event
