"""Which characters the bundled fonts can draw; asked before rendering, since a missing glyph is silent. Django-free."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from qms.core.characters import first_hidden
from qms.signing.errors import GlyphMissing

FONT_FOLDER: Final = Path(__file__).resolve().parent.parent / "web" / "static" / "fonts"
FONT_FILES: Final = ("IBMPlexSans-Regular.woff2", "IBMPlexSans-SemiBold.woff2")
_LAYOUT_ONLY: Final = frozenset("\n\r\u00ad\u200b")


@cache
def drawable() -> frozenset[str]:
    """Return the characters that every bundled cut can draw."""
    from fontTools.ttLib import TTFont  # noqa: PLC0415 - heavy, and needed by the rendering job only

    cuts = [set(TTFont(FONT_FOLDER / name)["cmap"].getBestCmap()) for name in FONT_FILES]
    return frozenset(chr(code) for code in set.intersection(*cuts))


@cache
def unpacked(name: str) -> bytes:
    """Return a bundled font as TrueType; unpacking WOFF2 takes half a second, and each picture asks for it."""
    from fontTools.ttLib import TTFont  # noqa: PLC0415 - as above

    font, stream = TTFont(FONT_FOLDER / name, recalcTimestamp=False), io.BytesIO()
    font.flavor = None
    font.save(stream)
    return stream.getvalue()


def check(text: str) -> None:
    """Refuse a text with a character the fonts lack; raises GlyphMissing naming it."""
    for character in text:
        if character in _LAYOUT_ONLY:
            continue
        if character not in drawable() or first_hidden(character):
            code = f"U+{ord(character):04X}"
            name = unicodedata.name(character, code)
            shown = character if character.isprintable() else code  # a hidden one could turn this sentence
            message = f"Das Zeichen „{shown}“ kann im Dokument nicht dargestellt werden. ({name})"
            raise GlyphMissing(message, character)


def check_all(value: Any) -> None:
    """Check every text in a JSON value, keys left out; raises GlyphMissing."""
    for text in _texts(value):
        check(text)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
