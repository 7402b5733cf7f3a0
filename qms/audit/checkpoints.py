"""Checkpoints: signed notes over the committed log, made after the commit, never inside a unit."""

from __future__ import annotations

import logging

from django.db import DatabaseError, connection, transaction

from qms.audit import keys, pins, tree, units
from qms.audit.errors import AuditError
from qms.audit.models import Checkpoint, LogHead
from qms.audit.notes import Head, sign

logger = logging.getLogger(__name__)


def newest() -> str:
    """Return the newest signed note, "" if nothing has been signed yet."""
    checkpoint = Checkpoint.objects.order_by("-size").first()
    return checkpoint.note if checkpoint else ""


def sign_now() -> str:
    """Sign the log as it stands committed and return the note; the same size is signed once.

    Stores the full tiles first and leaves the note as pin outside the database. Raises AuditError inside a unit
    (a rollback would leave a signed note that contradicts the log), KeyFileInvalid without a usable key,
    LogFrozen if the log contradicts its pin.
    """
    if units.current() is not None:
        raise AuditError("a checkpoint is signed after the commit, not inside a unit")
    pins.require_intact()
    signers = keys.signers()
    with transaction.atomic():
        head = LogHead.objects.get(pk=1)
        checkpoint = Checkpoint.objects.filter(size=head.size).first()
        if checkpoint is None:
            tree.store_full_tiles(head.size)
            note = sign(Head(keys.origin(), head.size, bytes(head.root)).text(), signers)
            checkpoint = Checkpoint(size=head.size, note=note)
            Checkpoint.objects.bulk_create([checkpoint], ignore_conflicts=True)
    if not connection.in_atomic_block:  # what is not committed is never pinned
        pins.write(checkpoint.note)
    return checkpoint.note


def sign_after_commit() -> None:
    """Sign after a legally relevant event; a failure is logged, pages then say "noch nicht signiert"."""
    try:
        sign_now()
    except (AuditError, DatabaseError, OSError):
        logger.exception("the checkpoint after a legally relevant event could not be signed")


def vkey() -> str:
    """Return the public key of the log as printed on documents, making the key on first use."""
    return keys.signers()[0].verifier.vkey()
