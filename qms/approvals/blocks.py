"""The building blocks of a section of the signed document: a table, facts, a paragraph, a note."""

from __future__ import annotations

from typing import Any

Block = dict[str, Any]
Section = dict[str, Any]


def section(number: str, title: str, *blocks: Block) -> Section:
    """Return a section with its number and title."""
    return {"number": number, "title": title, "blocks": list(blocks)}


def facts(rows: list[list[str]]) -> Block:
    """Return label and value, row by row; an empty value becomes a dash."""
    return {"kind": "facts", "rows": [[label, value or "–"] for label, value in rows]}


def paragraph(text: str) -> Block:
    """Return a paragraph."""
    return {"kind": "paragraph", "text": text}


def note(text: str) -> Block:
    """Return a sentence that must not be overlooked."""
    return {"kind": "note", "text": text}


def table(
    caption: str, head: list[str], rows: list[list[str]], widths: list[int], *, numeric: tuple[int, ...] = ()
) -> Block:
    """Return a table; `widths` in per cent, one per column, in steps of five; numeric: columns set to the right."""
    found = {"kind": "table", "caption": caption, "head": head, "rows": rows, "widths": widths}
    return found | ({"numeric": list(numeric)} if numeric else {})
