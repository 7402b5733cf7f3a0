"""Numbers and tables of the report, in German."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from math import floor, log10

from pilots.wafer.german import number
from qms.core.values import rounded


def percent(share: float) -> str:
    """Return 0.034 as "3,4 %"; from 100 % on without decimals, above a million as a factor."""
    if share >= 1e4:
        return f"{amount(share + 1)}-fach"
    return f"{number(Decimal(repr(share * 100)), 0 if share >= 1 else 1)} %"


def signed_percent(share: float) -> str:
    """Return a share with its sign."""
    return f"+{percent(share)}" if share > 0 else percent(share)


def amount(value: float) -> str:
    """Return a figure with four significant digits."""
    if value == 0:
        return "0"
    decimals = max(0, 3 - floor(log10(abs(value))))
    return number(rounded(value, 4), min(decimals, 9))


def times(factor: float) -> str:
    """Return a half-width as "×÷ 1,12"."""
    return f"×÷ {number(rounded(factor, 4), 2)}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a Markdown table; heads that end in > are aligned to the right."""
    lines = ["| " + " | ".join(head.rstrip(">") for head in heads) + " |"]
    lines.append("|" + "|".join("---:" if head.endswith(">") else "---" for head in heads) + "|")
    lines += ["| " + " | ".join(cell(item) for item in row) + " |" for row in rows]
    return [*lines, ""]


def cell(text: str) -> str:
    """Return a text that cannot break a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
