"""The outbox: messages written with the change that wants them, delivered at least once, done once (audit.md 7)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models.functions import Now

from qms.core.effects import effect
from qms.core.models import Job, OutboxEntry

logger = logging.getLogger(__name__)

REPUBLISH_AFTER: Final = timedelta(seconds=6)  # audit.md 7
REPUBLISH_AT_MOST: Final = timedelta(minutes=10)


class _AlreadyDone(Exception):
    """Another delivery of the same message was faster; its effect stands, this one is rolled back."""


Handler = Callable[[dict[str, str]], None]


@dataclass(frozen=True, slots=True)
class _Registration:
    call: Handler
    ends_itself: bool


_handlers: dict[str, _Registration] = {}


def handler(name: str, *, ends_itself: bool = False) -> Callable[[Handler], Handler]:
    """Register the function as the effect of messages called `name`.

    It runs outside any transaction; the one audited command it calls ends the message in the command's transaction
    (`qms.core.effects`). Long work is a job. With `ends_itself` the function ends its message with `end`.
    """

    def register(call: Handler) -> Handler:
        known = _handlers.get(name)
        if known is not None and (known.call.__module__, known.call.__qualname__) != (
            call.__module__,
            call.__qualname__,
        ):
            raise ValueError(f"expected one handler for {name!r}, got a second one: {call.__qualname__}")
        _handlers[name] = _Registration(call, ends_itself)
        return call

    return register


def handler_names() -> frozenset[str]:
    """Return the names of all registered handlers."""
    return frozenset(_handlers)


def add(
    *, task: str, payload: dict[str, str], job: Job | None = None, delay: timedelta = timedelta()
) -> OutboxEntry:
    """Write a message inside the caller's transaction; raises RuntimeError outside one."""
    if not connection.in_atomic_block:
        raise RuntimeError(f"expected a transaction around the message {task!r}, got none")
    for key, value in payload.items():
        if not all(isinstance(item, str) for item in (key, value)):
            raise TypeError(f"expected text in the payload of {task!r}, got {key!r}: {value!r}")
    # SQLite compares text, and a sum has more digits than Now(): without a delay it would be due a millisecond later.
    due_at = Now() + delay if delay else Now()
    return OutboxEntry.objects.create(task=task, payload=payload, job=job, due_at=due_at)


def take_due(limit: int = 100) -> list[OutboxEntry]:
    """Mark up to `limit` due messages as published and return them; the next try follows later and later."""
    due = OutboxEntry.objects.filter(done_at__isnull=True, due_at__lte=Now())
    if not due.exists():  # on SQLite a write transaction for nothing would hold up everybody else
        return []
    with transaction.atomic():
        entries = list(due.select_for_update(skip_locked=True, of=("self",)).order_by("id")[:limit])
        for entry in entries:
            wait = min(REPUBLISH_AFTER * 2 ** min(entry.tries, 10), REPUBLISH_AT_MOST)
            OutboxEntry.objects.filter(pk=entry.pk).update(
                published_at=Now(), tries=entry.tries + 1, due_at=Now() + wait
            )
        Job.objects.filter(outbox_entries__in=entries).update(dispatched_at=Now())
    return entries


def deliver(entry_id: int) -> bool:
    """Run the effect of a message and end it; False when it was done already. Errors leave it open and are raised."""
    entry = OutboxEntry.objects.filter(pk=entry_id, done_at__isnull=True).first()
    if entry is None:
        return False
    registered = _handlers.get(entry.task)
    if registered is None:
        raise LookupError(f"expected a handler for {entry.task!r}, got none")
    if registered.ends_itself:
        registered.call({**entry.payload, "entry": str(entry.pk)})
        return True
    try:
        with effect(lambda: _end_once(entry_id)):
            registered.call(entry.payload)
    except _AlreadyDone:
        return False
    return True


def end(*, entry_id: int) -> None:
    """Mark the message as done; to be called in the transaction of its effect."""
    OutboxEntry.objects.filter(pk=entry_id, done_at__isnull=True).update(done_at=Now(), error="")


def _end_once(entry_id: int) -> None:
    if not OutboxEntry.objects.filter(pk=entry_id, done_at__isnull=True).update(done_at=Now(), error=""):
        raise _AlreadyDone


def note_error(*, entry_id: int, error: BaseException) -> None:
    """Keep the last error beside a message that stays open."""
    text = f"{type(error).__name__}: {error}"[:300]
    OutboxEntry.objects.filter(pk=entry_id, done_at__isnull=True).update(error=text)


def purge(*, older_than: timedelta) -> int:
    """Delete messages that were done longer ago than that; returns how many."""
    return OutboxEntry.objects.filter(done_at__lt=Now() - older_than).delete()[0]
