"""Runs: one row for each measurement or emulation, governed, beside the Job that carries it out."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from pilots.choices import RunRole, RunValidity
from qms.core.ids import uuid7


class Run(models.Model):
    """A baseline or target run of a workload. `exit_state` is empty while its Job waits or runs."""

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
    def role_label(self) -> str:
        """The role in the active language."""
        return str(RunRole(self.role).label)

    @property
    def validity_label(self) -> str:
        """The validity in the active language, empty while the run lasts."""
        return str(RunValidity(self.validity).label) if self.validity else ""
