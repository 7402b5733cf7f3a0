"""What is recorded once at a platform or the organisation (EV-19, EV-20, EV-26, EV-27) as tables and facts. No rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from qms.core import formats
from qms.evidence.choices import EvidenceType
from qms.evidence.holder_choices import (
    SCORES,
    CapabilityArea,
    CommercialModel,
    EnvironmentItem,
    EnvironmentStatus,
    LevelCriterion,
    PlatformLevel,
)
from qms.web import tables

Table = dict[str, Any]


def table_of(code: str, facts: Mapping[str, Any]) -> Table | None:
    """Return the table of what was recorded, None for other types of evidence."""
    maker = _MAKERS.get(EvidenceType(code))
    return maker(facts) if maker else None


def lowest_level(facts: Mapping[str, Any]) -> str:
    """Return the sentence which level decides: the lowest; there is no average (S054)."""
    levels = facts["levels"]
    lowest = min(PlatformLevel, key=lambda level: int(levels[level.value]["score"]))
    score = levels[lowest.value]["score"]
    return _(
        "Es entscheidet die schwächste Ebene: %(level)s mit %(score)s. Ein Mittelwert wird nicht gebildet."
    ) % {
        "level": lowest.label,
        "score": SCORES[score],
    }


def _levels(facts: Mapping[str, Any]) -> Table:
    columns = [
        (_("Ebene"), False),
        (_("Bewertung"), False),
        (_("Bewertet von"), False),
        (_("Grundlage"), False),
    ]
    rows = []
    for level in PlatformLevel:
        row = facts["levels"][level.value]
        single = "; ".join(f"{LevelCriterion(one['name']).label}: {one['score']}" for one in row["criteria"])
        rows.append(
            [
                {"text": str(level.label)},
                {"text": str(SCORES[row["score"]]), "small": single},
                {"text": row["assessor"]},
                {"text": row["evidence"]},
            ]
        )
    return tables.table(_("Dreiebenenbewertung"), columns, rows)


def _offer(facts: Mapping[str, Any]) -> Table:
    rows = [
        (_("Geschäftsmodell"), str(CommercialModel(facts["commercial_model"]).label), ""),
        (_("Angebot oder Vertrag"), facts["reference"], ""),
        (_("Datum des Angebots"), formats.day(date.fromisoformat(facts["offered_at"])), ""),
        (_("Laufzeit"), _months(facts["term_months"]), ""),
        (_("Kündigungsfrist"), _months(facts["notice_months"]), ""),
        (_("Übergang"), facts["transition"], ""),
        (_("Rückgabe der Daten"), facts["data_return"], ""),
        (_("Exportformat"), facts["export_format"], ""),
        (_("Kosten des Ausstiegs"), _money(facts["exit_cost_eur"]), facts["exit_cost_reason"]),
        (_("Wechselentgelte"), _money(facts["switching_charges_eur"]), facts["switching_reason"]),
    ]
    columns = [(_("Angabe"), False), (_("Inhalt"), False)]
    cells = [[{"text": name}, {"text": text, "small": small}] for name, text, small in rows]
    return tables.table(_("Angebot, Vertrag und Ausstieg"), columns, cells)


def _environment(facts: Mapping[str, Any]) -> Table:
    columns = [(_("Punkt"), False), (_("Stand"), False), (_("Zuständig"), False), (_("Kosten"), True)]
    rows = [
        [
            {"text": str(EnvironmentItem(row["item"]).label)},
            {"text": str(EnvironmentStatus(row["status"]).label), "small": row["note"]},
            {"text": row["responsible"]},
            {"text": _("nicht bekannt") if row["cost_eur"] is None else _money(row["cost_eur"])},
        ]
        for row in facts["items"]
    ]
    return tables.table(_("Umfeld"), columns, rows)


def _capability(facts: Mapping[str, Any]) -> Table:
    columns = [(_("Bereich"), False), (_("Zuständig"), False), (_("Beleg"), False)]
    rows = [
        [
            {"text": str(CapabilityArea(row["row"]).label)},
            {"text": row["responsible"] or _("noch niemand")},
            {"text": row["evidence"] or _("keiner")},
        ]
        for row in facts["rows"]
    ]
    return tables.table(_("Fähigkeitsmatrix"), columns, rows)


def _months(count: int) -> str:
    return ngettext("%(count)d Monat", "%(count)d Monate", count) % {"count": count}


def _money(text: str) -> str:
    return formats.money(Decimal(text))


_MAKERS: Final[dict[EvidenceType, Callable[[Mapping[str, Any]], Table]]] = {
    EvidenceType.LEVELS: _levels,
    EvidenceType.OFFER: _offer,
    EvidenceType.ENVIRONMENT: _environment,
    EvidenceType.CAPABILITY: _capability,
}
