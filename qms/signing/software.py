"""A software stand-in for a passkey, for the demo and for tests only. Django-free.

Every record made with it says `authenticator: "software"`; page, PDF and verdict name it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from qms.signing import cose
from qms.signing.acts import Act, Assertion, Authenticator, b64

_P256_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # SEC 2, 2.4.2


@dataclass
class SoftwareAuthenticator:
    """A P-256 credential in memory that answers like an authenticator with user verification."""

    rp_id: str
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1()), repr=False
    )
    sign_count: int = 0
    kind: Authenticator = Authenticator.SOFTWARE
    counts: bool = True

    @classmethod
    def from_seed(cls, rp_id: str, seed: bytes) -> SoftwareAuthenticator:
        """Return the credential that belongs to a 32-byte seed; it keeps no counter (WebAuthn allows 0 for ever)."""
        secret = int.from_bytes(hashlib.sha512(seed).digest(), "big") % (_P256_ORDER - 1) + 1
        key = ec.derive_private_key(secret, ec.SECP256R1())
        return cls(rp_id, hashlib.sha256(b"id" + seed).digest(), key, counts=False)

    @property
    def public_key(self) -> bytes:
        """The COSE form of the public key."""
        return cose.encode_p256(self.key.public_key())

    def sign(self, act: Act, *, user_verified: bool = True) -> Assertion:
        """Answer the challenge of `act`; `user_verified=False` leaves the UV flag out (for refusal tests)."""
        self.sign_count += self.counts
        flags = 0x01 | (0x04 if user_verified else 0)
        head = (
            hashlib.sha256(self.rp_id.encode()).digest() + bytes([flags]) + self.sign_count.to_bytes(4, "big")
        )
        client = {
            "type": "webauthn.get",
            "challenge": b64(act.challenge),
            "origin": act.origin,
            "crossOrigin": False,
        }
        client_data = json.dumps(client, separators=(",", ":")).encode()
        signed = head + hashlib.sha256(client_data).digest()
        return Assertion(
            credential_id=self.credential_id,
            public_key=self.public_key,
            authenticator_data=head,
            client_data=client_data,
            signature=self.key.sign(signed, ec.ECDSA(hashes.SHA256())),
        )
