"""Characters that people cannot see but that change what they read: controls, and marks that turn the direction."""

from __future__ import annotations

import unicodedata
from typing import Final

_LAYOUT: Final = frozenset("\n\r\t\u00ad\u200b")
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})  # Unicode general categories


def first_hidden(text: str) -> str:
    """Return the code point of the first such character, as "U+202E"; empty if there is none."""
    for character in text:
        if character not in _LAYOUT and unicodedata.category(character) in _HIDDEN:
            return f"U+{ord(character):04X}"
    return ""
