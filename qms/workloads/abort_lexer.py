"""Tokens of an abort criterion with their position; the parser stands in `abort_grammar`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """Kind of a token; internal."""

    WORD = "WORD"
    NUMBER = "NUMBER"
    SYMBOL = "SYMBOL"
    END = "END"


@dataclass(frozen=True, slots=True)
class Token:
    """One token; line and column count from 1, text of END is empty."""

    kind: Kind
    text: str
    line: int
    column: int


# A comma is part of a number only between two digits; elsewhere it separates actions.
_PATTERN: Final = re.compile(
    r"(?P<NUMBER>\d+(?:[.,]\d+)?)"
    r"|(?P<WORD>°C|[A-Za-zÄÖÜäöüß_][A-Za-zÄÖÜäöüß0-9_.]*(?:-[A-Za-zÄÖÜäöüß0-9_.]+)*)"
    r"|(?P<SYMBOL><=|>=|==|!=|.)"
)


def tokenize(text: str) -> list[Token]:
    """Return the tokens of `text` and one END token; any character is a token, so this never fails."""
    tokens: list[Token] = []
    line_number = 0
    lines = text.split("\n")
    for line_number, line in enumerate(lines, start=1):
        position = 0
        while position < len(line):
            if line[position].isspace():
                position += 1
                continue
            match = _PATTERN.match(line, position)
            if match is None or match.lastgroup is None:
                tokens.append(Token(Kind.SYMBOL, line[position], line_number, position + 1))
                position += 1
                continue
            tokens.append(Token(Kind(match.lastgroup), match.group(), line_number, position + 1))
            position = match.end()
    tokens.append(Token(Kind.END, "", line_number, len(lines[-1].rstrip()) + 1))
    return tokens
