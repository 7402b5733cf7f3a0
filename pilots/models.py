"""Runs and their replays: one row for each, governed, beside the Job that carries it out."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from pilots.choices import RunRole, RunValidity
from qms.core.ids import uuid7


class Run(models.Model):
    """A baseline or target run of a workload. `exit_state` is empty while its Job waits or runs.

    announced_at: a run on a real system outside the product, empty `exit_state` until its files are handed in (T-11).
    """

    audit_type: ClassVar[str] = "Run"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workload = models.ForeignKey("workloads.Workload", models.PROTECT, related_name="runs")
    role = models.CharField(max_length=10)
    source = models.CharField(max_length=20)
    platform = models.ForeignKey("workloads.PlatformProfile", models.PROTECT, related_name="+")
    started_by = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    job = models.OneToOneField("core.Job", models.PROTECT, null=True, related_name="run")
    parameters = models.JSONField(default=dict)
    model_digest = models.CharField(max_length=64)
    fingerprint = models.CharField(max_length=64, blank=True)
    criteria_sha256 = models.CharField(max_length=64, blank=True)
    announced_at = models.DateTimeField(null=True)
    result_digest = models.CharField(max_length=64, blank=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    exit_state = models.CharField(max_length=20, blank=True)
    validity = models.CharField(max_length=30, blank=True)
    failure = models.TextField(blank=True)
    summary = models.JSONField(default=dict)

    class Meta:
        ordering: ClassVar = ["-started_at", "-id"]

    def __str__(self) -> str:
        return f"{self.role} {self.platform}"

    @property
    def is_announced(self) -> bool:
        """Whether the run is announced and waits for its files."""
        return self.announced_at is not None and not self.exit_state

    @property
    def role_label(self) -> str:
        """The role in the active language."""
        return str(RunRole(self.role).label)

    @property
    def validity_label(self) -> str:
        """The validity in the active language, empty while the run lasts."""
        return str(RunValidity(self.validity).label) if self.validity else ""


class Replay(models.Model):
    """A target run computed again from its manifest alone. `equal` is empty while it lasts, and where it failed."""

    audit_type: ClassVar[str] = "Replay"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    run = models.ForeignKey(Run, models.PROTECT, related_name="replays")
    job = models.OneToOneField("core.Job", models.PROTECT, null=True, related_name="replay")
    started_by = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    expected = models.CharField(max_length=64, blank=True)
    actual = models.CharField(max_length=64, blank=True)
    equal = models.BooleanField(null=True)
    differs = models.JSONField(default=list)
    failure = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["-started_at", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run"], condition=Q(ended_at__isnull=True), name="one_open_replay_of_a_run"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run} {self.started_at:%Y-%m-%d}"


class MeasuringKey(models.Model):
    """The public key with which a person signs measurements elsewhere (ADR 0115); a revoked one stays known.

    public_key: Ed25519, base64; key_id: its short name, as results and pages print it.
    """

    audit_type: ClassVar[str] = "MeasuringKey"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    person = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    public_key = models.CharField(max_length=44, unique=True)
    key_id = models.CharField(max_length=16)
    label = models.CharField(max_length=80)
    registered_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-registered_at", "-id"]

    def __str__(self) -> str:
        return f"{self.label} ({self.key_id})"
