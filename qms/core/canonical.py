"""Canonical JSON (RFC 8785) for everything that is hashed or signed. Django-free.

The value profile is stricter than JSON so that two writers cannot disagree: no floats, integers within
+-2**53, NFC strings, ASCII keys. Decimals travel as strings.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from typing import Any, Final

import orjson

MAX_SAFE_INTEGER: Final = 2**53  # RFC 7493, section 2.2


class CanonicalError(ValueError):
    """A value or a text lies outside the profile; the message names the path and the reason."""


def dumps(value: object) -> bytes:
    """Return the RFC 8785 bytes of `value`; raises CanonicalError naming the path of the first bad value."""
    _check(value, "$")
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def loads(data: bytes | str) -> Any:
    """Parse JSON strictly: duplicate keys, floats and values outside the profile raise CanonicalError."""
    try:
        value = json.loads(data, object_pairs_hook=_unique, parse_float=_no_float, parse_constant=_no_float)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CanonicalError(f"not valid JSON: {error}") from error
    _check(value, "$")
    return value


def sha256_hex(data: bytes) -> str:
    """Return the lower-case hexadecimal SHA-256 of `data` (64 characters)."""
    return hashlib.sha256(data).hexdigest()


def digest(value: object) -> str:
    """Return the SHA-256 of the canonical form of `value`, in lower-case hexadecimal."""
    return sha256_hex(dumps(value))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise CanonicalError(f"duplicate key {key!r}")
        result[key] = value
    return result


def _no_float(text: str) -> Any:
    raise CanonicalError(f"number {text} is not an integer; write decimals as strings")


def _check(value: object, path: str) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, int):
        if abs(value) > MAX_SAFE_INTEGER:
            raise CanonicalError(f"{path}: integer beyond 2**53")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str) or not key.isascii():
                raise CanonicalError(f"{path}: key {key!r} is not ASCII text")
            _check(item, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check(item, f"{path}[{index}]")
    else:
        raise CanonicalError(f"{path}: {type(value).__name__} is not allowed")


def _check_text(text: str, path: str) -> None:
    if not unicodedata.is_normalized("NFC", text):
        raise CanonicalError(f"{path}: text is not NFC")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise CanonicalError(f"{path}: lone surrogate") from error
