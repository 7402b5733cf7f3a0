"""Errors of the audit log. They mean a defect or a damaged log, never a refusal of a person's action."""

from __future__ import annotations

from qms.core.errors import QmsError


class AuditError(QmsError):
    """Base of the errors of this package."""


class ActorMissing(AuditError):
    """A command was called without an actor."""


class NothingRecorded(AuditError):
    """A unit was left without a recorded event."""


class NotInUnit(AuditError):
    """`record` was called outside a unit."""


class LineInvalid(AuditError):
    """A line lies outside the format: unknown kind, too long, no object, or a value that is not allowed."""


class LogMissing(AuditError):
    """The single row of the log head is missing; the database was not migrated."""


class LogFrozen(AuditError):
    """The log contradicts a pin kept outside the database; writes are refused until an operator has decided."""


class NotSigned(AuditError):
    """No checkpoint covers the event yet."""


class KeyFileInvalid(AuditError):
    """The file of the log key cannot be read as such."""


class NoteInvalid(AuditError):
    """A signed note is malformed or carries no valid signature of a known key."""
