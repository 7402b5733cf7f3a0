"""The organisation's own keys in the database: made on first use, opened for one job, rewrapped on rotation."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cryptography import x509
from django.conf import settings
from django.db import IntegrityError

from qms.audit.actors import HasActor
from qms.audit.events import AuditKind
from qms.audit.services import audited, record
from qms.core import clock
from qms.signing import ca, keys
from qms.signing.ca import Credential, Purpose
from qms.signing.errors import KeySealBroken
from qms.signing.models import Certificate, SigningKey


def ensure(*, actor: HasActor) -> None:
    """Make the hierarchy unless it exists: six keys and certificates, in one unit; safe to call at any time.

    Call it outside a unit: making keys takes a second, and no write lock is held meanwhile.
    """
    if SigningKey.objects.filter(purpose=Purpose.ROOT.value).exists():
        return
    made = ca.create_hierarchy(
        organisation=settings.ORGANISATION_NAME or settings.PUBLIC.host,
        base_url=settings.PUBLIC.url.rstrip("/"),
        demo=settings.DEMO,
        at=clock.now(),
    )
    try:
        _store_hierarchy(actor=actor, credentials=made)
    except IntegrityError:
        # Another worker made them in the same second; its keys are as good as ours.
        if not SigningKey.objects.filter(purpose=Purpose.ROOT.value).exists():
            raise


def load() -> dict[Purpose, Credential]:
    """Return the newest key of every purpose, decrypted; raises KeyFileError and KeySealBroken."""
    keyring = keys.load_keyring(settings.KEK_FILE)
    found: dict[Purpose, Credential] = {}
    for row in SigningKey.objects.select_related("certificate").order_by("version"):
        if bytes(row.aad) != keys.binding(str(row.pk), row.purpose, row.version):
            raise KeySealBroken(f"the envelope of the key {row.purpose} belongs to another key")
        certificate = x509.load_pem_x509_certificate(row.certificate.pem.encode())
        found[Purpose(row.purpose)] = Credential(certificate, keyring.unwrap(_wrapped(row)))
    return found


@audited
def rotate_kek(*, actor: HasActor) -> int:
    """Put all keys under a new key-encryption key; returns how many. The old key stays in the file until dropped."""
    keyring = keys.add_key(settings.KEK_FILE)
    rows = list(SigningKey.objects.select_for_update())
    for row in rows:
        wrapped = keyring.rewrap(_wrapped(row))
        row.kek_id, row.outer = wrapped.kek_id, wrapped.outer
        row.save(update_fields=["kek_id", "outer"])
    ref = ("KeyEncryptionKey", keyring.current_id)
    record(AuditKind.KEY_ROTATED, actor=actor, subject_ref=ref, facts={"purpose": "kek", "keys": len(rows)})
    return len(rows)


def drop_old_keks() -> None:
    """Forget the old key-encryption keys, once nothing is wrapped under them any more; raises KeySealBroken."""
    current = keys.load_keyring(settings.KEK_FILE).current_id
    left = SigningKey.objects.exclude(kek_id=current).count()
    if left:
        raise KeySealBroken(f"{left} keys are still wrapped under an old key-encryption key")
    keys.drop_old_keys(settings.KEK_FILE)


def store_certificate(certificate: x509.Certificate, purpose: Purpose, **values: Any) -> Certificate:
    """Keep a certificate, inside the caller's unit."""
    return Certificate.objects.create(
        purpose=purpose.value,
        sha256=ca.sha256_of(certificate),
        serial=f"{certificate.serial_number:x}",
        pid=ca.pid_of(certificate),
        pem=ca.pem(certificate).decode(),
        issued_at=certificate.not_valid_before_utc,
        expires_at=certificate.not_valid_after_utc,
        **values,
    )


def is_revoked(certificate: x509.Certificate) -> datetime | None:
    """Return when a certificate of ours was revoked, or None."""
    return (
        Certificate.objects.filter(sha256=ca.sha256_of(certificate))
        .values_list("revoked_at", flat=True)
        .first()
    )


@audited
def _store_hierarchy(*, actor: HasActor, credentials: dict[Purpose, Credential]) -> None:
    keyring = keys.load_keyring(settings.KEK_FILE)
    for purpose, credential in credentials.items():
        certificate = store_certificate(credential.certificate, purpose)
        row = SigningKey(
            purpose=purpose.value,
            algorithm=ca.PROFILES[purpose].key.value,
            certificate=certificate,
            created_at=clock.now(),
        )
        wrapped = keyring.wrap(credential.key, id=str(row.pk), purpose=purpose.value, version=row.version)
        row.aad, row.nonce, row.ct, row.outer = wrapped.aad, wrapped.nonce, wrapped.ct, wrapped.outer
        row.kek_id = wrapped.kek_id
        row.save(force_insert=True)
        facts = {
            "purpose": purpose.value,
            "algorithm": row.algorithm,
            "certificate_sha256": certificate.sha256,
        }
        record(AuditKind.KEY_ISSUED, actor=actor, subject=row, facts=facts)
        record(
            AuditKind.CERTIFICATE_ISSUED, actor=actor, subject=certificate, facts={"purpose": purpose.value}
        )


def _wrapped(row: SigningKey) -> keys.WrappedKey:
    return keys.WrappedKey(bytes(row.aad), bytes(row.nonce), bytes(row.ct), row.kek_id, bytes(row.outer))


def certificate_row(certificate: x509.Certificate) -> Certificate:
    """Return the stored row of one of the organisation's certificates."""
    return Certificate.objects.get(sha256=ca.sha256_of(certificate))
