"""Reading passkeys that allauth keeps: the one place that knows how it stores them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from allauth.mfa.models import Authenticator
from fido2 import cbor

from qms.roles.models import User


@dataclass(frozen=True, slots=True)
class Passkey:
    """One enrolled passkey: row of allauth, name given by the person, credential id, COSE public key (CBOR)."""

    authenticator_id: int
    name: str
    credential_id: bytes
    cose_key: bytes
    created_at: datetime

    @property
    def credential_sha256(self) -> str:
        """SHA-256 of the credential id, as it stands in the enrolment event."""
        return hashlib.sha256(self.credential_id).hexdigest()

    @property
    def public_key_sha256(self) -> str:
        """SHA-256 of the COSE key, as it stands in the enrolment event."""
        return hashlib.sha256(self.cose_key).hexdigest()


def passkeys_of(user: User) -> list[Passkey]:
    """Return the passkeys of an account, oldest first."""
    rows = Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.WEBAUTHN).order_by("pk")
    return [read_passkey(row) for row in rows]


def read_passkey(row: Authenticator) -> Passkey:
    """Return what the row of a passkey holds; raises ValueError if it holds no attested credential."""
    data = row.wrap().authenticator_data.credential_data
    if data is None:
        raise ValueError(f"authenticator {row.pk}: expected attested credential data, got none")
    return Passkey(
        authenticator_id=row.pk,
        name=str(row.data["name"]),
        credential_id=bytes(data.credential_id),
        cose_key=cbor.encode(dict(data.public_key)),
        created_at=row.created_at,
    )
