"""The one form of a time-stamp token (RFC 3161) that we write and accept. Django-free.

Whoever knows certificate path, statement, signed attributes and signature can rebuild the whole token byte for byte;
`verify` does so, because nothing else signs versions, algorithm lists and spare certificates (signing.md 8, rule 11).
"""

from __future__ import annotations

from typing import Final

from asn1crypto import algos, cms, core, x509

TOKEN_DIGEST: Final = "sha256"  # noqa: S105 - the name of an algorithm


def build(
    path: list[x509.Certificate], statement: bytes, attributes: cms.CMSAttributes, signature: bytes
) -> bytes:
    """Return the DER token; `path` begins with the certificate of the time-stamping authority, without the root."""
    digest = algos.DigestAlgorithm({"algorithm": TOKEN_DIGEST})
    signer = cms.SignerInfo(
        {
            "version": "v1",
            "sid": cms.SignerIdentifier(
                "issuer_and_serial_number",
                {"issuer": path[0].issuer, "serial_number": path[0].serial_number},
            ),
            "digest_algorithm": digest,
            "signed_attrs": attributes,
            "signature_algorithm": algos.SignedDigestAlgorithm({"algorithm": "sha256_rsa"}),
            "signature": signature,
        }
    )
    data = cms.SignedData(
        {
            "version": "v3",
            "digest_algorithms": cms.DigestAlgorithms([digest]),
            "encap_content_info": {
                "content_type": "tst_info",
                "content": core.ParsableOctetString(statement),
            },
            "certificates": [cms.CertificateChoices("certificate", certificate) for certificate in path],
            "signer_infos": [signer],
        }
    )
    return bytes(cms.ContentInfo({"content_type": "signed_data", "content": data}).dump())


def rebuild(token: bytes) -> bytes:
    """Return the token as we would have written it, from the parts that are signed; raises ValueError."""
    data = cms.ContentInfo.load(token, strict=True)["content"]
    (signer,) = data["signer_infos"]
    certificates = [_rebuilt(choice.chosen) for choice in data["certificates"]]
    serial = signer["sid"].chosen["serial_number"].native
    path = _ordered(certificates, serial)
    statement = bytes(data["encap_content_info"]["content"])
    attributes = cms.CMSAttributes.load(signer["signed_attrs"].untag().dump(), strict=True)
    return build(path, statement, attributes, signer["signature"].native)


def certificates(token: bytes) -> frozenset[bytes]:
    """Return the DER bytes of the certificates inside a token."""
    found = cms.ContentInfo.load(token)["content"]["certificates"]
    return frozenset(choice.chosen.dump() for choice in found)


def _ordered(certificates: list[x509.Certificate], serial: int) -> list[x509.Certificate]:
    """Return the chain from the signer upwards; a certificate outside the chain is one too many."""
    path = [certificate for certificate in certificates if certificate.serial_number == serial]
    rest = [certificate for certificate in certificates if certificate.serial_number != serial]
    while path and rest:
        above = [certificate for certificate in rest if certificate.subject == path[-1].issuer]
        if len(above) != 1:
            break
        rest.remove(above[0])
        path += above
    if len(path) < 1 or rest:
        raise ValueError("expected exactly the certificate path of the signer")
    return path


def _rebuilt(certificate: x509.Certificate) -> x509.Certificate:
    """Decode and encode a certificate, which loses everything its own signature does not cover."""
    body = certificate["tbs_certificate"]
    return x509.Certificate(
        {
            "tbs_certificate": x509.TbsCertificate.load(body.dump(), strict=True),
            "signature_algorithm": body["signature"].copy(),
            "signature_value": core.OctetBitString(certificate["signature_value"].native),
        }
    )
