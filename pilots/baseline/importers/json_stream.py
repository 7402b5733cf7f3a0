"""Elements of one array of a large JSON object, one by one, in bounded memory.

A window of text slides over the file; the decoder of the standard library reads the value at its start. Of the other
members of the object only plain values are kept. Values may not be larger than LIMIT characters.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pilots.baseline.importers.common import BenchmarkRefused, short

LIMIT: Final = 4 * 2**20
MAX_MEMBERS: Final = 1000
_LONGEST_NUMBER: Final = 400
_KEPT: Final = 1000  # characters of a text that is kept
_SPACE: Final = re.compile(r"[ \t\r\n]*")


class Elements:
    """The elements of `array`; after the last one `others` holds the plain members of the object."""

    def __init__(self, chunks: Iterable[bytes], array: str) -> None:
        self.others: dict[str, Any] = {}
        self._array = array
        self._chunks = iter(chunks)
        self._text, self._place = "", 0
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._ended = False
        self._decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_no_constant)

    def __iter__(self) -> Iterator[Any]:
        """Yield the elements in order; raises BenchmarkRefused for a text that is no such object."""
        self._expect("{")
        seen: set[str] = set()
        while True:
            key = self._value()
            if not isinstance(key, str) or key in seen or len(seen) > MAX_MEMBERS:
                raise BenchmarkRefused("DUPLICATE_KEY", f"Das Feld {short(str(key))} kommt doppelt vor.")
            seen.add(key)
            self._expect(":")
            if key == self._array:
                yield from self._elements()
            else:
                value = self._value()
                if isinstance(value, int | float) or (isinstance(value, str) and len(value) <= _KEPT):
                    self.others[key] = value
            if self._separator("}"):
                break
        if self._array not in seen:
            raise BenchmarkRefused("MISSING_FIELD", f"Der Datei fehlt das Feld {self._array}.")
        if self._peek():
            raise _not_json()

    def _elements(self) -> Iterator[Any]:
        self._expect("[")
        if self._peek() == "]":
            self._place += 1
            return
        while True:
            yield self._value()
            if self._separator("]"):
                return

    def _separator(self, end: str) -> bool:
        """Step over a comma or the end; say whether it was the end."""
        found = self._peek()
        if found not in {",", end} or not found:
            raise _not_json()
        self._place += 1
        return found == end

    def _expect(self, mark: str) -> None:
        if self._peek() != mark:
            raise _not_json()
        self._place += 1

    def _peek(self) -> str:
        """Return the next character that is no space, "" at the end of the file."""
        while True:
            found = _SPACE.match(self._text, self._place)
            self._place = found.end() if found else self._place
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._more():
                return ""

    def _value(self) -> Any:
        self._peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._place)
            except BenchmarkRefused:
                raise
            except (ValueError, RecursionError) as error:
                if (
                    isinstance(error, RecursionError)
                    or len(self._text) - self._place > LIMIT
                    or not self._more()
                ):
                    raise _not_json() from error
                continue
            length, rest = end - self._place, len(self._text) - end
            if isinstance(value, int | float) and rest < _LONGEST_NUMBER and self._more():
                continue  # the number may go on
            self._place += length
            return value

    def _more(self) -> bool:
        """Append the next piece and drop what was read; say whether there was one."""
        if self._ended:
            return False
        chunk = next(self._chunks, None)
        self._ended = chunk is None
        try:
            text = self._utf8.decode(chunk or b"", final=self._ended)
        except UnicodeDecodeError as error:
            raise BenchmarkRefused("NOT_TEXT", "Die Datei ist kein Text in UTF-8.") from error
        self._text, self._place = self._text[self._place :] + text, 0
        return not self._ended or bool(text)


def _not_json() -> BenchmarkRefused:
    return BenchmarkRefused("NOT_JSON", "Die Datei ist kein gültiges JSON oder bricht ab.")


def _pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(found)
    if len(result) != len(found):
        raise BenchmarkRefused("DUPLICATE_KEY", "Ein Feld eines Ereignisses kommt doppelt vor.")
    return result


def _no_constant(word: str) -> Any:
    raise BenchmarkRefused("NOT_FINITE", f"Die Datei enthält {word} statt einer Zahl.")
