"""Checks on the bytes alone, cheap and first: ranges, strict hex, digests, the form of the last token. Django-free.

Numbers are those of signing.md 8.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from asn1crypto import cms
from asn1crypto.parser import peek

from qms.signing import tst
from qms.signing.report import ClaimName, Finding, Severity

_HEX: Final = frozenset(b"0123456789ABCDEF")
_DIGESTS: Final = frozenset({"sha256", "sha384", "sha512"})


@dataclass(frozen=True, slots=True)
class RawSignature:
    """Where one signature lies in the file: name, byte range, its DER bytes, whether it is a document timestamp."""

    field: str
    byte_range: tuple[int, int, int, int]
    der: bytes
    is_timestamp: bool


def trimmed(padded: bytes) -> bytes:
    """Return the DER value at the start of a padded signature value; raises ValueError when there is none."""
    return padded[: int(peek(padded))]


def check(data: bytes, signatures: list[RawSignature], covered: frozenset[bytes]) -> Iterator[Finding]:
    """Yield what is wrong with the bytes of the signatures, given in file order.

    covered: the certificates (DER) that the file embeds elsewhere, where its last signature covers them.
    """
    for signature in signatures:
        yield from _check_hex(data, signature)
        yield from _check_digest(data, signature)
    if signatures:
        yield from _check_last(data, signatures[-1], covered)


def _check_hex(data: bytes, signature: RawSignature) -> Iterator[Finding]:
    """10: between the ranges stand exactly `<`, upper-case hex, `>`; behind the DER only zeros."""
    first, length, second, rest = signature.byte_range
    if first != 0 or not 0 < length < second or second + rest > len(data):
        yield _broken(10, signature, "der Bereich der Signatur ist fehlerhaft")
        return
    gap = data[length:second]
    if gap[:1] != b"<" or gap[-1:] != b">" or not set(gap[1:-1]) <= _HEX or len(gap) % 2:
        yield _broken(10, signature, "die Schreibweise des Signaturwerts weicht ab")
        return
    raw = bytes.fromhex(gap[1:-1].decode())
    if raw[: len(signature.der)] != signature.der or any(raw[len(signature.der) :]):
        yield _broken(10, signature, "hinter dem Signaturwert stehen fremde Zeichen")


def _check_digest(data: bytes, signature: RawSignature) -> Iterator[Finding]:
    """4 (its cheap part): the signed bytes have the digest that the signature names."""
    try:
        name, expected = _named_digest(signature)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        yield _broken(4, signature, "der Signaturwert ist nicht lesbar")
        return
    if name not in _DIGESTS:
        yield _broken(4, signature, f"das Prüfsummenverfahren {name} ist nicht zugelassen")
        return
    first, length, second, rest = signature.byte_range
    covered = data[first : first + length] + data[second : second + rest]
    if hashlib.new(name, covered).digest() != expected:
        yield _broken(4, signature, "der Inhalt stimmt nicht mit der Signatur überein")


def _named_digest(signature: RawSignature) -> tuple[str, bytes]:
    content: Any = cms.ContentInfo.load(signature.der)["content"]
    if signature.is_timestamp:
        imprint = content["encap_content_info"]["content"].parsed["message_imprint"]
        return imprint["hash_algorithm"]["algorithm"].native, imprint["hashed_message"].native
    (signer,) = content["signer_infos"]
    values = {item["type"].native: item["values"] for item in signer["signed_attrs"]}
    return signer["digest_algorithm"]["algorithm"].native, values["message_digest"][0].native


def _check_last(data: bytes, last: RawSignature, covered: frozenset[bytes]) -> Iterator[Finding]:
    """5: the last signature reaches to the end of the file. 11: its token holds nothing but what is signed.

    The certificates in the token are covered by nothing; they must be the very ones embedded in the signed part.
    """
    _, _, second, rest = last.byte_range
    if second + rest != len(data):
        text = f"Verändert nach {last.field}: hinter der letzten Signatur stehen weitere Bytes"
        yield Finding(5, Severity.CHANGED, text, ClaimName.INTACT)
    if not last.is_timestamp:
        return  # an unfinished file; rules 1 to 3 name what is missing
    try:
        same = tst.rebuild(last.der) == last.der and tst.certificates(last.der) <= covered
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        same = False
    if not same:
        yield _broken(11, last, "der Zeitstempel enthält Teile, die niemand signiert hat")


def _broken(rule: int, signature: RawSignature, text: str) -> Finding:
    return Finding(rule, Severity.INVALID, f"{signature.field}: {text}", ClaimName.INTACT)
