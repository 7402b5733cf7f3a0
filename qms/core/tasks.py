"""The way into the background: `enqueue` and `enqueue_job` inside a transaction, and the loop that carries it on.

Celery carries the id of an outbox entry and nothing else; it may lose it, repeat it or deliver it late.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from celery import shared_task
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from qms.core import jobs, outbox
from qms.core.models import Job, OutboxEntry, Pulse
from qms.core.outbox import handler

__all__ = [
    "PULSE_RECONCILE",
    "PULSE_WORKER",
    "beat",
    "deliver",
    "enqueue",
    "enqueue_job",
    "handler",
    "pulse",
    "relay",
]

logger = logging.getLogger(__name__)

PULSE_WORKER: Final = "worker"
PULSE_RECONCILE: Final = "reconcile"
PURGE: Final = "core.purge_outbox"
KEEP_DONE: Final = timedelta(days=7)
_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


def enqueue(*, task: str, payload: dict[str, str]) -> None:
    """Hand work to the handler registered as `task`; exists exactly when the caller's transaction commits."""
    outbox.add(task=task, payload=payload)


def enqueue_job(*, kind: str) -> Job:
    """Create a waiting job of this kind with the message that starts it, inside the caller's transaction."""
    if not connection.in_atomic_block:
        raise RuntimeError(f"expected a transaction around the job {kind!r}, got none")
    job = Job.objects.create(kind=kind)
    job.refresh_from_db()
    jobs.add_message(job)
    return job


@shared_task(name="qms.deliver")
def deliver(entry_id: int) -> None:
    """Celery's side of a message: outermost frame, errors are kept beside the message, which comes again."""
    try:
        outbox.deliver(entry_id)
    except Exception as error:
        logger.exception("message %d", entry_id)
        outbox.note_error(entry_id=entry_id, error=error)


@shared_task(name="qms.pulse", expires=60)
def pulse() -> None:
    """Show that broker and worker are alive; the age of this pulse stands in `doctor`."""
    beat(PULSE_WORKER)


def beat(name: str) -> None:
    """Write the pulse of a running part, on the database's clock."""
    if not Pulse.objects.filter(pk=name).update(at=Now()):
        Pulse.objects.get_or_create(pk=name, defaults={"at": Now()})


def relay(limit: int = 100) -> int:
    """Hand due messages to the broker; a broker that does not answer raises, the messages come again. Returns how many."""
    entries = outbox.take_due(limit)
    for entry in entries:
        deliver.apply_async(args=(entry.pk,))
    return len(entries)


def hand_out_due(schedule: Mapping[str, int] | None = None) -> list[str]:
    """Write one message for each scheduled task that is due; returns their names.

    The table maps task names to seconds between two runs. Any number of loops may call this: one UPDATE decides.
    """
    return [
        task
        for task, seconds in (settings.SCHEDULE if schedule is None else schedule).items()
        if _hand_out(task, timedelta(seconds=seconds))
    ]


def _hand_out(task: str, every: timedelta) -> bool:
    name = f"schedule.{task}"
    due = Pulse.objects.filter(pk=name, at__lte=Now() - every)
    if not due.exists() and Pulse.objects.filter(pk=name).exists():
        return False
    with transaction.atomic():
        Pulse.objects.get_or_create(pk=name, defaults={"at": _NEVER})
        if not due.update(at=Now()):
            return False
        if OutboxEntry.objects.filter(task=task, done_at__isnull=True).exists():
            return False
        outbox.add(task=task, payload={})
        return True


@handler(PURGE)
def _purge(payload: dict[str, str]) -> None:
    outbox.purge(older_than=KEEP_DONE)
