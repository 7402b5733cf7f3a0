"""Soft hyphens in German words, by Liang's algorithm over the de-1996 patterns (ui.md section 7).

Browsers on many systems carry no German dictionary, so the server marks where a long word may break.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

SOFT_HYPHEN = "\u00ad"
MIN_WORD = 9
MIN_LEFT = 3
MIN_RIGHT = 3

# Words of this product that the patterns do not know: English parts, or a break that misleads the eye.
CORRECTIONS = {
    "checkpoints": "check-points",
    "qualitätsmanagement": "qualitäts-management",
    "risikomanagement": "risiko-management",
    "entscheidungsreif": "entscheidungs-reif",
    "entscheidungsreife": "entscheidungs-reife",
    "freigabeantrag": "freigabe-antrag",
    "funktionstrennung": "funktions-trennung",
    "kritikalität": "kriti-kalität",
    "unabhängig": "unab-hängig",
    "unabhängige": "unab-hängige",
    "unabhängiger": "unab-hängiger",
    "workloads": "work-loads",
    "zeitstempel": "zeit-stempel",
    "zeitstempeldienst": "zeit-stempel-dienst",
    "zeitstempeln": "zeit-stempeln",
}

_PATTERN_FILE = Path(__file__).parent / "hyphen_patterns" / "de-1996.txt"
_WORD = re.compile(rf"[^\W\d_]{{{MIN_WORD},}}")


def soften(text: str) -> str:
    """Return German `text` with soft hyphens in its long words; text that has some already stays as it is."""
    if SOFT_HYPHEN in text:
        return text
    return _WORD.sub(lambda match: _soften_word(match.group()), text)


def harden(text: str) -> str:
    """Return `text` without soft hyphens."""
    return text.replace(SOFT_HYPHEN, "")


@lru_cache(maxsize=4096)
def _soften_word(word: str) -> str:
    if word.isupper():
        return word
    breaks = _known_breaks(word.lower())
    if breaks is None:
        breaks = _pattern_breaks(word.lower())
    parts, start = [], 0
    for position in breaks:
        parts.append(word[start:position])
        start = position
    return SOFT_HYPHEN.join([*parts, word[start:]])


def _known_breaks(word: str) -> list[int] | None:
    known = CORRECTIONS.get(word)
    if known is None:
        return None
    return [match.start() - count for count, match in enumerate(re.finditer("-", known))]


def _pattern_breaks(word: str) -> list[int]:
    """Return the positions before which `word` may break; odd levels allow a break (Liang 1983)."""
    framed = f".{word}."
    levels = [0] * (len(framed) + 1)
    patterns, longest = _patterns()
    for start in range(len(framed)):
        for end in range(start + 1, min(start + longest, len(framed)) + 1):
            found = patterns.get(framed[start:end], ())
            for offset, level in enumerate(found):
                levels[start + offset] = max(levels[start + offset], level)
    return [at for at in range(MIN_LEFT, len(word) - MIN_RIGHT + 1) if levels[at + 1] % 2]


@lru_cache(maxsize=1)
def _patterns() -> tuple[dict[str, tuple[int, ...]], int]:
    """Return letters with the level before each letter and after the last, and the longest pattern's length."""
    table: dict[str, tuple[int, ...]] = {}
    for line in _PATTERN_FILE.read_text(encoding="utf-8").split():
        letters = re.sub(r"\d", "", line)
        levels = [int(found) if found else 0 for found in re.findall(r"(\d?)(?:\D|$)", line)]
        table[letters] = tuple(levels[: len(letters) + 1])
    return table, max(map(len, table))
