"""The key of the log: a file outside the database with mode 0600, made on first use, the first entry signs anew.

The file holds one or more Ed25519 keys as PKCS #8 PEM; during the overlap of a rotation all of them sign.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from django.conf import settings

from qms.audit import units
from qms.audit.actors import SYSTEM, HasActor
from qms.audit.errors import KeyFileInvalid
from qms.audit.events import AuditKind
from qms.audit.models import LogKey
from qms.audit.notes import Signer, Verifier

_PEM: Final = re.compile(rb"-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----\n?", re.DOTALL)


def origin() -> str:
    """Return the name of this log, as it stands in checkpoints and keys."""
    return str(settings.AUDIT_ORIGIN)


def signers() -> list[Signer]:
    """Return the keys that sign, the newest first; makes the first key and records every key new to the log.

    Must not be called inside a unit. Raises KeyFileInvalid if the file is unreadable, or gone although the log
    already knows a key.
    """
    path = Path(settings.LOG_KEY_FILE)
    if not path.exists():
        if LogKey.objects.exists():
            raise KeyFileInvalid(
                f"{path.name} is missing although the log has a key; put it back or rotate the key"
            )
        _create(path, _pem(Ed25519PrivateKey.generate()))
    found = _read(path)
    vkeys = [signer.verifier.vkey() for signer in found]
    known = set(LogKey.objects.filter(vkey__in=vkeys).values_list("vkey", flat=True))
    for signer in found:
        if signer.verifier.vkey() not in known:
            _record_key(signer.verifier, AuditKind.KEY_ISSUED, SYSTEM)
    return found


def file_belongs() -> bool:
    """Return whether the log knows a key of the file; True without a file. Raises KeyFileInvalid. Writes nothing."""
    path = Path(settings.LOG_KEY_FILE)
    if not path.exists():
        return True
    return LogKey.objects.filter(vkey__in=[signer.verifier.vkey() for signer in _read(path)]).exists()


def verifiers() -> list[Verifier]:
    """Return all public keys this log has ever had."""
    return [Verifier.parse(vkey) for vkey in LogKey.objects.order_by("pk").values_list("vkey", flat=True)]


def rotate(*, actor: HasActor) -> Verifier:
    """Make a new key that signs together with the old ones from now on, and return its public half.

    End the overlap with `retire`. Must not be called inside a unit.
    """
    path = Path(settings.LOG_KEY_FILE)
    old = b"".join(_PEM.findall(path.read_bytes())) if path.exists() else b""
    _replace(path, _pem(Ed25519PrivateKey.generate()) + old)
    newest = _read(path)[0].verifier
    _record_key(newest, AuditKind.KEY_ROTATED, actor)
    return newest


def retire(*, actor: HasActor) -> list[Verifier]:
    """End the overlap: only the newest key signs; returns the keys destroyed here (copies are not reached)."""
    path = Path(settings.LOG_KEY_FILE)
    newest, *old = _read(path)
    if not old:
        return []
    with units.transaction_unit():
        for signer in old:
            facts = {"use": "LOG", "vkey": signer.verifier.vkey()}
            ref = ("LogKey", signer.verifier.key_id.hex())
            units.record(AuditKind.KEY_DESTROYED, actor=actor, subject_ref=ref, facts=facts)
    _replace(path, _pem(newest.private))
    return [signer.verifier for signer in old]


def _record_key(verifier: Verifier, kind: AuditKind, actor: HasActor) -> None:
    with units.transaction_unit():
        LogKey.objects.create(vkey=verifier.vkey())
        ref = ("LogKey", verifier.key_id.hex())
        units.record(kind, actor=actor, subject_ref=ref, facts={"use": "LOG", "vkey": verifier.vkey()})


def _read(path: Path) -> list[Signer]:
    found: list[Signer] = []
    for block in _PEM.findall(path.read_bytes()):
        try:
            key = load_pem_private_key(block, password=None)
        except ValueError as error:
            raise KeyFileInvalid(f"{path.name} holds an unreadable key") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise KeyFileInvalid(f"{path.name} holds a key that is not Ed25519")
        found.append(Signer(origin(), key))
    if not found:
        raise KeyFileInvalid(f"{path.name} holds no key")
    return found


def _pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _create(path: Path, data: bytes) -> None:
    temporary = _written_beside(path, data)
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass  # another process was first; its key counts
    finally:
        temporary.unlink()


def _replace(path: Path, data: bytes) -> None:
    _written_beside(path, data).replace(path)


def _written_beside(path: Path, data: bytes) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return Path(name)
