"""Evidence: what was measured or computed, content-addressed, with three axes and a review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from django.db import models
from django.db.models import F, Q

from qms.core import canonical, store
from qms.core.ids import uuid7

if TYPE_CHECKING:
    from qms.workloads.models import Organisation, PlatformProfile, Workload

    Holder: TypeAlias = Workload | PlatformProfile | Organisation

HOLDERS = ("workload", "platform", "organisation")
"""The columns of which exactly one says what a piece of evidence is about (decision 0155)."""


def _one_holder() -> Q:
    """Return the condition that exactly one of the holders is set."""
    found = Q()
    for chosen in HOLDERS:
        found |= Q(**{f"{name}__isnull": name != chosen for name in HOLDERS})
    return found


class EvidenceItem(models.Model):
    """One piece of evidence. Its facts (canonical JSON) are a stored file; `raw_sha256` is the file handed in.

    It is about a workload, or recorded once at a platform (in its version of that day) or the organisation, until
    `valid_until` (the last day).
    """

    audit_type: ClassVar[str] = "Evidence"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workload = models.ForeignKey("workloads.Workload", models.PROTECT, null=True, related_name="evidence")
    platform = models.ForeignKey(
        "workloads.PlatformProfile", models.PROTECT, null=True, related_name="evidence"
    )
    organisation = models.ForeignKey(
        "workloads.Organisation", models.PROTECT, null=True, related_name="evidence"
    )
    platform_version = models.PositiveIntegerField(null=True)
    valid_until = models.DateField(null=True)
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
            models.CheckConstraint(condition=_one_holder(), name="evidence_has_one_holder"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.title}"

    @property
    def holder(self) -> Holder:
        """What the evidence is about: its workload, or the platform or organisation it was recorded at."""
        return cast("Holder", self.workload or self.platform or self.organisation)

    def facts(self) -> dict[str, Any]:
        """Return the stored facts, re-hashed while read; raises StoredFileChanged or StoredFileMissing."""
        facts: dict[str, Any] = canonical.loads(store.get(self.facts_sha256))
        return facts

    def hashes(self) -> list[str]:
        """Return the digests of every stored file this evidence rests on."""
        return [item for item in (self.facts_sha256, self.raw_sha256) if item]


class Claim(models.Model):
    """What is known about one statement of a vendor text (spec 0.4); the statement itself is data.

    evidence: what the status rests on; reviewer: None where a run changed the status; version: changes so far.
    """

    audit_type: ClassVar[str] = "Claim"

    key = models.CharField(max_length=10, unique=True)
    status = models.CharField(max_length=30)
    reason = models.TextField()
    evidence = models.ForeignKey(EvidenceItem, models.PROTECT, null=True, related_name="claims")
    reviewer = models.ForeignKey("roles.Person", models.PROTECT, null=True, related_name="+")
    changed_at = models.DateTimeField()
    next_review = models.DateField(null=True)
    version = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar = ["key"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=~Q(status__in=["GEMESSEN_BESTAETIGT", "WIDERLEGT"]) | Q(evidence__isnull=False),
                name="claim_measured_has_evidence",
            ),
            models.CheckConstraint(
                condition=~Q(status="MEINUNG") | Q(evidence__isnull=True),
                name="claim_opinion_has_no_evidence",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.key} {self.status}"
