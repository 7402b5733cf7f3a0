"""What stands beside the answer of the emulator: more systems, published figures, the claims of seed A."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from pilots import catalog
from pilots import pages_blocks as blocks
from qms.core import formats
from qms.core.values import Metric, Unit, weakest

CLAIMS: Final[dict[str, tuple[Promise, str]]] = {
    "OFFEN": (lazy("offen"), "open"),
    "IM_EMULATOR_NACHGESTELLT": (lazy("im Emulator nachgestellt"), "ok"),
    "GEMESSEN_BESTAETIGT": (lazy("gemessen, bestätigt"), "ok"),
    "TEILWEISE": (lazy("teilweise"), "warn"),
    "WIDERLEGT": (lazy("widerlegt"), "bad"),
    "NICHT_ANWENDBAR": (lazy("nicht anwendbar"), "neutral"),
    "MEINUNG": (lazy("Meinung"), "neutral"),
}


def scaling(grown: tuple[catalog.Grown, ...]) -> dict[str, Any] | None:
    """Return the table of the step over more and more systems, or None if there is nothing to compare."""
    if len(grown) < 2:
        return None
    columns = [
        (_("Systeme"), False),
        (_("Zeit je Schritt"), True),
        (_("gegenüber dem Bezug"), True),
        (_("Urteil"), False),
        (_("Zustand"), False),
    ]
    rows = [
        [
            {"text": ngettext("%(n)d System", "%(n)d Systeme", item.systems) % {"n": item.systems}},
            blocks.with_interval(item.step.metric),
            {"text": formats.number(item.speedup, 2), "axes": weakest([item.step.metric.axes])},
            {"text": _word(item)},
            blocks.state_cell(item.step.state),
        ]
        for item in grown
    ]
    return blocks.table(_("Mehrere Systeme"), columns, rows)


def _word(item: catalog.Grown) -> str:
    """Return the word that may be used for an efficiency: "linear" only from 0.95 (POL-31)."""
    if item.is_reference:
        return _("Bezug")
    facts = {"efficiency": formats.number(item.efficiency, 2)}
    if item.row.efficiency > 1:
        return _("überlinear (%(efficiency)s), bitte prüfen") % facts
    if item.row.linear:
        return _("linear (%(efficiency)s)") % facts
    return _("sublinear (%(efficiency)s)") % facts


def published(found: catalog.Estimate) -> dict[str, Any] | None:
    """Return what is published of the same or the nearest model, beside the prediction of that run; or None."""
    nearest = catalog.published_beside(found.config)
    if nearest is None:
        return None
    columns = [
        (_("Lauf"), False),
        (_("veröffentlicht"), True),
        (_("Emulator"), True),
        (_("Abweichung"), True),
        (_("Zustand"), False),
    ]
    same = _("Dasselbe Modell ist veröffentlicht als %(model)s.")
    other = _("Dieses Modell ist nicht veröffentlicht; am nächsten kommt %(model)s.")
    return {
        "sentence": (same if nearest.same else other) % {"model": nearest.model},
        "table": blocks.table(
            _("Veröffentlichte Messungen"), columns, [_beside(row) for row in nearest.rows]
        ),
    }


def _beside(row: catalog.Beside) -> list[dict[str, Any]]:
    published: dict[str, Any] = {"text": _("kein einzelner Wert"), "small": row.kind_de}
    if row.published is not None:
        published = {"text": _value(row.published), "axes": row.published.axes, "small": row.kind_de}
    head = {"text": f"{row.system}: {row.workload}", "small": row.id}
    if row.ours is None:
        refused = {"text": _("nicht vorhergesagt"), "small": row.refused_de}
        return [head, published, {"text": "–"}, {"text": "–"}, refused]
    seen = _("zur Anpassung verwendet") if row.seen else _("nicht zur Anpassung verwendet")
    return [
        head,
        published,
        blocks.with_interval(row.ours.metric),
        _deviation(row),
        blocks.state_cell(row.ours.state) | {"small": seen},
    ]


def _value(metric: Metric) -> str:
    return formats.metric_value(metric) if metric.unit is not Unit.NONE else formats.number(metric.value)


def _deviation(row: catalog.Beside) -> dict[str, Any]:
    if row.published is None or row.ours is None or not row.published.value:
        return {"text": "–"}
    share = row.ours.metric.value / row.published.value - Decimal(1)
    text = formats.percent(share, 0)
    axes = weakest([row.published.axes, row.ours.metric.axes])
    return {"text": text if share < 0 else f"+{text}", "axes": axes}


def claims(found: catalog.Estimate, grown: tuple[catalog.Grown, ...]) -> list[dict[str, Any]]:
    """Return every claim of seed A with what the emulator says about it."""
    return [
        {
            "id": item.id,
            "statement": item.statement_de,
            "sentence": item.sentence_de,
            "status": item.status,
            "label": str(CLAIMS[item.status][0]),
            "tone": CLAIMS[item.status][1],
            "facts": [{"label": row.label_de, "value": row.value_de, "axes": row.axes} for row in item.basis],
        }
        for item in catalog.claims_about(found, grown)
    ]
