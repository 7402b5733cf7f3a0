"""Tables of the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pilots.cluster.workloads import Family

NAMES_DE: Final[dict[Family, str]] = {
    Family.OPERATORS: "Operatoren",
    Family.COLLECTIVES: "Kollektive",
    Family.SERVING: "Serving, fester Stapel",
    Family.OFFLINE: "Serving, größter Durchsatz",
    Family.SERVER: "Serving unter Latenzgrenze",
    Family.TRAINING: "Training",
}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a Markdown table; heads that end in > are aligned to the right."""
    lines = ["| " + " | ".join(head.rstrip(">") for head in heads) + " |"]
    lines.append("|" + "|".join("---:" if head.endswith(">") else "---" for head in heads) + "|")
    lines += ["| " + " | ".join(cell(item) for item in row) + " |" for row in rows]
    return [*lines, ""]


def cell(text: str) -> str:
    """Return a text that cannot break a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def yes(value: bool | None) -> str:
    """Return ja, nein, or a dash where nothing was asked."""
    return {True: "ja", False: "nein", None: "–"}[value]
