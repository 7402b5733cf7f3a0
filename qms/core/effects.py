"""Ends a message or a job in the very transaction of its effect, whoever opens that transaction.

A handler runs outside any transaction. The first unit of work it opens (`qms.audit`) calls `complete` before it
commits, so effect and end are visible together or not at all. A handler without such a unit calls `complete` in a
transaction of its own, or is ended right after it and may then, after a crash, run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.db import connection, transaction


@dataclass(slots=True)
class _Effect:
    end: Callable[[], None]
    completed: bool = False


_open: ContextVar[_Effect | None] = ContextVar("effect", default=None)


@contextmanager
def effect(end: Callable[[], None]) -> Iterator[None]:
    """Run the block as the effect of something that `end` ends; `end` raises when that had ended already."""
    current = _Effect(end)
    token = _open.set(current)
    try:
        yield
    finally:
        _open.reset(token)
    if not current.completed:
        with transaction.atomic():
            current.end()


def complete() -> None:
    """End what the running handler is the effect of, inside the transaction that writes it; nothing outside a handler."""
    current = _open.get()
    if current is None or current.completed:
        return
    if not connection.in_atomic_block:
        raise RuntimeError("expected complete() inside the transaction that writes the effect, got none")
    current.end()
    current.completed = True
