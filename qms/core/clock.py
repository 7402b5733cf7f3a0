"""The only clock. Tests set it; nothing else reads the time of day."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

_fixed: list[datetime] = []


def now() -> datetime:
    """Return the current time in UTC."""
    return _fixed[-1] if _fixed else datetime.now(UTC)  # noqa: TID251 - the one home of the clock


@contextmanager
def at(moment: datetime) -> Iterator[None]:
    """Hold the clock at `moment` (time zone aware) inside the block; tests only."""
    if moment.tzinfo is None:
        raise ValueError("expected an aware datetime, got a naive one")
    _fixed.append(moment.astimezone(UTC))
    try:
        yield
    finally:
        _fixed.pop()


def timestamp(moment: datetime) -> str:
    """Return `moment` as UTC text of fixed width with microseconds: 2026-11-30T12:00:00.000000Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
