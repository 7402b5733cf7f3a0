"""Evidence: what was measured or computed, content-addressed, with three axes and a review."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models import F, Q

from qms.core import canonical, store
from qms.core.ids import uuid7


class EvidenceItem(models.Model):
    """One piece of evidence. Its facts (canonical JSON) are a stored file; `raw_sha256` is the file handed in."""

    audit_type: ClassVar[str] = "Evidence"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workload = models.ForeignKey("workloads.Workload", models.PROTECT, related_name="evidence")
    type = models.CharField(max_length=8)
    title = models.CharField(max_length=200)
    run_id = models.UUIDField(null=True)
    facts_sha256 = models.CharField(max_length=64)
    raw_sha256 = models.CharField(max_length=64, blank=True)
    raw_name = models.CharField(max_length=200, blank=True)
    size_bytes = models.PositiveBigIntegerField()
    media_type = models.CharField(max_length=100, default="application/json")
    provenance = models.CharField(max_length=20)
    assurance = models.CharField(max_length=20)
    origin = models.CharField(max_length=20)
    producer = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    reviewer = models.ForeignKey("roles.Person", models.PROTECT, null=True, related_name="+")
    status = models.CharField(max_length=20, default="NEU")
    measured_at = models.DateTimeField()
    uploaded_at = models.DateTimeField()
    reviewed_at = models.DateTimeField(null=True)
    replaced_by = models.ForeignKey("self", models.PROTECT, null=True, related_name="replaces")

    class Meta:
        ordering: ClassVar = ["type", "uploaded_at", "id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(reviewer__isnull=True) | ~Q(reviewer=F("producer")), name="evidence_four_eyes"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.title}"

    def facts(self) -> dict[str, Any]:
        """Return the stored facts, re-hashed while read; raises StoredFileChanged or StoredFileMissing."""
        facts: dict[str, Any] = canonical.loads(store.get(self.facts_sha256))
        return facts

    def hashes(self) -> list[str]:
        """Return the digests of every stored file this evidence rests on."""
        return [item for item in (self.facts_sha256, self.raw_sha256) if item]
