"""The strict reading layer: sizes, gzip, UTF-8, JSON without duplicate keys and NaN, JSON lines, CSV with bounded rows.

Nothing is unpacked beyond its limit: bytes are counted while they come, and the length a gzip file claims is not read.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Final

from pilots.baseline.importers.common import BenchmarkRefused, short

MAX_BYTES: Final = 8 * 2**20  # of an upload, and of what it unpacks to
MAX_FILE_BYTES: Final = 32 * 2**20  # of a file on the command line that is held as a whole
MAX_STREAM_BYTES: Final = 16 * 2**30  # of a file that is read as a stream
MAX_RATIO: Final = 200
MAX_DEPTH: Final = 12
MAX_VALUES: Final = 2_000_000
MAX_LINES: Final = 200_000
MAX_CELLS: Final = 4_000
HEAD_BYTES: Final = 2**20
GZIP: Final = b"\x1f\x8b"
ZIP: Final = b"PK\x03\x04"
COMMAND: Final = "python -m pilots.baseline import"
_OTHERS: Final = (b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_STRINGS: Final = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL
)  # one that never ends is one, too
Progress = Callable[[int, int], None]


class _Constant(str):
    """NaN or infinity as a JSON text spells it."""

    __slots__ = ()


@dataclass(frozen=True)
class Source:
    """A file to read: how to open it, its size in bytes, how much may be held, and who hears how far it is."""

    opened: Callable[[], BinaryIO]
    size: int
    limit: int = MAX_BYTES
    stream_limit: int = MAX_BYTES
    progress: Progress = field(default=lambda _done, _total: None)

    @classmethod
    def of_bytes(cls, data: bytes) -> Source:
        """Return the source of an upload."""
        return cls(lambda: io.BytesIO(data), len(data))

    @classmethod
    def of_path(cls, path: Path, progress: Progress) -> Source:
        """Return the source of a file on the command line."""
        size = path.stat().st_size
        return cls(lambda: path.open("rb"), size, MAX_FILE_BYTES, MAX_STREAM_BYTES, progress)

    @cached_property
    def head(self) -> bytes:
        """The first MiB after unpacking; raises BenchmarkRefused for an empty file or another packing."""
        found = b""
        for chunk in self.chunks():
            found += chunk
            if len(found) >= HEAD_BYTES:
                break
        if not found.strip():
            raise BenchmarkRefused("EMPTY", "Die Datei ist leer.")
        if found.startswith(_OTHERS):
            sentence = "Die Datei ist auf eine Art gepackt, die nicht gelesen wird; bitte entpacken Sie sie."
            raise BenchmarkRefused("COMPRESSED", sentence)
        return found[:HEAD_BYTES]

    @cached_property
    def start(self) -> str:
        """The first MiB as text; bytes that are no UTF-8 are replaced."""
        return self.head.decode("utf-8-sig", errors="replace")

    def chunks(self) -> Iterator[bytes]:
        """Yield the unpacked bytes in pieces of at most a MiB; raises BenchmarkRefused at the limit of a stream."""
        seen = 0
        for chunk in _unpacked(self):
            seen += len(chunk)
            if seen > self.stream_limit:
                raise too_large(self.stream_limit)
            yield chunk

    def data(self) -> bytes:
        """Return all unpacked bytes; raises BenchmarkRefused beyond the limit."""
        parts, seen = [], 0
        for chunk in self.chunks():
            seen += len(chunk)
            if seen > self.limit:
                raise too_large(self.limit)
            parts.append(chunk)
        return b"".join(parts)

    def text(self) -> str:
        """Return the whole text in UTF-8, with or without a byte order mark; raises BenchmarkRefused."""
        try:
            return self.data().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BenchmarkRefused("NOT_TEXT", "Die Datei ist kein Text in UTF-8.") from error


def too_large(limit: int) -> BenchmarkRefused:
    """Return the refusal of a file beyond its limit; an upload learns of the command."""
    hint = f"; größere Dateien liest „{COMMAND}“" if limit == MAX_BYTES else ""
    return BenchmarkRefused("TOO_LARGE", f"Die Datei ist größer als {limit // 2**20} MiB{hint}.")


def _unpacked(source: Source) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked if it is gzip; progress counts the bytes of the file."""
    read = produced = 0
    packer: zlib._Decompress | None = None
    with source.opened() as file:
        rest = file.read(HEAD_BYTES)
        packed = rest.startswith(GZIP)
        while rest:
            read += len(rest)
            source.progress(min(read, source.size), source.size)
            if not packed:
                yield rest
            while packed and rest:
                packer = packer or zlib.decompressobj(wbits=31)
                chunk, rest, packer = _piece(packer, rest)
                produced += len(chunk)
                if produced > MAX_RATIO * read + HEAD_BYTES:
                    sentence = "Die gepackte Datei wird beim Entpacken unverhältnismäßig groß."
                    raise BenchmarkRefused("BOMB", sentence)
                if chunk:
                    yield chunk
            rest = file.read(HEAD_BYTES)
    if packer is not None:
        raise BenchmarkRefused("TRUNCATED", "Die gepackte Datei bricht mitten im Inhalt ab.")


