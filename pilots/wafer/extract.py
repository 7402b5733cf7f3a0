"""Our extract of a file of published figures: what `data/reference.json` keeps of it.

One use: `python -m pilots.wafer.calibrate --extract FILE` prints `data/reference.json` again. Values stay as they are;
long quotations are cut.
"""

from __future__ import annotations

from typing import Any, Final

ABOUT: Final = (
    "Extract of the published figures that machine descriptions, timing model and validation use; values are unchanged, "
    "quotations are cut."
)
FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "formulas": ("formula", "id", "source"),
    "hardware": ("confidence", "id", "metric", "params", "source", "system", "unit", "value"),
    "measured": (
        "confidence",
        "id",
        "metric",
        "params",
        "quote",
        "source",
        "system",
        "unit",
        "value",
        "workload",
    ),
}
MAX_QUOTE: Final = 100


def extract(full: dict[str, Any]) -> dict[str, Any]:
    """Return the extract of a whole file; raises KeyError if one of its three lists is missing."""
    return {"about": ABOUT} | {
        part: [_row(item, names) for item in full[part]] for part, names in FIELDS.items()
    }


def _row(item: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    row = {name: item[name] for name in names if name in item}
    if len(row.get("quote", "")) > MAX_QUOTE:
        row["quote"] = row["quote"][: MAX_QUOTE - 1] + "…"
    return row
