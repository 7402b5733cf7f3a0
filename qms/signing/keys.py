"""Keys at rest: AES-256-GCM envelopes under a key-encryption key in a file. Django-free (signing.md 6.2).

aad   = canonical JSON {"key": id, "purpose": ..., "version": n}
ct    = AES-256-GCM(DEK, PKCS#8 DER, aad)        the DEK is 32 random bytes, used once
outer = AES-256-GCM(KEK, DEK, aad)               rotation rewraps this part only

The file holds one base64 key per line, the current one first. Keep it apart from the database and its backup.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from qms.core import canonical
from qms.signing.errors import KeyFileError, KeySealBroken

KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12  # NIST SP 800-38D, 8.2

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """An encrypted private key as it is stored; nothing in it is secret without the key-encryption key."""

    aad: bytes
    nonce: bytes
    ct: bytes
    kek_id: str
    outer: bytes


class Keyring:
    """The key-encryption keys of one file, the current one first."""

    def __init__(self, secrets_: list[bytes]) -> None:
        if not secrets_ or any(len(secret) != KEY_BYTES for secret in secrets_):
            raise KeyFileError(f"expected at least one key of {KEY_BYTES} bytes")
        self._keys = {key_id(secret): secret for secret in secrets_}
        self.current_id = key_id(secrets_[0])

    def wrap(self, key: PrivateKey, *, id: str, purpose: str, version: int) -> WrappedKey:
        """Encrypt a private key under a fresh data key, bound to id, purpose and version."""
        aad = binding(id, purpose, version)
        der = key.private_bytes(
            serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        data_key, nonce = secrets.token_bytes(KEY_BYTES), secrets.token_bytes(_NONCE_BYTES)
        ct = AESGCM(data_key).encrypt(nonce, der, aad)
        return WrappedKey(aad, nonce, ct, self.current_id, self._seal(data_key, aad))

    def unwrap(self, wrapped: WrappedKey) -> PrivateKey:
        """Decrypt a private key; raises KeySealBroken for a foreign key, a changed byte or a changed binding."""
        data_key = self._open(wrapped)
        try:
            der = AESGCM(data_key).decrypt(wrapped.nonce, wrapped.ct, wrapped.aad)
        except InvalidTag as error:
            raise KeySealBroken("the wrapped key was changed") from error
        # The key is our own and authenticated by GCM; the RSA self-check costs 150 ms for every signature.
        key = serialization.load_der_private_key(der, None, unsafe_skip_rsa_key_validation=True)
        if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
            raise KeySealBroken(f"expected an RSA or EC key, got {type(key).__name__}")
        return key

    def rewrap(self, wrapped: WrappedKey) -> WrappedKey:
        """Return the same key under the current key-encryption key (rotation)."""
        return replace(wrapped, kek_id=self.current_id, outer=self._seal(self._open(wrapped), wrapped.aad))

    def _seal(self, data_key: bytes, aad: bytes) -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + AESGCM(self._keys[self.current_id]).encrypt(nonce, data_key, aad)

    def _open(self, wrapped: WrappedKey) -> bytes:
        secret = self._keys.get(wrapped.kek_id)
        if secret is None:
            raise KeySealBroken(f"the key-encryption key {wrapped.kek_id} is not at hand")
        nonce, ct = wrapped.outer[:_NONCE_BYTES], wrapped.outer[_NONCE_BYTES:]
        try:
            return AESGCM(secret).decrypt(nonce, ct, wrapped.aad)
        except InvalidTag as error:
            raise KeySealBroken("the outer envelope was changed") from error


def binding(id: str, purpose: str, version: int) -> bytes:
    """Return what an envelope is bound to; compare it before opening one, or rows could be exchanged."""
    return canonical.dumps({"key": id, "purpose": purpose, "version": version})


def key_id(secret: bytes) -> str:
    """Return the public name of a key-encryption key: 16 hex characters of its SHA-256."""
    return hashlib.sha256(b"qms-kek" + secret).hexdigest()[:16]


def load_keyring(path: Path) -> Keyring:
    """Read the key file, made on first use with mode 0600; raises KeyFileError when others can read it."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(path, [secrets.token_bytes(KEY_BYTES)], os.O_EXCL)
    if path.stat().st_mode & 0o077:
        raise KeyFileError(f"{path.name} must be readable by its owner only (mode 0600)")
    try:
        return Keyring([base64.b64decode(line, validate=True) for line in path.read_text().split()])
    except ValueError as error:
        raise KeyFileError(f"{path.name} is not a list of base64 keys") from error


def add_key(path: Path) -> Keyring:
    """Put a new current key in front of the old ones (first step of a rotation) and return the keyring."""
    load_keyring(path)
    old = [base64.b64decode(line) for line in path.read_text().split()]
    _write(path, [secrets.token_bytes(KEY_BYTES), *old], os.O_TRUNC)
    return load_keyring(path)


def drop_old_keys(path: Path) -> Keyring:
    """Keep the current key only (last step of a rotation, after everything was rewrapped)."""
    load_keyring(path)
    current = base64.b64decode(path.read_text().split()[0])
    _write(path, [current], os.O_TRUNC)
    return load_keyring(path)


def _write(path: Path, secrets_: list[bytes], flag: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write("".join(base64.b64encode(secret).decode() + "\n" for secret in secrets_))
