"""The built-in time-stamping authority (RFC 3161, RFC 5816), and its use by pyHanko. Django-free.

It proves nothing against its operator; pages call it "Interner Zeitstempel".
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from asn1crypto import algos, cms, core, tsp, x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from pyhanko.sign.timestamps import TimeStamper

from qms.signing import tst
from qms.signing.ca import Credential

POLICY_OID: Final = "2.25.173214603271871640953061853296240175214"
ACCURACY_SECONDS: Final = 1
_DIGEST_BYTES: Final = {"sha256": 32, "sha384": 48, "sha512": 64}


class InternalTimeStamper(TimeStamper):
    """pyHanko's door to the built-in authority: answers in process, never touches a network."""

    def __init__(self, credential: Credential, issuing: Any, clock: Callable[[], datetime]) -> None:
        super().__init__(include_nonce=True)  # type: ignore[no-untyped-call]  # untyped in pyHanko
        self._credential, self._issuing, self._clock = credential, issuing, clock

    async def async_request_tsa_response(self, req: tsp.TimeStampReq) -> tsp.TimeStampResp:
        """Answer one request."""
        imprint = req["message_imprint"]
        issued = issue_token(
            digest_name=imprint["hash_algorithm"]["algorithm"].native,
            digest=imprint["hashed_message"].native,
            nonce=req["nonce"].native,
            credential=self._credential,
            issuing=self._issuing,
            at=self._clock(),
        )
        status = tsp.PKIStatusInfo({"status": tsp.PKIStatus("granted")})
        return tsp.TimeStampResp({"status": status, "time_stamp_token": cms.ContentInfo.load(issued)})


def issue_token(
    *, digest_name: str, digest: bytes, nonce: int | None, credential: Credential, issuing: Any, at: datetime
) -> bytes:
    """Return the DER token over `digest`; raises ValueError for an unknown digest or a wrong length."""
    if _DIGEST_BYTES.get(digest_name) != len(digest):
        raise ValueError(
            f"expected a sha256, sha384 or sha512 digest, got {digest_name} of {len(digest)} bytes"
        )
    own, above = as_asn1(credential.certificate), as_asn1(issuing)
    statement = tsp.TSTInfo(
        {
            "version": "v1",
            "policy": POLICY_OID,
            "message_imprint": {"hash_algorithm": {"algorithm": digest_name}, "hashed_message": digest},
            "serial_number": secrets.randbits(63) | 1,
            "gen_time": at.replace(microsecond=0),
            "accuracy": {"seconds": ACCURACY_SECONDS},
            **({} if nonce is None else {"nonce": nonce}),
        }
    ).dump()
    attributes = _signed_attributes(statement, own, at)
    key = credential.key
    if not isinstance(key, rsa.RSAPrivateKey):
        raise TypeError(f"the time-stamping authority signs with RSA, got {type(key).__name__}")
    signature = key.sign(attributes.dump(), padding.PKCS1v15(), hashes.SHA256())
    return tst.build([own, above], statement, attributes, signature)


def as_asn1(certificate: Any) -> x509.Certificate:
    """Return a `cryptography` certificate as asn1crypto object, as pyHanko wants it."""
    return x509.Certificate.load(certificate.public_bytes(serialization.Encoding.DER))


def _signed_attributes(statement: bytes, own: x509.Certificate, at: datetime) -> cms.CMSAttributes:
    certificate_id = tsp.ESSCertIDv2(
        {
            "hash_algorithm": algos.DigestAlgorithm({"algorithm": tst.TOKEN_DIGEST}),
            "cert_hash": hashlib.sha256(own.dump()).digest(),
        }
    )
    time = cms.Time({"utc_time": core.UTCTime(at.replace(microsecond=0))})
    return cms.CMSAttributes(
        [
            cms.CMSAttribute({"type": "content_type", "values": ["tst_info"]}),
            cms.CMSAttribute({"type": "signing_time", "values": [time]}),
            cms.CMSAttribute({"type": "message_digest", "values": [hashlib.sha256(statement).digest()]}),
            cms.CMSAttribute(
                {
                    "type": "signing_certificate_v2",
                    "values": [tsp.SigningCertificateV2({"certs": [certificate_id]})],
                }
            ),
        ]
    )
