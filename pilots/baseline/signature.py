"""The key of the measuring command: Ed25519 (RFC 8032), made and kept where measurements are made.

A signature says who held the key when the statement was written, and that not one figure changed since. It does not
say that clock or machine were honest (ADR 0115).
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from qms.core import canonical

ALGORITHM: Final = "Ed25519"
PUBLIC_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
CARD: Final = "qms-key-1"
MAX_CARD: Final = 400
_SIGN: Final = 0x80  # of the last byte: the sign of x
SMALL_ORDER: Final = frozenset(
    bytes.fromhex(text)
    for text in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)
"""Points of order 8 or less, without their sign (RFC 8032, 5.1.7; list of libsodium): one signature fits many texts."""
_STATEMENT: Final = (
    b"qms.measurement/1\x00"  # what is signed begins with what it is, so no text serves as another
)
_POSSESSION: Final = b"qms.measuring-key/1\x00"


class SignatureError(ValueError):
    """A key or a signature is not usable; `message_de` is one German sentence."""

    def __init__(self, message_de: str) -> None:
        super().__init__(message_de)
        self.message_de = message_de


def new_key(path: Path) -> Ed25519PrivateKey:
    """Make a key, readable by its owner only; raises SignatureError where the file exists, OSError."""
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise SignatureError(
            f"Die Datei {path} gibt es schon; ein Schlüssel wird nie überschrieben."
        ) from error
    with os.fdopen(handle, "wb") as file:
        file.write(pem)
    return key


def load_key(path: Path) -> Ed25519PrivateKey:
    """Return the key of a file; raises SignatureError."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise SignatureError(f"Die Schlüsseldatei {path} lässt sich nicht lesen.") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SignatureError(f"{path} ist kein Schlüssel von „keygen“.") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SignatureError(f"{path} ist kein Schlüssel von „keygen“.")
    return key


def public_text(key: Ed25519PrivateKey) -> str:
    """Return the public key in base64 (44 characters)."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode("ascii")


def key_id(public_key: str) -> str:
    """Return the short name of a public key: 16 hexadecimal characters of its SHA-256."""
    return hashlib.sha256(_decoded(public_key, PUBLIC_BYTES)).hexdigest()[:16]


def sign(statement: Mapping[str, Any], key: Ed25519PrivateKey) -> dict[str, str]:
    """Return the signature over the canonical form of a statement; raises CanonicalError."""
    value = key.sign(_STATEMENT + canonical.dumps(dict(statement)))
    return {
        "algorithm": ALGORITHM,
        "public_key": public_text(key),
        "value": base64.b64encode(value).decode("ascii"),
    }


def verified_key(statement: Mapping[str, Any], signature: Any) -> str:
    """Return the public key whose signature over the statement holds; raises SignatureError for any other."""
    fields = {"algorithm", "public_key", "value"}
    if not isinstance(signature, dict) or set(signature) != fields or signature["algorithm"] != ALGORITHM:
        raise SignatureError("Die Signatur der Messung ist anders aufgebaut als erwartet.")
    public_key = signature["public_key"]
    _check(public_key, signature["value"], _STATEMENT + canonical.dumps(dict(statement)), _BROKEN)
    return str(public_key)


def card(key: Ed25519PrivateKey) -> str:
    """Return the line that registers a key: its public part, signed with itself, so that only its holder can make it."""
    public = key.public_key().public_bytes_raw()
    proof = base64.b64encode(key.sign(_POSSESSION + public)).decode("ascii")
    return f"{CARD}:{public_text(key)}:{proof}"


def read_card(text: str) -> str:
    """Return the public key of a registration line; raises SignatureError."""
    parts = text.strip().split(":")
    if len(text) > MAX_CARD or len(parts) != 3 or parts[0] != CARD:
        raise SignatureError(_NO_CARD)
    try:
        public = _decoded(parts[1], PUBLIC_BYTES)
    except ValueError as error:
        raise SignatureError(_NO_CARD) from error
    _check(parts[1], parts[2], _POSSESSION + public, _NO_CARD)
    return parts[1]


_BROKEN: Final = (
    "Die Signatur passt nicht zum Inhalt: Die Datei wurde nach der Messung verändert. Bitte laden Sie die Datei hoch, "
    "die der Messbefehl geschrieben hat."
)
_NO_CARD: Final = (
    "Das ist keine gültige Registrierzeile. Bitte kopieren Sie die ganze Zeile, die „keygen“ ausgibt; sie beginnt mit "
    f"„{CARD}:“."
)


def _check(public_key: Any, value: Any, message: bytes, sentence: str) -> None:
    try:
        key = Ed25519PublicKey.from_public_bytes(_point(public_key))
        key.verify(_decoded(value, SIGNATURE_BYTES), message)
    except (InvalidSignature, ValueError, TypeError) as error:
        raise SignatureError(sentence) from error


def _point(public_key: Any) -> bytes:
    """Return the bytes of a public key; raises ValueError, also for a point of small order, and TypeError."""
    point = _decoded(public_key, PUBLIC_BYTES)
    if point[:-1] + bytes([point[-1] & ~_SIGN]) in SMALL_ORDER:
        raise ValueError("expected a point of full order, got one of a small one")
    return point


def _decoded(text: Any, size: int) -> bytes:
    """Return bytes from base64 spelt in the one way we write it; raises ValueError, TypeError."""
    data = base64.b64decode(text, validate=True)
    if len(data) != size or base64.b64encode(data).decode("ascii") != text:
        raise ValueError(f"expected {size} bytes, got {len(data)}")
    return data
