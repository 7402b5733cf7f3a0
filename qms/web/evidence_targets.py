"""Quality targets beside the outputs that decide them (EV-06, G4-3). No rules."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from qms.core import formats, store
from qms.evidence.choices import EvidenceType
from qms.evidence.models import EvidenceItem
from qms.gates import evidence_facts, numeric_targets, selectors
from qms.gates.numeric_targets import Judged
from qms.web import tables, workload_changes
from qms.workloads.metrics import catalogue


def table_of(item: EvidenceItem) -> dict[str, Any] | None:
    """Return every quality target judged on this EV-06 with value and verdict; None without one, or for other types."""
    if item.type != EvidenceType.EQUIVALENCE or item.workload is None:
        return None
    try:
        found = evidence_facts.equivalence_from(item.facts())
    except (store.StoredFileError, evidence_facts.EvidenceFormatError):  # damaged, or without finite numbers
        return None
    rows = numeric_targets.judged(selectors.quality_targets(item.workload), found)
    columns = [
        (_("Qualitätsziel"), False),
        (_("gefordert"), True),
        (_("erreicht"), True),
        (_("Urteil"), False),
    ]
    return tables.table(_("Qualitätsziele"), columns, [_row(row) for row in rows]) if rows else None


def _row(row: Judged) -> list[dict[str, Any]]:
    target = row.target
    name = catalogue()[target.metric].name if target.metric in catalogue() else target.metric
    limit = "–"
    if target.comparator is not None and target.threshold is not None:
        limit = workload_changes.comparator_words(target.comparator, target.threshold, target.unit)
    return [
        {"text": name, "small": target.id},
        {"text": limit},
        {"text": _value(row.value, target.unit)},
        _verdict(row.met),
    ]


def _value(value: Decimal | None, unit: str) -> str:
    if value is None:
        return _("kein Wert")
    if not value.is_finite():
        return _("unbegrenzt")
    shown = round(value, 3 - value.adjusted()) if value and abs(value) < Decimal("0.1") else value
    return formats.exact_quantity(shown, unit)


def _verdict(met: bool | None) -> dict[str, Any]:
    if met is None:
        return {"status": "OFFEN", "text": _("nicht prüfbar"), "tone": "warn"}
    if met:
        return {"status": "ERREICHT", "text": _("erreicht"), "tone": "ok"}
    return {"status": "VERFEHLT", "text": _("nicht erreicht"), "tone": "bad"}
