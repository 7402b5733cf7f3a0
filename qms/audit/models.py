"""Tables of the audit log (audit.md, section 3). Triggers let the evidence only grow (`guard`).

Always ordered by `seq`, never by time or id; read in pages by keyset, never by offset.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from qms.core import clock, ids


class AuditEvent(models.Model):
    """One event. `body` is the line: the very bytes that are hashed. The other columns only find it again."""

    uid = models.UUIDField(unique=True)
    ts = models.DateTimeField()
    actor_ref = models.CharField(max_length=64)
    kind = models.CharField(max_length=64)
    obj_type = models.CharField(max_length=64)
    obj_id = models.CharField(max_length=128)
    obj_seq = models.BigIntegerField()
    body = models.TextField()

    class Meta:
        db_table = "audit_event"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["obj_type", "obj_id", "obj_seq"], name="audit_event_object"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["actor_ref", "ts"], name="audit_event_actor"),
            models.Index(fields=["kind", "ts"], name="audit_event_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.uid}"

    @property
    def line(self) -> bytes:
        """The hashed bytes."""
        return self.body.encode()


class AuditLeaf(models.Model):
    """Place of an event in the log, in commit order, from 0 without gaps; `hash` is its RFC 6962 leaf hash."""

    seq = models.BigIntegerField(primary_key=True)
    event = models.OneToOneField(AuditEvent, on_delete=models.PROTECT, related_name="leaf")
    hash = models.BinaryField(max_length=32)

    class Meta:
        db_table = "audit_leaf"

    def __str__(self) -> str:
        return str(self.seq)


class LogHead(models.Model):
    """The single row that is locked last of all: size, Merkle frontier and root of the log."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    size = models.BigIntegerField()
    frontier = models.BinaryField()
    root = models.BinaryField(max_length=32)

    class Meta:
        db_table = "audit_log_head"
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(id=1), name="audit_log_head_single")
        ]

    def __str__(self) -> str:
        return str(self.size)


class Tile(models.Model):
    """A full tile (C2SP tlog-tiles): 256 hashes of one level, and the hash it becomes one level up."""

    level = models.PositiveSmallIntegerField()
    idx = models.BigIntegerField()
    hashes = models.BinaryField(max_length=8192)
    root = models.BinaryField(max_length=32)

    class Meta:
        db_table = "audit_tile"
        constraints: ClassVar = [models.UniqueConstraint(fields=["level", "idx"], name="audit_tile_place")]

    def __str__(self) -> str:
        return f"{self.level}/{self.idx}"


class Checkpoint(models.Model):
    """The signed note over the first `size` events (C2SP tlog-checkpoint), as first signed."""

    size = models.BigIntegerField(primary_key=True)
    note = models.TextField()

    class Meta:
        db_table = "audit_checkpoint"

    def __str__(self) -> str:
        return str(self.size)


class AnchorKind(models.TextChoices):
    """Where a copy of size and root has been left outside this log."""

    TIME_STAMP = "tsa", _("Zeitstempeldienst")
    WITNESS = "witness", _("Zeuge")
    DOCUMENT = "pdf", _("Freigabedokument")
    EXPORT = "export", _("Audit-Export")
    FILE = "file", _("Datei")


class Anchor(models.Model):
    """A pin outside the log: up to `size` a change is noticed even if the log key is misused."""

    size = models.BigIntegerField()
    kind = models.CharField(max_length=10, choices=AnchorKind.choices)
    data = models.BinaryField()
    at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "audit_anchor"
        indexes: ClassVar = [models.Index(fields=["size"], name="audit_anchor_size")]

    def __str__(self) -> str:
        return f"{self.kind} {self.size}"


class Disclosure(models.Model):
    """Clear text of one salted commitment; may be deleted, the line keeps the commitment (RFC 9901)."""

    event = models.ForeignKey(AuditEvent, on_delete=models.PROTECT, related_name="disclosures")
    path = models.CharField(max_length=200)
    salt = models.CharField(max_length=32)
    value = models.TextField()

    class Meta:
        db_table = "audit_disclosure"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["event", "path"], name="audit_disclosure_path")
        ]

    def __str__(self) -> str:
        return self.path


class LogKey(models.Model):
    """A public key of the log, for people who verify: `name+keyid+key` (C2SP signed-note)."""

    vkey = models.CharField(max_length=300, unique=True)
    valid_from = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "audit_key"

    def __str__(self) -> str:
        return self.vkey


class AuditContext(models.Model):
    """Announcement of the open unit on SQLite; the row never outlives its transaction."""

    uid = models.UUIDField(primary_key=True)

    class Meta:
        db_table = "audit_ctx"

    def __str__(self) -> str:
        return str(self.uid)


class Export(models.Model):
    """An audit export somebody asked for; its file exists once `sha256` is set and until `deleted_at` is set."""

    audit_type: ClassVar[str] = "Export"

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    job = models.OneToOneField("core.Job", on_delete=models.PROTECT, related_name="audit_export")
    requested_by = models.CharField(max_length=64, help_text="pid")
    requested_at = models.DateTimeField(default=clock.now)
    purpose = models.TextField(_("Zweck"))
    with_disclosures = models.BooleanField(default=False)
    log_size = models.BigIntegerField(null=True)
    sha256 = models.CharField(max_length=64, blank=True)
    size_bytes = models.BigIntegerField(null=True)
    failed_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "audit_export"
        ordering = ("-requested_at",)

    def __str__(self) -> str:
        return str(self.id)
