"""Revocation data made in process: OCSP answers for end certificates, a CRL for the issuing CA. Django-free.

OCSP for leaves plus CRL for the issuing CA is the combination that still passes long-term validation years later
(signing.md 5). An answer never outlives the certificate it is about.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509 import ocsp

from qms.signing.ca import Credential, hash_for

ANSWER_LIFE: Final = timedelta(days=7)
CRL_LIFE: Final = timedelta(days=30)


def ocsp_answer(
    certificate: x509.Certificate,
    *,
    issuer: x509.Certificate,
    responder: Credential,
    at: datetime,
    revoked_at: datetime | None = None,
) -> bytes:
    """Return the DER answer "good" or "revoked" for one certificate, valid from `at`."""
    moment = at.replace(microsecond=0)
    status = ocsp.OCSPCertStatus.REVOKED if revoked_at else ocsp.OCSPCertStatus.GOOD
    builder = ocsp.OCSPResponseBuilder().add_response(
        cert=certificate,
        issuer=issuer,
        algorithm=hashes.SHA256(),
        cert_status=status,
        this_update=moment,
        next_update=min(moment + ANSWER_LIFE, certificate.not_valid_after_utc),
        revocation_time=revoked_at,
        revocation_reason=x509.ReasonFlags.unspecified if revoked_at else None,
    )
    builder = builder.responder_id(ocsp.OCSPResponderEncoding.HASH, responder.certificate)
    answer = builder.certificates([responder.certificate]).sign(responder.key, hash_for(responder.key))
    return answer.public_bytes(serialization.Encoding.DER)


def crl(
    issuer: Credential, *, number: int, at: datetime, revoked: tuple[tuple[int, datetime], ...] = ()
) -> bytes:
    """Return the DER revocation list of an authority; `revoked` holds serial numbers and dates."""
    moment = at.replace(microsecond=0)
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(issuer.certificate.subject)
        .last_update(moment)
        .next_update(min(moment + CRL_LIFE, issuer.certificate.not_valid_after_utc))
        .add_extension(x509.CRLNumber(number), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.certificate.public_key()),  # type: ignore[arg-type]
            critical=False,
        )
    )
    for serial, date in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(date)
        builder = builder.add_revoked_certificate(entry.build())
    return builder.sign(issuer.key, hash_for(issuer.key)).public_bytes(serialization.Encoding.DER)
