"""Work in progress: jobs, the outbox, pulses of the running parts, and what this installation is.

These tables change all the time and prove nothing; they are exempt from the audit guard (stack.md 4.1).
All times that are compared with each other are written with the database's clock.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from qms.core import ids


class JobState(models.TextChoices):
    """Technical state of a job; the domain row it serves has the state that counts."""

    QUEUED = "QUEUED", _("wartet")
    RUNNING = "RUNNING", _("läuft")
    SUCCEEDED = "SUCCEEDED", _("fertig")
    FAILED = "FAILED", _("fehlgeschlagen")
    CANCELLED = "CANCELLED", _("abgebrochen")


class Job(models.Model):
    """One piece of background work. `attempt` is the fencing token: every write names it (stack.md 4.1)."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    kind = models.CharField(max_length=100)
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    attempt = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    progress_permille = models.PositiveSmallIntegerField(default=0)
    progress_text = models.CharField(max_length=200, blank=True)
    checkpoint = models.JSONField(default=dict)
    cancel_requested = models.BooleanField(default=False)
    dispatched_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["state", "lease_until"], name="core_job_state_lease")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id} ({self.state})"

    @property
    def is_settled(self) -> bool:
        """Whether the job has ended, in whatever way."""
        return self.state in {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}


class OutboxEntry(models.Model):
    """A message that exists exactly when the change that wanted it exists; only `done_at` ends it (audit.md 7)."""

    task = models.CharField(max_length=100)
    payload = models.JSONField(default=dict)
    job = models.ForeignKey(Job, null=True, on_delete=models.CASCADE, related_name="outbox_entries")
    created_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField(db_default=Now())
    published_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    tries = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["due_at"], name="core_outbox_open", condition=models.Q(done_at__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task} #{self.pk}"


class Pulse(models.Model):
    """When a running part last showed itself, and when a scheduled task was last handed out."""

    name = models.CharField(max_length=100, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} {self.at.isoformat()}"


class InstallationMode(models.TextChoices):
    """What the database was made for; never changes afterwards (architecture, decision 18)."""

    DEMO = "DEMO", _("Vorführung")
    REAL = "REAL", _("Betrieb")


class Installation(models.Model):
    """The single row that says whether this database is a demo."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    mode = models.CharField(max_length=4, choices=InstallationMode.choices)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(id=1), name="core_installation_single"),
        ]

    def __str__(self) -> str:
        return self.mode
