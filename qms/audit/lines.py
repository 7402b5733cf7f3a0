"""The line of an event: canonical JSON, stored byte for byte, hashed as RFC 6962 leaf (audit.md, section 4).

Names, addresses and free text never stand in a line in clear: they are replaced by salted commitments in the
disclosure form of RFC 9901, section 4.2.1. That goes for everything handed in as private, and also for any
text among the facts that is not a plain code, so that an oversight cannot put a name into the log for ever.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from qms.audit.actors import Actor
from qms.audit.errors import LineInvalid
from qms.audit.events import AuditKind
from qms.core import canonical, clock
from qms.core.values import decimal_text

VERSION: Final = 1
MAX_LINE_BYTES: Final = 65_535  # C2SP entry bundles carry a uint16 length
SALT_BYTES: Final = 16  # RFC 9901, 9.3: at least 128 bits
_CODE: Final = re.compile(r"[^\s@]{0,256}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_PRIVATE_KEYS: Final = frozenset(
    {
        *("begruendung", "comment", "message", "note", "purpose", "reason", "text", "title"),
        *("display_name", "email", "first_name", "last_name", "name", "person_name", "recipient", "username"),
        *("device", "ip", "remote_addr", "user_agent"),
    }
)


@dataclass(frozen=True, slots=True)
class Commitment:
    """One salted commitment. path: name of the value in the event; value: its canonical JSON text."""

    path: str
    salt: str
    value: str

    @classmethod
    def make(cls, path: str, value: object) -> Commitment:
        """Commit to `value` with a fresh random salt."""
        salt = _base64url(secrets.token_bytes(SALT_BYTES))
        return cls(path, salt, canonical.dumps(plain(value)).decode())

    def encoded(self) -> str:
        """Return the disclosure: base64url of the JSON array [salt, name, value]."""
        return _base64url(canonical.dumps([self.salt, self.path, canonical.loads(self.value)]))

    def digest(self) -> str:
        """Return what stands in `_sd`: base64url SHA-256 of the disclosure."""
        return _base64url(hashlib.sha256(self.encoded().encode("ascii")).digest())


@dataclass(frozen=True, slots=True)
class Draft:
    """An event whose counter per object is not known yet; that is fixed under the lock of the log head."""

    id: UUID
    ts: datetime
    actor: Actor
    kind: AuditKind
    obj_type: str
    obj_id: str
    request_id: str
    data: dict[str, Any] = field(default_factory=dict)
    refs: tuple[str, ...] = ()
    commitments: tuple[Commitment, ...] = ()

    def line(self, obj_seq: int) -> bytes:
        """Return the bytes that are stored and hashed; raises LineInvalid if they are too long."""
        line = canonical.dumps(
            {
                "v": VERSION,
                "id": str(self.id),
                "ts": clock.timestamp(self.ts),
                "actor": {"pid": self.actor.pid},
                "acting_role": self.actor.acting_role or "-",
                "delegated_for": self.actor.delegated_for,
                "kind": self.kind.value,
                "object": {"type": self.obj_type, "id": self.obj_id, "seq": obj_seq},
                "data": self.data,
                "refs": list(self.refs),
                "request": {"id": self.request_id},
                "_sd": sorted(item.digest() for item in self.commitments),
                "_sd_alg": "sha-256",
            }
        )
        if len(line) > MAX_LINE_BYTES:
            raise LineInvalid(
                f"line of {self.kind} has {len(line)} bytes, at most {MAX_LINE_BYTES} are allowed"
            )
        return line


def split_private(
    facts: Mapping[str, Any] | None,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    private: Mapping[str, Any] | None,
) -> tuple[dict[str, Any], tuple[Commitment, ...]]:
    """Return the data in clear and the commitments; raises LineInvalid for reserved or doubled names."""
    facts = dict(facts or {})
    if {"before", "after"} & facts.keys():
        raise LineInvalid("before and after are arguments of their own, not facts")
    tree: dict[str, Any] = {key: plain(value) for key, value in facts.items()}
    tree |= {key: plain(value) for key, value in (("before", before), ("after", after)) if value is not None}
    hidden: dict[str, Any] = {}
    clear = _without_text(tree, "", hidden)
    for path, value in (private or {}).items():
        if path in hidden:
            raise LineInvalid(f"{path} is given twice")
        hidden[path] = value
    return clear, tuple(Commitment.make(path, value) for path, value in hidden.items())


def checked_refs(refs: Sequence[str] | None) -> tuple[str, ...]:
    """Return references to stored content; raises LineInvalid for anything but a lower-case hex SHA-256."""
    for ref in refs or ():
        if not _SHA256.fullmatch(ref):
            raise LineInvalid(f"reference {ref!r} is not a SHA-256 in lower-case hexadecimal")
    return tuple(refs or ())


def plain(value: Any) -> Any:
    """Return `value` as the canonical profile knows it: decimals, dates and identifiers become text."""
    for kind, convert in _PLAIN.items():
        if isinstance(value, kind):
            return convert(value)
    return value


_PLAIN: Final[dict[type | tuple[type, ...], Callable[[Any], Any]]] = {
    str: lambda value: unicodedata.normalize("NFC", str.__str__(value)),
    Mapping: lambda value: {str(key): plain(item) for key, item in value.items()},
    (list, tuple): lambda value: [plain(item) for item in value],
    (set, frozenset): lambda value: sorted(plain(item) for item in value),
    Decimal: decimal_text,
    datetime: clock.timestamp,  # before date, which it derives from
    date: date.isoformat,
    UUID: str,
}


def _without_text(tree: dict[str, Any], prefix: str, hidden: dict[str, Any]) -> dict[str, Any]:
    clear: dict[str, Any] = {}
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and key not in _PRIVATE_KEYS:
            clear[key] = _without_text(value, f"{path}.", hidden)
        elif value not in (None, "") and (key in _PRIVATE_KEYS or not _is_code(value)):
            hidden[path] = value
        else:
            clear[key] = value
    return clear


def _is_code(value: Any) -> bool:
    if isinstance(value, str):
        return _CODE.fullmatch(value) is not None
    if isinstance(value, list):
        return all(_is_code(item) for item in value)
    if isinstance(value, dict):
        return all(key not in _PRIVATE_KEYS and _is_code(item) for key, item in value.items())
    return True


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
