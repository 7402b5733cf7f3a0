"""Keys, certificates, passkeys, acts and documents. All governed by the audit guard but `ActChallenge`.

A document is a chain of stored revisions; its state is what the screen calls "Siegel ausstehend".
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from qms.core.ids import uuid7


class Certificate(models.Model):
    """A certificate of the built-in authority; pid: the person of a one-time certificate, else empty."""

    audit_type: ClassVar[str] = "Certificate"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    purpose = models.CharField(max_length=20)
    sha256 = models.CharField(max_length=64, unique=True)
    serial = models.CharField(max_length=40, unique=True)
    pid = models.CharField(max_length=32, blank=True)
    pem = models.TextField()
    issued_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    act = models.ForeignKey("signing.ActRecord", models.PROTECT, null=True, related_name="certificates")

    class Meta:
        ordering: ClassVar = ["issued_at", "id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                name="signing_person_certificate_rests_on_act",
                condition=Q(purpose="one-time", act__isnull=False) & ~Q(pid="")
                | ~Q(purpose="one-time") & Q(act__isnull=True, pid=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.sha256[:12]}"


class SigningKey(models.Model):
    """An encrypted private key of the organisation (signing.md 6.2); persons' keys are never stored."""

    audit_type: ClassVar[str] = "SigningKey"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    purpose = models.CharField(max_length=20)
    version = models.PositiveIntegerField(default=1)
    algorithm = models.CharField(max_length=10)
    certificate = models.OneToOneField(Certificate, models.PROTECT, related_name="key")
    aad = models.BinaryField()
    nonce = models.BinaryField()
    ct = models.BinaryField()
    kek_id = models.CharField(max_length=16)
    outer = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["purpose", "version"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["purpose", "version"], name="signing_key_version"),
            models.CheckConstraint(condition=~Q(purpose="one-time"), name="signing_no_stored_person_key"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.version}"


class Passkey(models.Model):
    """A passkey that may confirm acts, copied from the sign-in tables; `enrolment`: SHA-256 of key id and key."""

    audit_type: ClassVar[str] = "Passkey"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    person = models.ForeignKey("roles.Person", models.PROTECT, related_name="passkeys")
    account = models.ForeignKey("roles.User", models.PROTECT, related_name="passkeys")
    name = models.CharField(max_length=100)
    credential_id = models.BinaryField()
    credential_sha256 = models.CharField(max_length=64, unique=True)
    public_key = models.BinaryField()
    enrolment = models.CharField(max_length=64)
    enrolment_event = models.UUIDField()
    kind = models.CharField(max_length=10)
    sign_count = models.PositiveBigIntegerField(default=0)
    enrolled_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["enrolled_at", "id"]

    def __str__(self) -> str:
        return self.name


class ActChallenge(models.Model):
    """An open question to a person: one act, one session, one answer. Exempt from the guard; proves nothing."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    person = models.ForeignKey("roles.Person", models.CASCADE, related_name="+")
    session_sha256 = models.CharField(max_length=64)
    act = models.TextField()
    digest = models.CharField(max_length=64)
    expires_at = models.DateTimeField()
    consumed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.id)


class ActRecord(models.Model):
    """A checked act (signing.md 6.1). record: canonical JSON; name: as it is printed on the document."""

    audit_type: ClassVar[str] = "ActRecord"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    person = models.ForeignKey("roles.Person", models.PROTECT, related_name="acts")
    name = models.CharField(max_length=120)
    passkey = models.ForeignKey(Passkey, models.PROTECT, null=True, related_name="acts")
    nonce = models.CharField(max_length=64, unique=True)
    act = models.CharField(max_length=60)
    document = models.CharField(max_length=60)
    field = models.CharField(max_length=20, blank=True)
    method = models.CharField(max_length=20)
    digest = models.CharField(max_length=64)
    record = models.TextField()
    sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["created_at", "id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(method="PASSKEY", passkey__isnull=False)
                | Q(method="PASSWORT_TOTP", passkey__isnull=True),
                name="signing_act_has_its_key",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.act} {self.sha256[:12]}"


class DocumentState(models.TextChoices):
    """Where the sealing of a document stands; whether an approval is in force is computed elsewhere."""

    PENDING = "AUSSTEHEND", _("Siegel ausstehend")
    SEALED = "GESIEGELT", _("gesiegelt")
    FAILED = "FEHLGESCHLAGEN", _("Siegelung fehlgeschlagen")


class Document(models.Model):
    """A document to be rendered and sealed. `request_sha256`: the stored request it is made from, alone."""

    audit_type: ClassVar[str] = "Document"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    number = models.CharField(max_length=60)
    version = models.CharField(max_length=20)
    kind = models.CharField(max_length=20)
    subject_id = models.UUIDField(db_index=True)
    job = models.OneToOneField("core.Job", models.PROTECT, related_name="document")
    state = models.CharField(max_length=20, choices=DocumentState.choices, default=DocumentState.PENDING)
    request_sha256 = models.CharField(max_length=64)
    decision_sha256 = models.CharField(max_length=64)
    render_sha256 = models.CharField(max_length=64, blank=True)
    final_sha256 = models.CharField(max_length=64, blank=True, db_index=True)
    demo = models.BooleanField(default=False)
    error = models.TextField(blank=True)
    requested_at = models.DateTimeField()
    sealed_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["requested_at", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["number", "version"], name="signing_document_number"),
            models.CheckConstraint(
                condition=Q(state="GESIEGELT", sealed_at__isnull=False) & ~Q(final_sha256="")
                | ~Q(state="GESIEGELT") & Q(sealed_at__isnull=True, final_sha256=""),
                name="signing_sealed_has_file",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.version}"


class DocumentRevision(models.Model):
    """One stored state of the file; revision 0 is the rendering, each later one adds one signature."""

    audit_type: ClassVar[str] = "DocumentRevision"

    document = models.ForeignKey(Document, models.PROTECT, related_name="revisions")
    number = models.PositiveSmallIntegerField()
    field = models.CharField(max_length=20, blank=True)
    sha256 = models.CharField(max_length=64)
    size_bytes = models.PositiveBigIntegerField()
    certificate = models.ForeignKey(Certificate, models.PROTECT, null=True, related_name="revisions")
    created_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["document", "number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["document", "number"], name="signing_revision_number"),
            models.UniqueConstraint(
                fields=["document", "field"], condition=~Q(field=""), name="signing_field_signed_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.sha256[:12]}"
