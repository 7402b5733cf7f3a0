"""Operations and the effort of porting (EV-04, EV-05) as tables. No rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from qms.core import formats
from qms.core.values import Axes
from qms.web import tables
from qms.web.evidence_names import EFFORT


def operations(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return how often each operation runs on each kernel, or why it has none; None where the evidence names none."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in facts.get("op_coverage", []):
        counts[row["op"], row["kernel"] or _("kein Kernel")] += 1
    for row in facts.get("operations", []):
        counts[row["op"], row["reason"] or ", ".join(row["kernels"]) or _bare(row)] += row["count"]
    if not counts:
        return None
    of_graph = bool(facts.get("op_coverage"))
    first = _("Operation des Graphen") if of_graph else _("Operation im Framework")
    columns = [(first, False), (_("Kernel"), False), (_("Anzahl"), True)]
    rows = [
        [{"text": op}, {"text": kernel}, {"text": formats.number(count, 0)}]
        for (op, kernel), count in counts.items()
    ]
    return tables.table(_("Operationen und ihre Kernel"), columns, rows)


def _bare(row: Mapping[str, Any]) -> str:
    """Return why an operation that is supported has no kernel."""
    return "–" if row["became"] else _("nur umgeordnet oder vorab berechnet")


def effort(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the person days by category with reason and sum, and the answer on partitioning (EV-05)."""
    stated = facts["porting_effort_pt"]
    names = [*(name for name in EFFORT if name in stated), *(name for name in stated if name not in EFFORT)]
    days = {name: Decimal(stated[name]) for name in names if stated[name] is not None}
    needed = {True: _("ja"), False: _("nein"), None: _("nicht beantwortet")}
    return {
        "table": _effort_table(facts, days) if days else None,
        "partitioning": needed[facts["partitioning_required"]],
        "reason": facts["partitioning_reason"],
    }


def _effort_table(facts: Mapping[str, Any], days: Mapping[str, Decimal]) -> dict[str, Any]:
    """Every figure carries the axes of the effort: a person states it, whatever the run repeated."""
    axes = Axes.from_json(facts["effort_axes"]) if "effort_axes" in facts else None
    reasons = facts.get("effort_reasons", {})
    columns = [(_("Kategorie"), False), (_("Personentage"), True), (_("Begründung"), False)]
    rows: list[list[dict[str, Any]]] = [
        [
            {"text": str(EFFORT.get(name, name))},
            {"text": formats.exact(value), "axes": axes},
            {"text": reasons.get(name, "–")},
        ]
        for name, value in days.items()
    ]
    total = formats.exact(sum(days.values(), Decimal(0)))
    rows.append([{"text": _("Summe")}, {"text": total, "axes": axes}, {"text": ""}])
    return tables.table(_("Aufwand in Personentagen"), columns, rows)