def _piece(packer: zlib._Decompress, data: bytes) -> tuple[bytes, bytes, zlib._Decompress | None]:
    """Return up to a MiB of unpacked bytes, what is left to unpack, and the packer unless its member has ended."""
    try:
        chunk = packer.decompress(data, HEAD_BYTES)
    except zlib.error as error:
        raise BenchmarkRefused("TRUNCATED", "Die gepackte Datei ist beschädigt.") from error
    if packer.eof:
        return chunk, packer.unused_data.lstrip(b"\0"), None
    return chunk, packer.unconsumed_tail, packer


def parse_json(text: str, *, constants: Collection[str] = ()) -> Any:
    """Return the value of a JSON text inside the limits; raises BenchmarkRefused.

    constants: keys whose value may be NaN or infinity; such a value becomes None.
    """
    check_shape(text)

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in found:
            if key in result:
                raise BenchmarkRefused("DUPLICATE_KEY", f"Das Feld {short(key)} kommt doppelt vor.")
            if isinstance(value, _Constant):
                if key not in constants:
                    raise _not_finite(value)
                result[key] = None
            else:
                result[key] = value
        return result

    def constant(word: str) -> Any:
        if not constants:
            raise _not_finite(word)
        return _Constant(word)

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except BenchmarkRefused:
        raise
    except (ValueError, RecursionError) as error:
        raise BenchmarkRefused("NOT_JSON", "Die Datei ist kein gültiges JSON.") from error


def json_object(source: Source, *, constants: Collection[str] = ()) -> dict[str, Any]:
    """Return the one JSON object of a file; raises BenchmarkRefused."""
    value = parse_json(source.text(), constants=constants)
    if not isinstance(value, dict):
        raise BenchmarkRefused("NOT_THIS_TOOL", "Die Datei ist kein JSON-Objekt.")
    return value


def json_lines(source: Source, *, constants: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the objects of a file with one JSON object per line; raises BenchmarkRefused naming the line."""
    found = []
    for index, line in enumerate(lines(source.text()), 1):
        if not line.strip():
            continue
        try:
            value = parse_json(line, constants=constants)
        except BenchmarkRefused as error:
            raise BenchmarkRefused(error.code, f"Zeile {index}: {error.message_de}") from error
        if not isinstance(value, dict):
            raise BenchmarkRefused("NOT_THIS_TOOL", f"Zeile {index} ist kein JSON-Objekt.")
        found.append(value)
    return found


def check_shape(text: str) -> None:
    """Refuse a text that nests too deeply or holds too many values, without parsing it."""
    if text.count(",") + text.count("[") + text.count("{") > MAX_VALUES:
        raise BenchmarkRefused("TOO_LARGE", f"Die Datei enthält mehr als {MAX_VALUES} Werte.")
    depth = 0
    for found in re.finditer(r"[\[\]{}]", _STRINGS.sub("", text)):
        depth += 1 if found[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise BenchmarkRefused("TOO_DEEP", f"Die Datei ist tiefer als {MAX_DEPTH} Ebenen verschachtelt.")


def lines(text: str) -> list[str]:
    """Return the lines of a text; raises BenchmarkRefused for too many."""
    if text.count("\n") > MAX_LINES:
        raise BenchmarkRefused("TOO_LARGE", f"Die Datei hat mehr als {MAX_LINES} Zeilen.")
    return text.split("\n")


def csv_rows(text: str, separator: str = ",") -> list[list[str]]:
    """Return the rows of a table, cells stripped, blank rows as []; raises BenchmarkRefused."""
    found = []
    lines(text)
    try:
        for row in csv.reader(
            io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True
        ):
            if len(row) > MAX_CELLS:
                raise BenchmarkRefused(
                    "TOO_LARGE", f"Eine Zeile der Tabelle hat mehr als {MAX_CELLS} Zellen."
                )
            found.append([cell.strip() for cell in row])
    except csv.Error as error:
        raise BenchmarkRefused("NOT_CSV", f"Zeile {len(found) + 1} der Tabelle ist nicht lesbar.") from error
    return found


def _not_finite(word: str) -> BenchmarkRefused:
    return BenchmarkRefused("NOT_FINITE", f"Die Datei enthält {word} statt einer Zahl.")
