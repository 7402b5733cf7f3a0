"""Acts: what a person confirms, how the passkey signs it and how anybody checks that offline. Django-free.

act       = canonical JSON of the fields below
challenge = digest (32 bytes) + SHA-256(act) (32 bytes)
record    = act, credential id, COSE public key, authenticator data, client data, signature, when it was checked

Source: signing.md 6.1; W3C Web Authentication Level 2, section 7.2.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from qms.core import canonical
from qms.signing import cose
from qms.signing.errors import ActInvalid

ACT_VERSION: Final = 1
NONCE_BYTES: Final = 32
_FLAG_UP, _FLAG_UV, _FLAG_BE, _FLAG_BS = 0x01, 0x04, 0x08, 0x10  # WebAuthn Level 3, section 6.1
_MIN_AUTHENTICATOR_DATA: Final = 37


class Method(StrEnum):
    """How the person confirmed."""

    PASSKEY = "PASSKEY"
    PASSWORD_TOTP = "PASSWORT_TOTP"  # noqa: S105 - the name of a method, not a secret


class DigestName(StrEnum):
    """Which of the digests of the chain the act is bound to."""

    DOSSIER = "dossier_sha256"
    DECISION = "decision_sha256"


class Authenticator(StrEnum):
    """What kind of device answered; a software authenticator exists for the demo and tests only."""

    DEVICE = "geraet"
    SOFTWARE = "software"
    NONE = "keiner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """The statement a person confirms.

    act: audit event code; document, version, field: where it will be signed ("" for a vote without a field);
    pid, acting_role, delegated_for: who, in which role code, in whose stead; meaning: word of spec 5.2;
    value: decision or vote code; digest_name, digest: what it is bound to (64 hex); issued_at: UTC text;
    random: 64 hex, makes every statement unique.
    """

    act: str
    document: str
    version: str
    field: str
    pid: str
    acting_role: str
    delegated_for: str
    meaning: str
    value: str
    digest_name: DigestName
    digest: str
    method: Method
    rp_id: str
    origin: str
    issued_at: str
    random: str

    def to_json(self) -> dict[str, Any]:
        """Return the form that is hashed and stored."""
        return {"v": ACT_VERSION, **{key: str(value) for key, value in asdict(self).items()}}

    @classmethod
    def from_json(cls, data: Any) -> Act:
        """Read the stored form; raises ActInvalid for a missing, spare or malformed field."""
        if not isinstance(data, dict) or data.get("v") != ACT_VERSION:
            raise ActInvalid(f"expected an act of version {ACT_VERSION}")
        fields = {key: value for key, value in data.items() if key != "v"}
        if set(fields) != set(cls.__slots__) or not all(isinstance(value, str) for value in fields.values()):
            raise ActInvalid("the act has missing, spare or non-text fields")
        try:
            fields["method"], fields["digest_name"] = (
                Method(fields["method"]),
                DigestName(fields["digest_name"]),
            )
            if len(bytes.fromhex(fields["digest"])) != 32 or len(bytes.fromhex(fields["random"])) != 32:
                raise ActInvalid("digest and random must be 32 bytes in hexadecimal")
        except ValueError as error:
            raise ActInvalid(f"the act is malformed: {error}") from error
        return cls(**fields)

    @property
    def nonce(self) -> bytes:
        """SHA-256 of the canonical statement: binds role, meaning and value to the signature."""
        return hashlib.sha256(canonical.dumps(self.to_json())).digest()

    @property
    def challenge(self) -> bytes:
        """The 64 bytes the passkey signs: the digest readable in front, the nonce behind it."""
        return bytes.fromhex(self.digest) + self.nonce


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """What the authenticator answered (raw bytes, as the browser delivered them)."""

    credential_id: bytes
    public_key: bytes
    authenticator_data: bytes
    client_data: bytes
    signature: bytes

    def to_json(self) -> dict[str, Any]:
        """Return the stored form: base64url without padding, and the readable flags."""
        encoded: dict[str, Any] = {name: b64(getattr(self, name)) for name in self.__slots__}
        flags = self.flags
        bits = {"up": _FLAG_UP, "uv": _FLAG_UV, "be": _FLAG_BE, "bs": _FLAG_BS}
        encoded["flags"] = {name: bool(flags & bit) for name, bit in bits.items()}
        return {**encoded, "sign_count": self.sign_count}

    @classmethod
    def from_json(cls, data: Any) -> Assertion:
        """Read the stored form; raises ActInvalid when bytes and readable flags differ."""
        try:
            assertion = cls(**{name: unb64(data[name]) for name in cls.__slots__})
        except (KeyError, TypeError, ValueError) as error:
            raise ActInvalid(f"the assertion is malformed: {error!r}") from error
        if assertion.to_json() != data:
            raise ActInvalid("the readable flags of the assertion differ from its bytes")
        return assertion

    @property
    def flags(self) -> int:
        """The flags byte of the authenticator data; raises ActInvalid when it is cut off."""
        if len(self.authenticator_data) < _MIN_AUTHENTICATOR_DATA:
            raise ActInvalid("the authenticator data are cut off")
        return self.authenticator_data[32]

    @property
    def sign_count(self) -> int:
        """The signature counter of the authenticator."""
        return int.from_bytes(self.authenticator_data[33:37], "big")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A checked act as it is stored, attached to the PDF and named in the one-time certificate."""

    act: Act
    assertion: Assertion | None
    authenticator: Authenticator
    checked_at: str
    enrolment: str

    def to_json(self) -> dict[str, Any]:
        """Return the stored form; without a passkey there is no assertion to show."""
        data: dict[str, Any] = {"act": self.act.to_json(), "authenticator": self.authenticator.value}
        data |= {"checked_at": self.checked_at, "enrolment": self.enrolment}
        if self.assertion is not None:
            data["assertion"] = self.assertion.to_json()
        return data

    @classmethod
    def from_json(cls, data: Any) -> Record:
        """Read the stored form; raises ActInvalid."""
        known = {"act", "assertion", "authenticator", "checked_at", "enrolment"}
        if not isinstance(data, dict) or set(data) - known or known - set(data) - {"assertion"}:
            raise ActInvalid("the record has missing or spare parts")
        try:
            authenticator = Authenticator(data["authenticator"])
        except ValueError as error:
            raise ActInvalid(f"unknown kind of authenticator: {error}") from error
        return cls(
            act=Act.from_json(data["act"]),
            assertion=Assertion.from_json(data["assertion"]) if "assertion" in data else None,
            authenticator=authenticator,
            checked_at=str(data["checked_at"]),
            enrolment=str(data["enrolment"]),
        )

    @property
    def sha256(self) -> str:
        """Digest of the record; the one-time certificate carries it."""
        return canonical.digest(self.to_json())


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a record must be bound to: relying party, digests, and whether a software authenticator may stand in."""

    rp_id: str
    origin: str
    digests: dict[DigestName, str]
    software_allowed: bool


def verify_record(record: Record, expected: Expectation) -> None:
    """Check a record offline (signing.md 6.1, steps 1 to 4); raises ActInvalid naming the step that failed."""
    act = record.act
    if expected.digests.get(act.digest_name) != act.digest:  # (1)
        raise ActInvalid(f"the act is bound to another {act.digest_name}")
    if (act.rp_id, act.origin) != (expected.rp_id, expected.origin):
        raise ActInvalid("the act names another relying party or origin")
    if record.authenticator is Authenticator.SOFTWARE and not expected.software_allowed:
        raise ActInvalid("a software authenticator is allowed in samples only")
    if act.method is Method.PASSWORD_TOTP:
        if record.assertion is not None or record.authenticator is not Authenticator.NONE:
            raise ActInvalid("password and one-time code leave no assertion")
        return
    if record.assertion is None or record.authenticator is Authenticator.NONE:
        raise ActInvalid("the assertion of the passkey is missing")
    verify_assertion(record.assertion, act)


def verify_assertion(assertion: Assertion, act: Act) -> None:
    """Check that a passkey signed exactly this act; raises ActInvalid (WebAuthn Level 2, 7.2, steps 11 to 20)."""
    client = _client_data(assertion.client_data)
    if client.get("challenge") != b64(act.challenge):  # (2)
        raise ActInvalid("the passkey signed another digest or statement")
    if client.get("type") != "webauthn.get":  # (3)
        raise ActInvalid("expected type webauthn.get")
    if client.get("origin") != act.origin:
        raise ActInvalid("the passkey answered for another origin")
    if client.get("crossOrigin", False) is not False:
        raise ActInvalid("the passkey was asked from an embedded foreign page")
    if assertion.authenticator_data[:32] != hashlib.sha256(act.rp_id.encode()).digest():
        raise ActInvalid("the passkey answered for another relying party")
    if assertion.flags & (_FLAG_UP | _FLAG_UV) != _FLAG_UP | _FLAG_UV:
        raise ActInvalid("the device has not checked the person (UP and UV must be set)")
    signed = assertion.authenticator_data + hashlib.sha256(assertion.client_data).digest()
    cose.verify(assertion.public_key, assertion.signature, signed)  # (4)


def check_sign_count(stored: int, received: int) -> None:
    """Refuse a counter that does not grow, unless the authenticator keeps none (both 0)."""
    if (stored or received) and received <= stored:
        raise ActInvalid(f"the signature counter went back: expected more than {stored}, got {received}")


def _client_data(raw: bytes) -> dict[str, Any]:
    try:
        data = json.loads(raw.decode("utf-8", "strict"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ActInvalid("the client data are not JSON") from error
    if not isinstance(data, dict):
        raise ActInvalid("the client data are not an object")
    return data


def b64(data: bytes) -> str:
    """Return base64url without padding, as WebAuthn writes it."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    """Read base64url without padding; raises ValueError unless it is exactly the form `b64` writes."""
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if b64(data) != text:
        raise ValueError("not canonical base64url")
    return data
