"""Our extract of a file of published figures: what `data/reference.json` keeps of it.

One use: `python -m pilots.cluster calibrate --extract FILE` prints `data/reference.json` again. Values stay as they are;
quotations and notes are left out, so that figures with a licence of their own are cited and not copied.
"""

from __future__ import annotations

from typing import Any, Final

ABOUT: Final = (
    "Extract of the published figures that device catalogue, model and validation use; values are unchanged."
)
FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "hardware": ("confidence", "id", "metric", "source", "system", "unit", "value"),
    "measured": ("confidence", "id", "metric", "params", "source", "system", "unit", "value", "workload"),
}
NOT_KEPT: Final = (
    "note",
    "submitter",
    "submission_org",
    "submission_platform",
    "division",
    "score_rule",
    "formula",
)


def extract(full: dict[str, Any]) -> dict[str, Any]:
    """Return the extract of a whole file; raises KeyError if one of its lists is missing."""
    return {"about": ABOUT} | {
        part: [_row(item, names) for item in full[part]] for part, names in FIELDS.items()
    }


def _row(item: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    row = {name: item[name] for name in names if name in item}
    if "params" in row:
        row["params"] = {name: value for name, value in row["params"].items() if name not in NOT_KEPT}
    return row
