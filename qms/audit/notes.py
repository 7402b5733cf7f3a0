"""C2SP signed notes and tlog checkpoints with Ed25519: write, parse, verify. Pure, no database.

Key id: SHA-256(name ‖ LF ‖ 0x01 ‖ public key)[:4]; vkey: name+hex(key id)+base64(0x01 ‖ public key);
signature line: "— name base64(key id ‖ signature)".
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from qms.audit.errors import NoteInvalid

ED25519: Final = b"\x01"
_DASH: Final = "\N{EM DASH} "


@dataclass(frozen=True, slots=True)
class Verifier:
    """A public key of the log. key_id: 4 bytes; public: 32 raw bytes."""

    name: str
    key_id: bytes
    public: bytes

    @classmethod
    def of(cls, name: str, public: bytes) -> Verifier:
        """Return the verifier of a raw public key under `name`."""
        if not name or any(char.isspace() or char == "+" for char in name):
            raise NoteInvalid(f"{name!r} is no name of a key: no spaces, no plus")
        key_id = hashlib.sha256(name.encode() + b"\n" + ED25519 + public).digest()[:4]
        return cls(name, key_id, public)

    @classmethod
    def parse(cls, vkey: str) -> Verifier:
        """Read a vkey; raises NoteInvalid."""
        name, _, rest = vkey.strip().partition("+")
        key_id, _, key = rest.partition("+")
        data = _decode(key)
        if len(data) != 33 or data[:1] != ED25519:
            raise NoteInvalid("the vkey holds no Ed25519 key")
        verifier = cls.of(name, data[1:])
        if key_id != verifier.key_id.hex():
            raise NoteInvalid(f"key id of the vkey is {key_id}, expected {verifier.key_id.hex()}")
        return verifier

    def vkey(self) -> str:
        """Return the text form people compare and verifiers take."""
        key = base64.b64encode(ED25519 + self.public).decode()
        return f"{self.name}+{self.key_id.hex()}+{key}"

    def accepts(self, text: str, signature: bytes) -> bool:
        """Return whether `signature` (64 bytes) over `text` is by this key."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text.encode())
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key of the log under its name."""

    name: str
    private: Ed25519PrivateKey

    @property
    def verifier(self) -> Verifier:
        """The public half."""
        return Verifier.of(self.name, self.private.public_key().public_bytes_raw())

    def line(self, text: str) -> str:
        """Return the signature line over `text`, with its line feed."""
        payload = self.verifier.key_id + self.private.sign(text.encode())
        return f"{_DASH}{self.name} {base64.b64encode(payload).decode()}\n"


@dataclass(frozen=True, slots=True)
class Head:
    """What a checkpoint says: the root over the first `size` leaves of the log `origin`."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """Return the signed text: three lines, each with its line feed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"

    @classmethod
    def parse(cls, text: str) -> Head:
        """Read a checkpoint text; raises NoteInvalid unless it has exactly the form written by `text`."""
        parts = text.split("\n")
        if len(parts) != 4 or parts[3] or not parts[0] or not parts[1].isascii() or not parts[1].isdigit():
            raise NoteInvalid("the text is no checkpoint of three lines")
        head = cls(parts[0], int(parts[1]), _decode(parts[2]))
        if len(head.root) != 32 or head.text() != text:
            raise NoteInvalid("the checkpoint is not written in its one form")
        return head


def sign(text: str, signers: Sequence[Signer]) -> str:
    """Return the signed note: text, empty line, one signature line per signer."""
    if not text.endswith("\n"):
        raise NoteInvalid("the text of a note ends with a line feed")
    return text + "\n" + "".join(signer.line(text) for signer in signers)


def open_note(note: str, verifiers: Iterable[Verifier]) -> str:
    """Return the text of a note signed by at least one of the keys; raises NoteInvalid.

    Lines of unknown keys are passed over; a wrong signature under a known key is an error (C2SP signed-note).
    """
    text, separator, signatures = note.rpartition("\n\n")
    if not separator or not signatures.endswith("\n"):
        raise NoteInvalid("the note has no signature block")
    text += "\n"
    known = {(verifier.name, verifier.key_id): verifier for verifier in verifiers}
    accepted = False
    for line in signatures.removesuffix("\n").split("\n"):
        name, payload = _signature(line)
        verifier = known.get((name, payload[:4]))
        if verifier is None:
            continue
        if not verifier.accepts(text, payload[4:]):
            raise NoteInvalid(f"the signature of {name} is wrong")
        accepted = True
    if not accepted:
        raise NoteInvalid("no signature of a known key")
    return text


def open_head(note: str, verifiers: Iterable[Verifier]) -> Head:
    """Return what a signed checkpoint says; raises NoteInvalid."""
    return Head.parse(open_note(note, verifiers))


def unverified_head(note: str) -> Head:
    """Return what a checkpoint says without looking at its signatures; only for notes of our own table."""
    return Head.parse(note.rpartition("\n\n")[0] + "\n")


def _signature(line: str) -> tuple[str, bytes]:
    name, _, payload = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not name:
        raise NoteInvalid("a signature line is malformed")
    data = _decode(payload)
    if len(data) < 5:
        raise NoteInvalid("a signature is too short")
    return name, data


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NoteInvalid(f"{text[:20]!r} is not base64") from error
