"""The deviations of a target run from its baseline (EV-16) as a table. No rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from qms.web import tables
from qms.workloads.choices import DeviationField


def table_of(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what was listed, with reason and effect; None where nothing was."""
    listed = facts.get("deviations")
    if not listed:
        return None
    columns = [
        (_("Abweichung"), False),
        (_("Vergleichsbasis"), False),
        (_("Ziellauf"), False),
        (_("Grund und Wirkung"), False),
    ]
    rows = [
        [
            {"text": str(DeviationField(row["field"]).label)},
            {"text": row["baseline"]},
            {"text": row["target"]},
            {"text": row["reason"], "small": row["effect"]},
        ]
        for row in listed
    ]
    return tables.table(_("Abweichungen von der Vergleichsbasis"), columns, rows)
