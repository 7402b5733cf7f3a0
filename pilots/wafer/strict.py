"""Strict reading of small JSON files: one wrong field gives one German sentence with its name, value and range.

Numbers must be plain integers of at most 18 digits; duplicate keys, fractions, exponents, NaN and infinity are refused
where they stand.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pilots.wafer.errors import WaferError
from pilots.wafer.german import clean, number

MAX_TEXT: Final = 300


class FileError(WaferError):
    """Base of what can be wrong with a file; `field` is the path of the first wrong one, "" for the whole."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(f"{field or 'file'}: {sentence}", message_de=sentence)
        self.field = field


class NotReadable(FileError):
    """The text is no JSON object of bearable size and depth."""


class MissingField(FileError):
    """A required field is not there."""

    def __init__(self, field: str) -> None:
        super().__init__(field, f"In der Datei fehlt das Feld „{field}“.")


class UnknownField(FileError):
    """A field has no meaning."""

    def __init__(self, field: str, known: tuple[str, ...]) -> None:
        listed = ", ".join(known)
        super().__init__(
            field, f"Die Datei hat ein unbekanntes Feld „{clean(field)}“; erlaubt sind: {listed}."
        )


class DuplicateField(FileError):
    """A field stands twice in one object."""

    def __init__(self, field: str) -> None:
        super().__init__(field, f"Das Feld „{clean(field)}“ steht in der Datei zweimal.")


class BadValue(FileError):
    """A value is not of its kind or outside its range."""

    def __init__(self, field: str, got: object, allowed: str) -> None:
        super().__init__(field, f"Das Feld „{field}“ hat den Wert {_shown(got)}; erlaubt ist {allowed}.")


class Contradiction(FileError):
    """Two figures cannot both be true."""


@dataclass(frozen=True, slots=True)
class _Odd:
    """A number that is no plain integer, as it stood in the text."""

    text: str


def parsed(content: str, *, max_characters: int) -> Any:
    """Return the JSON value of a file's content; raises NotReadable or DuplicateField."""
    if len(content) > max_characters:
        raise NotReadable("", f"Die Datei hat mehr als die erlaubten {number(max_characters)} Zeichen.")
    try:
        return json.loads(
            content, object_pairs_hook=_unique, parse_float=_Odd, parse_constant=_Odd, parse_int=_whole
        )
    except json.JSONDecodeError as error:
        sentence = f"Die Datei ist kein gültiges JSON (Zeile {error.lineno}, Spalte {error.colno})."
        raise NotReadable("", sentence) from error
    except RecursionError as error:
        raise NotReadable("", "Die Datei ist zu tief verschachtelt.") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise DuplicateField(key)
        found[key] = value
    return found


def _whole(text: str) -> int | _Odd:
    return int(text) if len(text) <= 18 else _Odd(text)


def fields_of(
    path: str, value: Any, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    """Return an object that has all required and no unknown fields; raises FileError."""
    if not isinstance(value, dict):
        if not path:
            raise NotReadable("", "Die Datei muss ein JSON-Objekt sein.")
        raise BadValue(path, value, f"ein Objekt mit {', '.join(required)}")
    before = f"{path}." if path else ""
    known = required + optional
    for key in value:
        if key not in known:
            raise UnknownField(before + key, known)
    for key in required:
        if key not in value:
            raise MissingField(before + key)
    return value


def items(path: str, value: Any, *, least: int, most: int) -> list[tuple[str, Any]]:
    """Return the entries of a list of bounded length, each with its path; raises BadValue."""
    if not isinstance(value, list) or not least <= len(value) <= most:
        shown = value if not isinstance(value, list) else f"Liste mit {number(len(value))} Einträgen"
        raise BadValue(path, shown, f"eine Liste mit {number(least)} bis {number(most)} Einträgen")
    return [(f"{path}[{index}]", item) for index, item in enumerate(value)]


def whole_number(path: str, value: Any, low: int, high: int, unit: str = "") -> int:
    """Return a plain integer of a range; raises BadValue."""
    if type(value) is not int or not low <= value <= high:
        raise BadValue(path, value, f"eine ganze Zahl von {number(low)} bis {number(high)} {unit}".rstrip())
    return value


def matching(path: str, value: Any, pattern: re.Pattern[str], allowed: str) -> str:
    """Return a text that matches a pattern as a whole; raises BadValue."""
    if not isinstance(value, str) or pattern.fullmatch(value) is None:
        raise BadValue(path, value, allowed)
    return value


def text(path: str, value: Any) -> str:
    """Return a short printable text; raises BadValue."""
    if (
        not isinstance(value, str)
        or not 1 <= len(value.strip()) <= len(value) <= MAX_TEXT
        or not value.replace("\u00a0", " ").isprintable()
        or not unicodedata.is_normalized("NFC", value)
    ):
        raise BadValue(path, value, f"ein druckbarer Text von 1 bis {MAX_TEXT} Zeichen (NFC)")
    return value


def flag(path: str, value: Any) -> bool:
    """Return true or false; raises BadValue."""
    if not isinstance(value, bool):
        raise BadValue(path, value, "true oder false")
    return value


def _shown(value: object) -> str:
    if isinstance(value, _Odd):
        shown = value.text
    elif isinstance(value, str):
        shown = f"„{value}“"
    elif type(value) is int:
        shown = number(value)
    else:
        shown = _dumped(value)
    return clean(shown)


def _dumped(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=True, default=lambda item: getattr(item, "text", "?"))
    except RecursionError:  # writing takes more of the stack than reading did
        return "zu tief verschachtelt"
