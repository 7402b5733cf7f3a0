"""Identifiers: UUID version 7 (RFC 9562, section 5.7), which sorts by time; Python 3.11 has none of its own."""

from __future__ import annotations

import secrets
import uuid

from qms.core import clock


def uuid7() -> uuid.UUID:
    """Return a new UUIDv7: 48 bits of Unix milliseconds, 74 random bits."""
    milliseconds = int(clock.now().timestamp() * 1000)
    value = (milliseconds & (2**48 - 1)) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)
