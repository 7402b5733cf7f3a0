"""The unit of work: one transaction, announced to the guard, its events written last under the head lock.

Order inside (audit.md 5.1): announce, command body, deferred constraints, lock of the single log head, events
and leaves. The counter per object is fixed under the head lock too, so it needs no lock of its own (ADR 0141).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, models, transaction
from django.db.models import Max

from qms.audit import lines
from qms.audit.actors import HasActor
from qms.audit.errors import ActorMissing, LineInvalid, LogMissing, NothingRecorded, NotInUnit
from qms.audit.events import AuditKind
from qms.audit.merkle import Frontier, leaf_hash
from qms.audit.models import AuditContext, AuditEvent, AuditLeaf, Disclosure, LogHead
from qms.core import clock, effects, ids

_open: ContextVar[Unit | None] = ContextVar("audit_unit", default=None)


@dataclass
class Unit:
    """An open unit. uid: what is announced and stands in each of its lines as request id."""

    uid: uuid.UUID
    drafts: list[lines.Draft] = field(default_factory=list)

    @property
    def kinds(self) -> set[AuditKind]:
        """Kinds of the events recorded so far."""
        return {draft.kind for draft in self.drafts}


def current() -> Unit | None:
    """Return the open unit of this thread or task, or None."""
    return _open.get()


@contextmanager
def transaction_unit() -> Iterator[Unit]:
    """Open the outermost unit; raises NothingRecorded if it is left without an event, then nothing is changed."""
    unit = Unit(ids.uuid7())
    with transaction.atomic(durable=True):
        token = _open.set(unit)
        try:
            _announce(unit)
            yield unit
        finally:
            _open.reset(token)
        if not unit.drafts:
            raise NothingRecorded("the unit was left without a recorded event")
        effects.complete()
        _append(unit)
        _withdraw(unit)


def record(
    kind: AuditKind,
    *,
    actor: HasActor,
    subject: models.Model | None = None,
    subject_ref: tuple[str, str] | None = None,
    facts: Mapping[str, Any] | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    private: Mapping[str, Any] | None = None,
    refs: Sequence[str] | None = None,
) -> uuid.UUID:
    """Record an event of the open unit and return its uid; its place in the log is known after the commit.

    subject: the object concerned, with `audit_type`; subject_ref: (type, id) where no model fits; before, after:
    changed fields; private: names and free text, stored as salted commitments; refs: SHA-256 of stored content.
    Text among the facts that is not a plain code is committed to as well. Raises NotInUnit or LineInvalid.
    """
    unit = _open.get()
    if unit is None:
        raise NotInUnit(f"{kind} was recorded outside a unit; commands carry @audited")
    obj_type, obj_id = subject_ref or reference(subject)
    who = actor.audit_actor()
    if not who.pid:
        raise ActorMissing(f"{kind} has no actor")
    data, commitments = lines.split_private(facts, before, after, private)
    draft = lines.Draft(
        id=ids.uuid7(),
        ts=clock.now(),
        actor=who,
        kind=AuditKind(kind),
        obj_type=obj_type,
        obj_id=obj_id,
        request_id=str(unit.uid),
        data=data,
        refs=lines.checked_refs(refs),
        commitments=commitments,
    )
    draft.line(0)
    unit.drafts.append(draft)
    return draft.id


def reference(subject: models.Model | None) -> tuple[str, str]:
    """Return how a saved object with `audit_type` stands in a line: type and id; raises LineInvalid."""
    audit_type = getattr(subject, "audit_type", "")
    if subject is None or not audit_type or subject.pk is None:
        raise LineInvalid(f"{subject!r} is no subject of an event: it needs audit_type and a primary key")
    return str(audit_type), str(subject.pk)


def _announce(unit: Unit) -> None:
    if connection.vendor == "postgresql":
        _set_announcement(str(unit.uid))
    else:
        AuditContext.objects.create(uid=unit.uid)


def _withdraw(unit: Unit) -> None:
    if connection.vendor == "postgresql":
        _set_announcement("")
    else:
        AuditContext.objects.filter(uid=unit.uid).delete()


def _set_announcement(value: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('audit.event', %s, true)", [value])


def _append(unit: Unit) -> None:
    _check_deferred_constraints()
    head = LogHead.objects.select_for_update().filter(pk=1).first()
    if head is None:
        raise LogMissing("the row of the log head is missing; run migrate")
    frontier = Frontier.unpack(head.size, bytes(head.frontier))
    counters: dict[tuple[str, str], int] = {}
    for draft in unit.drafts:
        key = (draft.obj_type, draft.obj_id)
        if key not in counters:
            counters[key] = _last_counter(*key)
        counters[key] += 1
        line = draft.line(counters[key])
        leaf = leaf_hash(line)
        event = _store(draft, counters[key], line)
        AuditLeaf.objects.create(seq=frontier.size, event=event, hash=leaf)
        frontier = frontier.append(leaf)
    head.size, head.frontier, head.root = frontier.size, frontier.pack(), frontier.root()
    head.save(update_fields=["size", "frontier", "root"])


def _check_deferred_constraints() -> None:
    # A foreign key checked at COMMIT would lock after the log head and could deadlock (audit.md 5.1).
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def _last_counter(obj_type: str, obj_id: str) -> int:
    found = AuditEvent.objects.filter(obj_type=obj_type, obj_id=obj_id).aggregate(last=Max("obj_seq"))["last"]
    return -1 if found is None else int(found)


def _store(draft: lines.Draft, obj_seq: int, line: bytes) -> AuditEvent:
    event = AuditEvent.objects.create(
        uid=draft.id,
        ts=draft.ts,
        actor_ref=draft.actor.pid,
        kind=draft.kind.value,
        obj_type=draft.obj_type,
        obj_id=draft.obj_id,
        obj_seq=obj_seq,
        body=line.decode(),
    )
    Disclosure.objects.bulk_create(
        Disclosure(event=event, path=item.path, salt=item.salt, value=item.value)
        for item in draft.commitments
    )
    return event
