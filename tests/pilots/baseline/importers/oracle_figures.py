"""What the oracles share: figures by (key, percentile, name), and how a number is read and ranked plainly."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, nan
from typing import Any

Figures = dict[tuple[str, str, str], float]
Oracle = Callable[[bytes], list[Figures]]
MIB = 1048576


def number(text: Any) -> float:
    """Return a number, not a number for any other text: no importer may give a figure for it."""
    try:
        return float(str(text).strip())
    except ValueError:
        return nan


def rank(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[max(1, ceil(percent * len(ordered) / 100 - 1e-9)) - 1]


def put(
    found: Figures, key: str, value: Any, percentile: str = "", *, scale: float = 1.0, name: str = ""
) -> None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        found[key, percentile, name] = value * scale


def table(found: Figures, row: dict[str, Any], names: dict[str, tuple[str, str, float]]) -> None:
    for field, (key, percentile, scale) in names.items():
        if field in row:
            put(found, key, row[field], percentile, scale=scale)


def shown(text: str) -> str:
    return "".join(item if item.isprintable() else "?" for item in text[:100])
