"""COSE public keys (RFC 9052, RFC 9053) of passkeys, read with `cryptography` alone. Django-free.

Only the three algorithms a passkey may use here are known: ES256 on P-256, RS256, EdDSA on Ed25519.
"""

from __future__ import annotations

import hashlib
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from qms.signing.errors import ActInvalid

ES256: Final = -7  # RFC 9053, section 2.1
EDDSA: Final = -8  # RFC 9053, section 2.2
RS256: Final = -257  # RFC 8812, section 2
MIN_RSA_BITS: Final = 2048
_KTY, _ALG, _FIRST, _SECOND, _THIRD = 1, 3, -1, -2, -3

CborValue = int | bytes | str | dict[int | str, "CborValue"]


def algorithm(public_key: bytes) -> int:
    """Return the COSE algorithm number of a key; raises ActInvalid for a malformed key."""
    number = _fields(public_key).get(_ALG)
    if not isinstance(number, int):
        raise ActInvalid("the COSE key names no algorithm")
    return number


def verify(public_key: bytes, signature: bytes, data: bytes) -> None:
    """Check `signature` over `data` with a COSE key; raises ActInvalid when it does not hold."""
    fields = _fields(public_key)
    try:
        match fields.get(_ALG):
            case -7:
                _p256(fields).verify(signature, data, ec.ECDSA(hashes.SHA256()))
            case -8:
                _ed25519(fields).verify(signature, data)
            case -257:
                _rsa(fields).verify(signature, data, padding.PKCS1v15(), hashes.SHA256())
            case other:
                raise ActInvalid(f"expected ES256, RS256 or EdDSA, got COSE algorithm {other!r}")
    except InvalidSignature as error:
        raise ActInvalid("the signature of the passkey does not match") from error


def encode_p256(key: ec.EllipticCurvePublicKey) -> bytes:
    """Return the 77 bytes of the COSE form of a P-256 key (ES256), as authenticators write it."""
    numbers = key.public_numbers()
    x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
    return bytes.fromhex("a5010203262001215820") + x + bytes.fromhex("225820") + y


def fingerprint(credential_id: bytes, public_key: bytes) -> str:
    """Return the SHA-256 of credential id and COSE key, as the enrolment event holds it."""
    return hashlib.sha256(len(credential_id).to_bytes(2, "big") + credential_id + public_key).hexdigest()


def _p256(fields: dict[int | str, CborValue]) -> ec.EllipticCurvePublicKey:
    x, y = fields.get(_SECOND), fields.get(_THIRD)
    if (
        fields.get(_KTY) != 2
        or fields.get(_FIRST) != 1
        or not isinstance(x, bytes)
        or not isinstance(y, bytes)
    ):
        raise ActInvalid("expected a P-256 key (kty 2, crv 1)")
    try:
        point = ec.EllipticCurvePublicNumbers(
            int.from_bytes(x, "big"), int.from_bytes(y, "big"), ec.SECP256R1()
        )
        return point.public_key()
    except ValueError as error:
        raise ActInvalid("the P-256 key is no point of the curve") from error


def _ed25519(fields: dict[int | str, CborValue]) -> ed25519.Ed25519PublicKey:
    x = fields.get(_SECOND)
    if fields.get(_KTY) != 1 or fields.get(_FIRST) != 6 or not isinstance(x, bytes) or len(x) != 32:
        raise ActInvalid("expected an Ed25519 key (kty 1, crv 6)")
    return ed25519.Ed25519PublicKey.from_public_bytes(x)


def _rsa(fields: dict[int | str, CborValue]) -> rsa.RSAPublicKey:
    n, e = fields.get(_FIRST), fields.get(_SECOND)
    if fields.get(_KTY) != 3 or not isinstance(n, bytes) or not isinstance(e, bytes):
        raise ActInvalid("expected an RSA key (kty 3)")
    try:
        key = rsa.RSAPublicNumbers(int.from_bytes(e, "big"), int.from_bytes(n, "big")).public_key()
    except ValueError as error:
        raise ActInvalid("the RSA key is malformed") from error
    if key.key_size < MIN_RSA_BITS:
        raise ActInvalid(f"expected an RSA key of at least {MIN_RSA_BITS} bits, got {key.key_size}")
    return key


def _fields(data: bytes) -> dict[int | str, CborValue]:
    value, end = _decode(data, 0, depth=0)
    if end != len(data) or not isinstance(value, dict):
        raise ActInvalid("the COSE key is not exactly one CBOR map")
    return value


def _decode(data: bytes, at: int, depth: int) -> tuple[CborValue, int]:
    """Decode one CBOR item (RFC 8949): integers, byte and text strings, maps; nothing else occurs in a key."""
    if depth > 2:
        raise ActInvalid("the COSE key is nested too deeply")
    major, value, at = _head(data, at)
    match major:
        case 0:
            return value, at
        case 1:
            return -1 - value, at
        case 2 | 3:
            if at + value > len(data):
                raise ActInvalid("the COSE key is cut off")
            raw = data[at : at + value]
            return (raw if major == 2 else raw.decode("utf-8", "strict")), at + value
        case 5:
            return _map(data, at, value, depth)
    raise ActInvalid(f"CBOR type {major} does not occur in a COSE key")


def _map(data: bytes, at: int, size: int, depth: int) -> tuple[CborValue, int]:
    result: dict[int | str, CborValue] = {}
    for _ in range(size):
        key, at = _decode(data, at, depth + 1)
        if not isinstance(key, int | str) or key in result:
            raise ActInvalid("the COSE key has a malformed or repeated label")
        result[key], at = _decode(data, at, depth + 1)
    return result, at


def _head(data: bytes, at: int) -> tuple[int, int, int]:
    if at >= len(data):
        raise ActInvalid("the COSE key is cut off")
    major, info = data[at] >> 5, data[at] & 0x1F
    if info < 24:
        return major, info, at + 1
    size = {24: 1, 25: 2, 26: 4}.get(info)
    if size is None or at + 1 + size > len(data):
        raise ActInvalid("the COSE key has an unknown length form or is cut off")
    return major, int.from_bytes(data[at + 1 : at + 1 + size], "big"), at + 1 + size
