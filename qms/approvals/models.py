"""The request that becomes an approval: dossiers, votes, questions, decision records, decisions.

`person_id` of requester, owner, deputy, lead and reviewer is copied into vote and decision rows, so that the
database itself refuses what segregation of duties forbids (architecture, decision 4).
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from qms.core import canonical
from qms.core.ids import uuid7

UNDECIDED = ("ENTWURF", "EINGEREICHT", "IN_PRUEFUNG", "RUECKFRAGE", "ENTSCHEIDUNGSREIF")


class Approval(models.Model):
    """A request for approval, and after the decision the approval itself."""

    audit_type: ClassVar[str] = "Approval"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    number = models.CharField(max_length=40, unique=True)
    type = models.CharField(max_length=20)
    workload = models.ForeignKey("workloads.Workload", models.PROTECT, related_name="approvals")
    status = models.CharField(max_length=30, default="ENTWURF", db_index=True)
    requester = models.ForeignKey("roles.Person", models.PROTECT, related_name="requested_approvals")
    requester_account = models.ForeignKey("roles.User", models.PROTECT, related_name="+")
    reviewer = models.ForeignKey("roles.Person", models.PROTECT, null=True, related_name="+")
    reviewer_account = models.ForeignKey("roles.User", models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True)
    evaluated_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)
    content_sha256 = models.CharField(max_length=64, blank=True)
    dossier_sha256 = models.CharField(max_length=64, blank=True)
    decision_sha256 = models.CharField(max_length=64, blank=True)
    rule_set = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["workload", "type"], condition=Q(status__in=UNDECIDED), name="one_undecided_request"
            ),
            models.CheckConstraint(
                condition=Q(reviewer__isnull=True) | ~Q(reviewer=F("requester")),
                name="reviewer_is_not_requester",
            ),
        ]

    def __str__(self) -> str:
        return self.number


class Dossier(models.Model):
    """One snapshot of what is decided upon, in canonical form; written once."""

    audit_type: ClassVar[str] = "Dossier"

    approval = models.ForeignKey(Approval, models.PROTECT, related_name="dossiers")
    sha256 = models.CharField(max_length=64)
    content = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["approval", "sha256"], name="one_dossier_per_digest")
        ]

    def __str__(self) -> str:
        return self.sha256[:12]


class _ActBy(models.Model):
    """Who acted, bound to what; with the persons the act must not come from."""

    person = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    account = models.ForeignKey("roles.User", models.PROTECT, related_name="+")
    role = models.CharField(max_length=4)
    meaning = models.CharField(max_length=40)
    reason = models.TextField(blank=True)
    act = models.OneToOneField("signing.ActRecord", models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    requester = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    owner = models.ForeignKey("roles.Person", models.PROTECT, null=True, related_name="+")
    deputy = models.ForeignKey("roles.Person", models.PROTECT, null=True, related_name="+")
    lead = models.ForeignKey("roles.Person", models.PROTECT, null=True, related_name="+")

    class Meta:
        abstract = True


def _not_involved(prefix: str) -> list[models.CheckConstraint]:
    rules = {"requester": "sod01", "owner": "sod02_owner", "deputy": "sod02_deputy", "lead": "sod02_lead"}
    return [
        models.CheckConstraint(
            condition=Q(**{f"{name}__isnull": True}) | ~Q(person=F(name)), name=f"{prefix}_{rule}"
        )
        for name, rule in rules.items()
    ]


class Vote(_ActBy):
    """A co-signature on a dossier: one value per subject, one act (spec 3.19, rule 3)."""

    audit_type: ClassVar[str] = "Vote"

    approval = models.ForeignKey(Approval, models.PROTECT, related_name="votes")
    value = models.CharField(max_length=30)
    subjects = models.JSONField(default=list)
    dossier_sha256 = models.CharField(max_length=64)
    reset_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["created_at", "id"]
        constraints: ClassVar = [
            *_not_involved("vote"),
            models.UniqueConstraint(
                fields=["approval", "person"], condition=Q(reset_at__isnull=True), name="one_vote_per_person"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.value}"


class DecisionRecord(models.Model):
    """`entscheidung.json` as it will be signed: frozen before the act, written once."""

    audit_type: ClassVar[str] = "DecisionRecord"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    approval = models.ForeignKey(Approval, models.PROTECT, related_name="decision_records")
    prepared_by = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    decision = models.CharField(max_length=30)
    reason = models.TextField()
    meaning = models.CharField(max_length=40)
    alternative = models.TextField(blank=True)
    content = models.TextField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["created_at", "id"]

    def __str__(self) -> str:
        return self.sha256[:12]


class ApprovalDecision(_ActBy):
    """The signed decision of one approver."""

    audit_type: ClassVar[str] = "ApprovalDecision"

    approval = models.ForeignKey(Approval, models.PROTECT, related_name="decisions")
    record = models.ForeignKey(DecisionRecord, models.PROTECT, related_name="decisions")
    decision = models.CharField(max_length=30)
    decision_sha256 = models.CharField(max_length=64)
    reviewer = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")

    class Meta:
        ordering: ClassVar = ["created_at", "id"]
        constraints: ClassVar = [
            *_not_involved("decision"),
            models.CheckConstraint(condition=~Q(person=F("reviewer")), name="decision_sod04"),
            models.UniqueConstraint(fields=["approval", "person"], name="one_decision_per_person"),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.decision}"


class Condition(models.Model):
    """A condition of a conditional approval as the signed record states it, and its fulfilment (spec 3.8).

    criterion: id of the W criterion it covers; measure: how fulfilment is told; due: the last day, local.
    """

    audit_type: ClassVar[str] = "Condition"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    approval = models.ForeignKey(Approval, models.PROTECT, related_name="conditions")
    position = models.PositiveSmallIntegerField()
    criterion = models.CharField(max_length=10)
    text = models.TextField()
    measure = models.TextField()
    owner = models.ForeignKey("roles.Person", models.PROTECT, related_name="conditions")
    due = models.DateField()
    severity = models.CharField(max_length=10)
    status = models.CharField(max_length=20, default="OFFEN")
    proof = models.TextField(blank=True)
    evidence = models.ForeignKey("evidence.EvidenceItem", models.PROTECT, null=True, related_name="+")
    proven_by = models.ForeignKey("roles.Person", models.PROTECT, null=True, related_name="+")
    proven_at = models.DateTimeField(null=True)
    returned = models.TextField(blank=True)
    confirmed_by = models.ForeignKey("roles.Person", models.PROTECT, null=True, related_name="+")
    confirmed_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["approval", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["approval", "position"], name="one_condition_per_position"),
            models.CheckConstraint(
                condition=Q(confirmed_by__isnull=True) | ~Q(confirmed_by=F("proven_by")),
                name="condition_confirmed_by_another",
            ),
            models.CheckConstraint(
                condition=Q(status="OFFEN", confirmed_by__isnull=True)
                | Q(status="NACHGEWIESEN", proven_by__isnull=False, confirmed_by__isnull=True)
                | Q(status="ERFUELLT", proven_by__isnull=False, confirmed_by__isnull=False),
                name="condition_status_has_its_persons",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.criterion}: {self.status}"

    @property
    def proof_sha256(self) -> str:
        """SHA-256 of the proof as it stands: who judges it sends back what they saw."""
        evidence_id = str(self.evidence_id) if self.evidence_id else None
        return canonical.sha256_hex(canonical.dumps({"proof": self.proof, "evidence": evidence_id}))


class Addendum(_ActBy):
    """The signed addendum to a conditional approval whose conditions are all met (T-13)."""

    audit_type: ClassVar[str] = "Addendum"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    approval = models.OneToOneField(Approval, models.PROTECT, related_name="addendum")
    record = models.OneToOneField(DecisionRecord, models.PROTECT, related_name="addendum")

    class Meta:
        ordering: ClassVar = ["created_at", "id"]
        constraints: ClassVar = [*_not_involved("addendum")]

    def __str__(self) -> str:
        return f"{self.role}: {self.record}"


class Question(models.Model):
    """A question to the requester and its answer (T-04, T-05)."""

    audit_type: ClassVar[str] = "Question"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    approval = models.ForeignKey(Approval, models.PROTECT, related_name="questions")
    asked_by = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    text = models.TextField()
    answered_by = models.ForeignKey("roles.Person", models.PROTECT, null=True, related_name="+")
    answered_at = models.DateTimeField(null=True)
    answer = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["asked_at", "id"]

    def __str__(self) -> str:
        return self.text[:40]
