"""A passkey in memory, for tests: makes the JSON that a browser would hand over (WebAuthn level 2)."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.cose import ES256
from fido2.webauthn import AttestedCredentialData

USER_PRESENT, USER_VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class SoftwareKey:
    """One P-256 key bound to a relying party and an origin."""

    rp_id: str = "localhost"
    origin: str = "http://localhost:8000"
    user_handle: bytes = b""
    flags: int = USER_PRESENT | USER_VERIFIED
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def register(self, options: dict[str, Any]) -> str:
        """Return the answer to creation options as JSON text."""
        public = options["publicKey"]
        self.user_handle = base64.urlsafe_b64decode(public["user"]["id"] + "==")
        client = self._client("webauthn.create", public["challenge"])
        credential = AttestedCredentialData.create(
            b"\0" * 16, self.credential_id, ES256.from_cryptography_key(self.key.public_key())
        )
        auth_data = self._head(self.flags | ATTESTED) + bytes(credential)
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": auth_data})
        response = {"clientDataJSON": b64url(client), "attestationObject": b64url(attestation)}
        return self._answer(response, {"credProps": {"rk": True}})

    def sign(self, options: dict[str, Any]) -> str:
        """Return the answer to request options as JSON text."""
        client = self._client("webauthn.get", options["publicKey"]["challenge"])
        auth_data = self._head(self.flags)
        signature = self.key.sign(auth_data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        response = {
            "clientDataJSON": b64url(client),
            "authenticatorData": b64url(auth_data),
            "signature": b64url(signature),
            "userHandle": b64url(self.user_handle),
        }
        return self._answer(response, {})

    def _client(self, kind: str, challenge: str) -> bytes:
        data = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(data).encode()

    def _head(self, flags: int) -> bytes:
        return hashlib.sha256(self.rp_id.encode()).digest() + bytes([flags]) + b"\0\0\0\1"

    def _answer(self, response: dict[str, str], extensions: dict[str, Any]) -> str:
        return json.dumps(
            {
                "id": b64url(self.credential_id),
                "rawId": b64url(self.credential_id),
                "type": "public-key",
                "response": response,
                "clientExtensionResults": extensions,
            }
        )
