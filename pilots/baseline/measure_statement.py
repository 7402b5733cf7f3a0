"""The result of the measuring command, `qms.measurement/1`: a statement, its digest and, with a key, its signature.

Keys are written in canonical order, so the file begins with its schema and is recognised by it.
"""

from __future__ import annotations

from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pilots.baseline import signature
from qms.core import canonical

SCHEMA: Final = "qms.measurement/1"
TOOL: Final = "pilots.baseline measure"
VERSION: Final = "0.3.0"


def statement(
    part: dict[str, Any], *, environment: dict[str, Any], began_at: str, ended_at: str
) -> dict[str, Any]:
    """Return the statement of a measurement; times are ISO 8601 in UTC as the clock of that machine said."""
    return part | {
        "tool": TOOL,
        "version": VERSION,
        "measured_at": began_at,
        "measured_until": ended_at,
        "environment": environment,
    }


def result(found: dict[str, Any], key: Ed25519PrivateKey | None) -> bytes:
    """Return the bytes of the result file; raises CanonicalError."""
    signed = {} if key is None else {"signature": signature.sign(found, key)}
    envelope = {"schema": SCHEMA, "sha256": canonical.digest(found), "statement": found} | signed
    return canonical.dumps(envelope) + b"\n"
